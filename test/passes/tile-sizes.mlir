// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-schedule --gf-tile | FileCheck %s

// Sizes of what a loop gives are sizes of the inputs, however long the chain.

// CHECK-LABEL: func @two_layers
// CHECK-SAME: %[[X:.*]]: tensor<?x?x4xf32>
func.func @two_layers(%x: tensor<?x?x4xf32>, %h: tensor<?x4xf32>) -> tensor<?x?x4xf32> {
  // CHECK-DAG: tensor.dim %[[X]], %c0
  // CHECK-DAG: tensor.dim %[[X]], %c1
  // CHECK-NOT: tensor.dim
  %y:2 = gf.recurrence sequences(%x : tensor<?x?x4xf32>) states(%h : tensor<?x4xf32>) time_axis 1 -> (tensor<?x?x4xf32>) {
  ^step(%x_t: tensor<?x4xf32>, %s: tensor<?x4xf32>):
    %next = arith.addf %x_t, %s : tensor<?x4xf32>
    gf.yield %next, %next : tensor<?x4xf32>, tensor<?x4xf32>
  }
  %z:2 = gf.recurrence sequences(%y#0 : tensor<?x?x4xf32>) states(%h : tensor<?x4xf32>) time_axis 1 -> (tensor<?x?x4xf32>) {
  ^step(%x_t: tensor<?x4xf32>, %s: tensor<?x4xf32>):
    %next = arith.addf %x_t, %s : tensor<?x4xf32>
    gf.yield %next, %next : tensor<?x4xf32>, tensor<?x4xf32>
  }
  return %z#0 : tensor<?x?x4xf32>
}
