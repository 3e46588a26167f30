// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-split --gf-to-buffers --canonicalize --split-input-file | FileCheck %s

// Two new states go side by side into a sequence, whose slot holds nothing before. What is
// put together stands in new memory, which begins as it is: only what is computed is copied.
// CHECK-LABEL: func @gatefold_run_entry
// CHECK-SAME: %[[X:[^:]*]]: memref<?x?x4xf32, {{[^>]*>}}>, %[[Y:[^:]*]]: memref<?x?x8xf32, {{[^>]*>}}>
// CHECK: scf.for %[[STEP:[^ ]*]] =
// CHECK-NOT: linalg.copy
// CHECK: linalg.exp {{.*}} outs(%[[FIRST:[^ ]*]] :
// CHECK: %[[LEFT:.*]] = memref.subview %[[BOTH:[^ ]*]][0, 0]
// CHECK-NEXT: linalg.copy ins(%[[FIRST]] : {{.*}}) outs(%[[LEFT]] :
// CHECK-NEXT: %[[RIGHT:.*]] = memref.subview %[[BOTH]][0, 4]
// CHECK-NEXT: linalg.tanh {{.*}} outs(%[[RIGHT]] :
// CHECK-NOT: memref.subview %[[Y]]
// CHECK: %[[SLOT:.*]] = memref.subview %[[Y]][0, %[[STEP]], 0]
// CHECK-NEXT: linalg.copy ins(%[[BOTH]] : {{.*}}) outs(%[[SLOT]] :
#shape = affine_map<()[s0, s1] -> (s0, s1, 4)>
#joined = affine_map<()[s0, s1] -> (s0, s1, 8)>
func.func @f(%x: tensor<?x?x4xf32> {gf.name = "x", gf.shape = #shape})
    -> (tensor<?x?x8xf32> {gf.name = "y", gf.shape = #joined})
    attributes {gf.entry, gf.dimensions = ["B", "T"]} {
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %b = tensor.dim %x, %c0 : tensor<?x?x4xf32>
  %t = tensor.dim %x, %c1 : tensor<?x?x4xf32>
  %part = tensor.empty(%b) : tensor<?x4xf32>
  %start = linalg.fill ins(%zero : f32) outs(%part : tensor<?x4xf32>) -> tensor<?x4xf32>
  %sequence = tensor.empty(%b, %t) : tensor<?x?x8xf32>
  %y:3 = scf.for %i = %c0 to %t step %c1 iter_args(%all = %sequence, %s = %start, %c = %start)
      -> (tensor<?x?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>) {
    %input = tensor.extract_slice %x[0, %i, 0] [%b, 1, 4] [1, 1, 1] : tensor<?x?x4xf32> to tensor<?x4xf32>
    %sum = linalg.add ins(%input, %c : tensor<?x4xf32>, tensor<?x4xf32>) outs(%part : tensor<?x4xf32>) -> tensor<?x4xf32>
    %other = linalg.add ins(%sum, %s : tensor<?x4xf32>, tensor<?x4xf32>) outs(%part : tensor<?x4xf32>) -> tensor<?x4xf32>
    %first = linalg.exp ins(%other : tensor<?x4xf32>) outs(%part : tensor<?x4xf32>) -> tensor<?x4xf32>
    %second = linalg.tanh ins(%first : tensor<?x4xf32>) outs(%part : tensor<?x4xf32>) -> tensor<?x4xf32>
    %empty = tensor.empty(%b) : tensor<?x8xf32>
    %left = tensor.insert_slice %first into %empty[0, 0] [%b, 4] [1, 1] : tensor<?x4xf32> into tensor<?x8xf32>
    %both = tensor.insert_slice %second into %left[0, 4] [%b, 4] [1, 1] : tensor<?x4xf32> into tensor<?x8xf32>
    %next = tensor.insert_slice %both into %all[0, %i, 0] [%b, 1, 8] [1, 1, 1] : tensor<?x8xf32> into tensor<?x?x8xf32>
    %new_s = bufferization.materialize_in_destination %first in %s : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %new_c = bufferization.materialize_in_destination %second in %c : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    scf.yield %next, %new_s, %new_c : tensor<?x?x8xf32>, tensor<?x4xf32>, tensor<?x4xf32>
  }
  return %y#0 : tensor<?x?x8xf32>
}
