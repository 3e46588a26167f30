// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-bind-parameters --gf-size-functions --gf-destination-arguments | FileCheck %s

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
