// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-split --gf-to-buffers | FileCheck %s

// Computed where it is to stand; the input is not written.
// CHECK-LABEL: func @gatefold_run_entry
// CHECK-SAME: (%[[X:.*]]: memref<?xf32, {{.*}}>, %[[Y:.*]]: memref<?xf32, {{.*}}>)
func.func @f(%x: tensor<?xf32> {gf.name = "x", gf.shape = affine_map<()[s0] -> (s0)>})
    -> (tensor<?xf32> {gf.name = "y", gf.shape = affine_map<()[s0] -> (s0)>})
    attributes {gf.entry, gf.dimensions = ["N"]} {
  %zero = arith.constant 0 : index
  %size = tensor.dim %x, %zero : tensor<?xf32>
  %e = tensor.empty(%size) : tensor<?xf32>
  // CHECK-NOT: memref.alloc
  // CHECK: linalg.exp ins(%[[X]] : {{.*}}) outs(%[[Y]] :
  %y = linalg.exp ins(%x : tensor<?xf32>) outs(%e : tensor<?xf32>) -> tensor<?xf32>
  return %y : tensor<?xf32>
}
