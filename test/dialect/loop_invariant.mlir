// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A recurrence is a loop to upstream passes: what is the same at each step moves out
// of it.
// RUN: gatefold-opt %s --loop-invariant-code-motion | FileCheck %s

// CHECK-LABEL: func @hoist
// CHECK: %[[TWICE:.*]] = arith.addf
// CHECK: %[[LAST:.*]] = gf.recurrence
// CHECK-NOT: arith.addf
// CHECK: arith.mulf %{{.*}}, %[[TWICE]]
func.func @hoist(%x: tensor<?x4xf32>, %h: tensor<4xf32>, %w: tensor<4xf32>) -> tensor<4xf32> {
  %last = gf.recurrence sequences(%x : tensor<?x4xf32>) states(%h : tensor<4xf32>) time_axis 0 {
  ^step(%x_t: tensor<4xf32>, %s: tensor<4xf32>):
    %twice = arith.addf %w, %w : tensor<4xf32>
    %next = arith.mulf %s, %twice : tensor<4xf32>
    gf.yield %next : tensor<4xf32>
  }
  return %last : tensor<4xf32>
}
