// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A size of a result is one of an operand.
// RUN: gatefold-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize --split-input-file | FileCheck %s

// CHECK-LABEL: func @recurrence
// CHECK-SAME: %[[X:.*]]: tensor<?x?x4xf32>, %[[H:.*]]: tensor<?x?xf32>
func.func @recurrence(%x: tensor<?x?x4xf32>, %h: tensor<?x?xf32>) -> (index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %y, %last = gf.recurrence sequences(%x : tensor<?x?x4xf32>) states(%h : tensor<?x?xf32>)
      time_axis 1 -> (tensor<?x?x4xf32>) {
  ^step(%x_t: tensor<?x4xf32>, %s: tensor<?x?xf32>):
    %next = math.tanh %s : tensor<?x?xf32>
    gf.yield %x_t, %next : tensor<?x4xf32>, tensor<?x?xf32>
  }
  // CHECK-DAG: %[[B:.*]] = tensor.dim %[[X]], %c0
  // CHECK-DAG: %[[T:.*]] = tensor.dim %[[X]], %c1
  // CHECK-DAG: %[[M:.*]] = tensor.dim %[[H]], %c1
  // CHECK: return %[[B]], %[[T]], %c4, %[[M]]
  %b = tensor.dim %y, %c0 : tensor<?x?x4xf32>
  %t = tensor.dim %y, %c1 : tensor<?x?x4xf32>
  %w = tensor.dim %y, %c2 : tensor<?x?x4xf32>
  %m = tensor.dim %last, %c1 : tensor<?x?xf32>
  return %b, %t, %w, %m : index, index, index, index
}

// -----

// CHECK-LABEL: func @steps
// CHECK-SAME: %[[H:.*]]: tensor<?x4xf32>, %[[T:.*]]: index
func.func @steps(%h: tensor<?x4xf32>, %steps: index) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y, %last = gf.recurrence states(%h : tensor<?x4xf32>) steps(%steps)
      time_axis 1 -> (tensor<?x?x4xf32>) {
  ^step(%s: tensor<?x4xf32>):
    gf.yield %s, %s : tensor<?x4xf32>, tensor<?x4xf32>
  }
  // CHECK: %[[B:.*]] = tensor.dim %[[H]], %c0
  // CHECK: return %[[B]], %[[T]]
  %b = tensor.dim %y, %c0 : tensor<?x?x4xf32>
  %t = tensor.dim %y, %c1 : tensor<?x?x4xf32>
  return %b, %t : index, index
}

// -----

// The first leading dimension stands in the capture alone: the query has none, and
// the key stretches along it.
// CHECK-LABEL: func @attention
// CHECK-SAME: %[[Q:.*]]: tensor<?x8xf32>, %[[K:.*]]: tensor<1x?x8xf32>, %[[L:.*]]: tensor<?xf32>
func.func @attention(%q: tensor<?x8xf32>, %k: tensor<1x?x8xf32>, %l: tensor<?xf32>) -> (index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<1x?x8xf32>)
      captures(%l : tensor<?xf32>) -> tensor<?x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %lr: tensor<f32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  // CHECK-DAG: %[[B:.*]] = tensor.dim %[[L]], %c0
  // CHECK-DAG: %[[T:.*]] = tensor.dim %[[Q]], %c0
  // CHECK: return %[[B]], %[[T]]
  %b = tensor.dim %o, %c0 : tensor<?x?x8xf32>
  %t = tensor.dim %o, %c1 : tensor<?x?x8xf32>
  return %b, %t : index, index
}
