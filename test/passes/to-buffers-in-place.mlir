// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-split --gf-to-buffers --canonicalize --split-input-file | FileCheck %s

// Rows that go into a state: into the memory of the result, and nothing else of it is touched.
// CHECK-LABEL: func @gatefold_run_entry
// CHECK-SAME: %[[X:[^:]*]]: memref<2x4xf32, {{[^>]*>}}>, %[[OLD:[^:]*]]: memref<8x4xf32, {{[^>]*>}}>, %[[KEYS:[^:]*]]: memref<8x4xf32
// CHECK-NEXT: %[[ROWS:.*]] = memref.subview %[[KEYS]][3, 0] [2, 4] [1, 1]
// CHECK-NEXT: linalg.copy ins(%[[X]] : {{.*}}) outs(%[[ROWS]] :
// CHECK-NEXT: return
func.func @f(%x: tensor<2x4xf32> {gf.name = "x", gf.shape = affine_map<() -> (2, 4)>},
             %keys: tensor<8x4xf32> {gf.name = "keys", gf.state, gf.shape = affine_map<() -> (8, 4)>})
    -> (tensor<8x4xf32> {gf.name = "keys", gf.state, gf.shape = affine_map<() -> (8, 4)>})
    attributes {gf.entry} {
  %next = tensor.insert_slice %x into %keys[3, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<8x4xf32>
  return %next : tensor<8x4xf32>
}

// -----

// In a loop, too.
// CHECK-LABEL: func @gatefold_run_entry
// CHECK-SAME: %[[KEYS:[^:]*]]: memref<2x8x4xf32, {{[^>]*>}}>) {
// CHECK: scf.for %[[I:.*]] =
// CHECK: %[[ROW:.*]] = memref.subview %[[KEYS]][%[[I]], %[[I]], 0]
// CHECK-NEXT: linalg.copy {{.*}} outs(%[[ROW]] :
// CHECK-NOT: linalg.copy
// CHECK: return
func.func @g(%x: tensor<2x4xf32> {gf.name = "x", gf.shape = affine_map<() -> (2, 4)>},
             %keys: tensor<2x8x4xf32> {gf.name = "keys", gf.state, gf.shape = affine_map<() -> (2, 8, 4)>})
    -> (tensor<2x8x4xf32> {gf.name = "keys", gf.state, gf.shape = affine_map<() -> (2, 8, 4)>})
    attributes {gf.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %next = scf.for %i = %c0 to %c2 step %c1 iter_args(%into = %keys) -> tensor<2x8x4xf32> {
    %row = tensor.extract_slice %x[%i, 0] [1, 4] [1, 1] : tensor<2x4xf32> to tensor<4xf32>
    %put = tensor.insert_slice %row into %into[%i, %i, 0] [1, 1, 4] [1, 1, 1] : tensor<4xf32> into tensor<2x8x4xf32>
    scf.yield %put : tensor<2x8x4xf32>
  }
  return %next : tensor<2x8x4xf32>
}

// -----

// If the old rows are read behind the new ones, there is a copy.
// CHECK-LABEL: func @gatefold_run_entry
// CHECK-SAME: %[[Y:[^:]*]]: memref<8x4xf32, {{[^>]*>}}>, %[[KEYS:[^:]*]]: memref<8x4xf32, {{[^>]*>}}>) {
// CHECK: %[[COPY:.*]] = memref.alloc
// CHECK: linalg.copy ins(%[[KEYS]] : {{.*}}) outs(%[[COPY]] :
// CHECK: linalg.sub ins(%[[COPY]], %[[KEYS]] : {{.*}}) outs(%[[Y]] :
// CHECK: linalg.copy ins(%[[COPY]] : {{.*}}) outs(%[[KEYS]] :
func.func @h(%x: tensor<2x4xf32> {gf.name = "x", gf.shape = affine_map<() -> (2, 4)>},
             %keys: tensor<8x4xf32> {gf.name = "keys", gf.state, gf.shape = affine_map<() -> (8, 4)>})
    -> (tensor<8x4xf32> {gf.name = "y", gf.shape = affine_map<() -> (8, 4)>},
        tensor<8x4xf32> {gf.name = "keys", gf.state, gf.shape = affine_map<() -> (8, 4)>})
    attributes {gf.entry} {
  %next = tensor.insert_slice %x into %keys[3, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<8x4xf32>
  %e = tensor.empty() : tensor<8x4xf32>
  %y = linalg.sub ins(%next, %keys : tensor<8x4xf32>, tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) -> tensor<8x4xf32>
  return %y, %next : tensor<8x4xf32>, tensor<8x4xf32>
}
