// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Functions of gf operations are inlined, into the step of a recurrence too.
// RUN: gatefold-opt %s --inline | FileCheck %s

// CHECK-LABEL: func @layers
// CHECK-NOT: call
// CHECK: gf.recurrence
// CHECK: gf.attention
// CHECK: gf.row_scores
// CHECK-NOT: call
func.func @layers(%x: tensor<?x4xf32>, %h: tensor<4xf32>, %k: tensor<5x4xf32>) -> tensor<4xf32> {
  %last = gf.recurrence sequences(%x : tensor<?x4xf32>) states(%h : tensor<4xf32>) time_axis 0 {
  ^step(%x_t: tensor<4xf32>, %s: tensor<4xf32>):
    %q = tensor.expand_shape %s [[0, 1]] output_shape [1, 4] : tensor<4xf32> into tensor<1x4xf32>
    %o = func.call @attend(%q, %k) : (tensor<1x4xf32>, tensor<5x4xf32>) -> tensor<1x4xf32>
    %next = tensor.collapse_shape %o [[0, 1]] : tensor<1x4xf32> into tensor<4xf32>
    gf.yield %next : tensor<4xf32>
  }
  return %last : tensor<4xf32>
}

func.func private @attend(%q: tensor<1x4xf32>, %k: tensor<5x4xf32>) -> tensor<1x4xf32> {
  %o = gf.attention queries(%q : tensor<1x4xf32>) keys(%k : tensor<5x4xf32>) -> tensor<1x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<5x4xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<5x4xf32> -> tensor<5xf32>
    %p = gf.row_softmax %s : tensor<5xf32>
    %y = gf.row_values %p, %kr : tensor<5xf32>, tensor<5x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %o : tensor<1x4xf32>
}
