// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-bind-parameters --gf-size-functions --gf-destination-arguments --split-input-file | FileCheck %s

// CHECK-LABEL: func @gatefold_run_entry
// CHECK-SAME: %[[W:[^:]*]]: memref<4xf32>, %[[X:[^:]*]]: memref<4xf32, strided<[1], offset: ?>>, %[[H:[^:]*]]: memref<4xf32, strided<[1], offset: ?>>
// CHECK-SAME: %[[Y:[^:]*]]: memref<4xf32, strided<[1], offset: ?>>, %[[NEXT:[^:]*]]: memref<4xf32, strided<[1], offset: ?>>) {
func.func @f(%x: tensor<4xf32> {gf.name = "x", gf.shape = affine_map<() -> (4)>},
             %h: tensor<4xf32> {gf.name = "h", gf.state, gf.shape = affine_map<() -> (4)>})
    -> (tensor<4xf32> {gf.name = "y", gf.shape = affine_map<() -> (4)>},
        tensor<4xf32> {gf.name = "h", gf.state, gf.shape = affine_map<() -> (4)>})
    attributes {gf.entry} {
  // CHECK: bufferization.to_tensor %[[W]] restrict : memref<4xf32> to tensor<4xf32>
  %w = gf.parameter "w" : tensor<4xf32>
  // CHECK: %[[N:.*]] = arith.addf
  %n = arith.addf %h, %x : tensor<4xf32>
  // CHECK: %[[R:.*]] = arith.mulf
  %y = arith.mulf %n, %w : tensor<4xf32>
  // The state may be where h is, so it comes from a copy, after all else.
  // CHECK: %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[N]])
  // CHECK: bufferization.materialize_in_destination %[[R]] in restrict writable %[[Y]]
  // CHECK: bufferization.materialize_in_destination %[[COPY]] in restrict writable %[[NEXT]]
  // CHECK: return
  return %y, %n : tensor<4xf32>, tensor<4xf32>
}

// -----

// States with a part written over are read from the memory of their results, where the parts
// then go; what reads the old one, too. One of a name alone is not, nor one of another state.
// CHECK-LABEL: func @gatefold_run_entry
// CHECK-SAME: memref<2x4xf32, strided<[?, 1], offset: ?>>, %[[KEYS:[^:]*]]: memref<8x4xf32, strided<[?, 1], offset: ?>>, %[[ROWS:[^:]*]]: memref<8x4xf32, strided<[?, 1], offset: ?>>, %[[OTHER:[^:]*]]: memref<8x4xf32, strided<[?, 1], offset: ?>>
// CHECK-SAME: %[[OLD:[^:]*]]: memref<8x4xf32, strided<[?, 1], offset: ?>>, %[[NEXT_KEYS:[^:]*]]: memref<8x4xf32, strided<[?, 1], offset: ?>>, %[[NEXT_ROWS:[^:]*]]: memref<8x4xf32, strided<[?, 1], offset: ?>>, %[[NEXT_OTHER:[^:]*]]: memref<8x4xf32, strided<[?, 1], offset: ?>>) {
#x = affine_map<() -> (2, 4)>
#s = affine_map<() -> (8, 4)>
func.func @f(%x: tensor<2x4xf32> {gf.name = "x", gf.shape = #x},
             %keys: tensor<8x4xf32> {gf.name = "keys", gf.state, gf.shape = #s},
             %rows: tensor<8x4xf32> {gf.name = "rows", gf.state, gf.shape = #s},
             %other: tensor<8x4xf32> {gf.name = "other", gf.state, gf.shape = #s})
    -> (tensor<8x4xf32> {gf.name = "old", gf.shape = #s},
        tensor<8x4xf32> {gf.name = "keys", gf.state, gf.shape = #s},
        tensor<8x4xf32> {gf.name = "rows", gf.state, gf.shape = #s},
        tensor<8x4xf32> {gf.name = "other", gf.state, gf.shape = #s})
    attributes {gf.entry} {
  // CHECK-DAG: %[[K:.*]] = bufferization.to_tensor %[[NEXT_KEYS]] restrict writable
  // CHECK-DAG: %[[R:.*]] = bufferization.to_tensor %[[NEXT_ROWS]] restrict writable
  // CHECK-DAG: bufferization.to_tensor %[[OTHER]] restrict :
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK: %[[ONCE:.*]] = tensor.insert_slice %{{.*}} into %[[K]][1, 0]
  %once = tensor.insert_slice %x into %keys[1, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<8x4xf32>
  // CHECK: %[[TWICE:.*]] = tensor.insert_slice %{{.*}} into %[[ONCE]][3, 0]
  %twice = tensor.insert_slice %x into %once[3, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<8x4xf32>
  // CHECK: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%{{.*}} = %[[R]])
  %loop = scf.for %i = %c0 to %c2 step %c1 iter_args(%all = %rows) -> tensor<8x4xf32> {
    %next = tensor.insert_slice %x into %all[%i, 0] [2, 4] [1, 1] : tensor<2x4xf32> into tensor<8x4xf32>
    scf.yield %next : tensor<8x4xf32>
  }
  // The old keys as another state: they are what the result's memory holds.
  // CHECK: %[[COPY:.*]] = bufferization.alloc_tensor() copy(%[[K]])
  // CHECK: bufferization.materialize_in_destination %[[K]] in restrict writable %[[OLD]]
  // CHECK: bufferization.materialize_in_destination %[[TWICE]] in restrict writable %[[NEXT_KEYS]]
  // CHECK: bufferization.materialize_in_destination %[[LOOP]] in restrict writable %[[NEXT_ROWS]]
  // CHECK: bufferization.materialize_in_destination %[[COPY]] in restrict writable %[[NEXT_OTHER]]
  return %keys, %twice, %loop, %keys : tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// Where a loop was that had one step, nothing goes to the place of its state any longer; in a loop it does.
// CHECK-LABEL: func @gatefold_run_entry
#h = affine_map<() -> (4)>
func.func @f(%x: tensor<4xf32> {gf.name = "x", gf.shape = #h}, %h: tensor<4xf32> {gf.name = "h", gf.shape = #h})
    -> (tensor<4xf32> {gf.name = "y", gf.shape = #h}, tensor<4xf32> {gf.name = "z", gf.shape = #h})
    attributes {gf.entry} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  // CHECK: %[[N:.*]] = arith.addf
  // CHECK-NOT: bufferization.materialize_in_destination
  %n = arith.addf %h, %x : tensor<4xf32>
  %once = bufferization.materialize_in_destination %n in %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  // CHECK: %[[LOOP:.*]] = scf.for {{.*}} iter_args(%[[STATE:.*]] = %[[N]])
  %loop = scf.for %i = %c0 to %c2 step %c1 iter_args(%s = %once) -> tensor<4xf32> {
    // CHECK: bufferization.materialize_in_destination %{{.*}} in %[[STATE]]
    %m = arith.mulf %s, %x : tensor<4xf32>
    %next = bufferization.materialize_in_destination %m in %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    scf.yield %next : tensor<4xf32>
  }
  // CHECK: bufferization.materialize_in_destination %[[N]] in restrict writable
  // CHECK: bufferization.materialize_in_destination %[[LOOP]] in restrict writable
  return %once, %loop : tensor<4xf32>, tensor<4xf32>
}
