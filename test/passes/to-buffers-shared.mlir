// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --split-input-file --gf-split --gf-to-buffers | FileCheck %s

// Two sums that start from one fill: each is made in its own result, without a copy.
// CHECK-LABEL: func @gatefold_run_entry
// CHECK-SAME: (%[[A:[^:]*]]: memref<?x?xf32, {{[^%]*}}%[[FIRST:[^:]*]]: memref<?x?xf32, {{[^%]*}}%[[SECOND:[^:]*]]: memref<?x?xf32,
#shape = affine_map<()[s0] -> (s0, s0)>
func.func @sums(%a: tensor<?x?xf32> {gf.name = "a", gf.shape = #shape})
    -> (tensor<?x?xf32> {gf.name = "p", gf.shape = #shape},
        tensor<?x?xf32> {gf.name = "q", gf.shape = #shape})
    attributes {gf.entry, gf.dimensions = ["N"]} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %size = tensor.dim %a, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%size, %size) : tensor<?x?xf32>
  %start = linalg.fill ins(%zero : f32) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  // CHECK-NOT: memref.alloc
  // CHECK-NOT: linalg.copy
  // CHECK-DAG: linalg.matmul {{.*}} outs(%[[FIRST]] :
  // CHECK-DAG: linalg.matmul {{.*}} outs(%[[SECOND]] :
  // CHECK: return
  %p = linalg.matmul ins(%a, %a : tensor<?x?xf32>, tensor<?x?xf32>)
      outs(%start : tensor<?x?xf32>) -> tensor<?x?xf32>
  %q = linalg.matmul ins(%p, %a : tensor<?x?xf32>, tensor<?x?xf32>)
      outs(%start : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %p, %q : tensor<?x?xf32>, tensor<?x?xf32>
}

// -----

// Two sums that start from one computed value: it stands in neither result, since the
// first is complete only at the end, where it would write over what the second needs.
// CHECK-LABEL: func @gatefold_run_entry
// CHECK-SAME: (%[[A:[^:]*]]: memref<?x?xf32, {{[^%]*}}%[[FIRST:[^:]*]]: memref<?x?xf32, {{[^%]*}}%[[SECOND:[^:]*]]: memref<?x?xf32,
#shape = affine_map<()[s0] -> (s0, s0)>
func.func @shared(%a: tensor<?x?xf32> {gf.name = "a", gf.shape = #shape})
    -> (tensor<?x?xf32> {gf.name = "p", gf.shape = #shape},
        tensor<?x?xf32> {gf.name = "q", gf.shape = #shape})
    attributes {gf.entry, gf.dimensions = ["N"]} {
  %c0 = arith.constant 0 : index
  %size = tensor.dim %a, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%size, %size) : tensor<?x?xf32>
  // CHECK: linalg.exp ins(%[[A]] : {{.*}}) outs(%[[START:alloc[^ ]*]] :
  %start = linalg.exp ins(%a : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  // CHECK-NOT: outs(%[[FIRST]]
  // CHECK: linalg.matmul
  // CHECK: linalg.matmul
  %p = linalg.matmul ins(%a, %a : tensor<?x?xf32>, tensor<?x?xf32>)
      outs(%start : tensor<?x?xf32>) -> tensor<?x?xf32>
  %q = linalg.matmul ins(%a, %a : tensor<?x?xf32>, tensor<?x?xf32>)
      outs(%start : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %p, %q : tensor<?x?xf32>, tensor<?x?xf32>
}

// -----

// A value for two results is made in the one that is written last.
// CHECK-LABEL: func @gatefold_run_entry
// CHECK-SAME: (%[[A:[^:]*]]: memref<?x?xf32, {{[^%]*}}%[[FIRST:[^:]*]]: memref<?x?xf32, {{[^%]*}}%[[SECOND:[^:]*]]: memref<?x?xf32,
#shape = affine_map<()[s0] -> (s0, s0)>
func.func @twice(%a: tensor<?x?xf32> {gf.name = "a", gf.shape = #shape})
    -> (tensor<?x?xf32> {gf.name = "p", gf.shape = #shape},
        tensor<?x?xf32> {gf.name = "q", gf.shape = #shape})
    attributes {gf.entry, gf.dimensions = ["N"]} {
  %c0 = arith.constant 0 : index
  %size = tensor.dim %a, %c0 : tensor<?x?xf32>
  %e = tensor.empty(%size, %size) : tensor<?x?xf32>
  // CHECK-NOT: memref.alloc
  // CHECK: linalg.exp ins(%[[A]] : {{.*}}) outs(%[[SECOND]] :
  // CHECK: linalg.copy ins(%[[SECOND]] : {{.*}}) outs(%[[FIRST]] :
  %p = linalg.exp ins(%a : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) -> tensor<?x?xf32>
  return %p, %p : tensor<?x?xf32>, tensor<?x?xf32>
}
