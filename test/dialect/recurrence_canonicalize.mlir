// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --canonicalize --split-input-file | FileCheck %s

// The output and the sequence that nothing reads go.
// CHECK-LABEL: func @unused
// CHECK-SAME: %[[X:.*]]: tensor<?x?x4xf32>, %[[Z:.*]]: tensor<?x?x5xf32>, %[[H:.*]]: tensor<?x4xf32>
func.func @unused(%x: tensor<?x?x4xf32>, %z: tensor<?x?x5xf32>, %h: tensor<?x4xf32>)
    -> tensor<?x4xf32> {
  // CHECK: %[[LAST:.*]] = gf.recurrence sequences(%[[X]] : tensor<?x?x4xf32>) states(%[[H]] : tensor<?x4xf32>) time_axis 1 {
  // CHECK-NEXT: ^step(%[[STEP:.*]]: tensor<?x4xf32>, %[[STATE:.*]]: tensor<?x4xf32>):
  // CHECK-NEXT:   %[[NEXT:.*]] = arith.addf %[[STEP]], %[[STATE]]
  // CHECK-NEXT:   gf.yield %[[NEXT]] : tensor<?x4xf32>
  // CHECK: return %[[LAST]]
  %y, %last = gf.recurrence sequences(%x, %z : tensor<?x?x4xf32>, tensor<?x?x5xf32>)
      states(%h : tensor<?x4xf32>) time_axis 1 -> (tensor<?x?x5xf32>) {
  ^step(%x_t: tensor<?x4xf32>, %z_t: tensor<?x5xf32>, %s: tensor<?x4xf32>):
    %next = arith.addf %x_t, %s : tensor<?x4xf32>
    gf.yield %z_t, %next : tensor<?x5xf32>, tensor<?x4xf32>
  }
  return %last : tensor<?x4xf32>
}

// -----

// The only sequence stays: it says how many steps there are.
// CHECK-LABEL: func @only_sequence
func.func @only_sequence(%x: tensor<?x4xf32>, %h: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK: gf.recurrence sequences(
  %last = gf.recurrence sequences(%x : tensor<?x4xf32>) states(%h : tensor<4xf32>) time_axis 0 {
  ^step(%x_t: tensor<4xf32>, %s: tensor<4xf32>):
    %next = math.tanh %s : tensor<4xf32>
    gf.yield %next : tensor<4xf32>
  }
  return %last : tensor<4xf32>
}

// -----

// A state that never changes is its initial value.
// CHECK-LABEL: func @unchanged
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[H:.*]]: tensor<4xf32>
func.func @unchanged(%x: tensor<?x4xf32>, %h: tensor<4xf32>) -> (tensor<?x4xf32>, tensor<4xf32>) {
  // CHECK: %[[Y:.*]] = gf.recurrence sequences(%[[X]] : tensor<?x4xf32>) time_axis 0 -> (tensor<?x4xf32>)
  // CHECK: arith.mulf %{{.*}}, %[[H]]
  // CHECK: return %[[Y]], %[[H]]
  %y, %last = gf.recurrence sequences(%x : tensor<?x4xf32>) states(%h : tensor<4xf32>)
      time_axis 0 -> (tensor<?x4xf32>) {
  ^step(%x_t: tensor<4xf32>, %s: tensor<4xf32>):
    %p = arith.mulf %x_t, %s : tensor<4xf32>
    gf.yield %p, %s : tensor<4xf32>, tensor<4xf32>
  }
  return %y, %last : tensor<?x4xf32>, tensor<4xf32>
}

// -----

// A state that is only reset does change, unless to its initial value.
// CHECK-LABEL: func @reset
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[R:.*]]: tensor<?xi1>, %[[H:.*]]: tensor<4xf32>, %[[G:.*]]: tensor<4xf32>
func.func @reset(%x: tensor<?x4xf32>, %r: tensor<?xi1>, %h: tensor<4xf32>, %g: tensor<4xf32>)
    -> (tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[Y:.*]]:2 = gf.recurrence sequences(%[[X]] : tensor<?x4xf32>) states(%[[H]] : tensor<4xf32>) resets(%[[R]] : tensor<?xi1>) reset_states(%[[G]] : tensor<4xf32>) time_axis 0 reverse
  // CHECK: return %[[Y]]#0, %[[Y]]#1, %[[G]]
  %y, %a, %b = gf.recurrence sequences(%x : tensor<?x4xf32>)
      states(%h, %g : tensor<4xf32>, tensor<4xf32>) resets(%r : tensor<?xi1>)
      reset_states(%g, %g : tensor<4xf32>, tensor<4xf32>) time_axis 0 reverse -> (tensor<?x4xf32>) {
  ^step(%x_t: tensor<4xf32>, %s: tensor<4xf32>, %t: tensor<4xf32>):
    %p = arith.mulf %x_t, %s : tensor<4xf32>
    gf.yield %p, %s, %t : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %y, %a, %b : tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// What is given or yielded twice is one.
// CHECK-LABEL: func @twice
// CHECK-SAME: %[[X:.*]]: tensor<?x4xf32>, %[[H:.*]]: tensor<4xf32>
func.func @twice(%x: tensor<?x4xf32>, %h: tensor<4xf32>)
    -> (tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[Y:.*]]:2 = gf.recurrence sequences(%[[X]] : tensor<?x4xf32>) states(%[[H]] : tensor<4xf32>) time_axis 0 -> (tensor<?x4xf32>) {
  // CHECK-NEXT: ^step(%[[STEP:.*]]: tensor<4xf32>, %[[STATE:.*]]: tensor<4xf32>):
  // CHECK-NEXT:   %[[A:.*]] = arith.addf %[[STEP]], %[[STEP]]
  // CHECK-NEXT:   %[[B:.*]] = arith.mulf %[[STATE]], %[[STATE]]
  // CHECK-NEXT:   %[[C:.*]] = arith.addf %[[A]], %[[B]]
  // CHECK-NEXT:   gf.yield %[[C]], %[[C]]
  // CHECK: return %[[Y]]#0, %[[Y]]#0, %[[Y]]#1, %[[Y]]#1
  %y, %z, %a, %b = gf.recurrence sequences(%x, %x : tensor<?x4xf32>, tensor<?x4xf32>)
      states(%h, %h : tensor<4xf32>, tensor<4xf32>) time_axis 0 -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  ^step(%x0: tensor<4xf32>, %x1: tensor<4xf32>, %s0: tensor<4xf32>, %s1: tensor<4xf32>):
    %0 = arith.addf %x0, %x1 : tensor<4xf32>
    %1 = arith.mulf %s0, %s1 : tensor<4xf32>
    %2 = arith.addf %0, %1 : tensor<4xf32>
    gf.yield %2, %2, %2, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  return %y, %z, %a, %b : tensor<?x4xf32>, tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Nothing is read of it, so it goes.
// CHECK-LABEL: func @dead
// CHECK-NOT: gf.recurrence
func.func @dead(%x: tensor<?x4xf32>) {
  %y = gf.recurrence sequences(%x : tensor<?x4xf32>) time_axis 0 -> (tensor<?x4xf32>) {
  ^step(%x_t: tensor<4xf32>):
    gf.yield %x_t : tensor<4xf32>
  }
  return
}
