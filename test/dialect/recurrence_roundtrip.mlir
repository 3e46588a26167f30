// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parse, print, parse again, in the custom and in the generic form.
// RUN: gatefold-opt %s | gatefold-opt | FileCheck %s
// RUN: gatefold-opt %s --emit-bytecode | gatefold-opt | FileCheck %s
// RUN: gatefold-opt %s --mlir-print-op-generic | gatefold-opt | FileCheck %s

// CHECK-LABEL: func @tanh_reverse
// CHECK-SAME: %[[X:.*]]: tensor<?x?x40xf32>, %[[H:.*]]: tensor<?x8xf32>, %[[N:.*]]: tensor<?xi64>
func.func @tanh_reverse(%x: tensor<?x?x40xf32>, %h0: tensor<?x8xf32>, %n: tensor<?xi64>)
    -> (tensor<?x?x8xf32>, tensor<?x8xf32>) {
  // CHECK: %[[Y:.*]]:2 = gf.recurrence sequences(%[[X]] : tensor<?x?x40xf32>) states(%[[H]] : tensor<?x8xf32>) lengths(%[[N]] : tensor<?xi64>) time_axis 1 reverse -> (tensor<?x?x8xf32>) {
  // CHECK-NEXT: ^step(%[[STEP:.*]]: tensor<?x40xf32>, %[[STATE:.*]]: tensor<?x8xf32>):
  // CHECK-NEXT:   %[[NEXT:.*]] = math.tanh %[[STATE]]
  // CHECK-NEXT:   gf.yield %[[NEXT]], %[[NEXT]] : tensor<?x8xf32>, tensor<?x8xf32>
  // CHECK-NEXT: }
  %y, %last = gf.recurrence sequences(%x : tensor<?x?x40xf32>)
      states(%h0 : tensor<?x8xf32>) lengths(%n : tensor<?xi64>)
      time_axis 1 reverse -> (tensor<?x?x8xf32>) {
  ^step(%x_t: tensor<?x40xf32>, %h: tensor<?x8xf32>):
    %next = math.tanh %h : tensor<?x8xf32>
    gf.yield %next, %next : tensor<?x8xf32>, tensor<?x8xf32>
  }
  return %y, %last : tensor<?x?x8xf32>, tensor<?x8xf32>
}

// Several sequences and states, resets, attributes; no output.
// CHECK-LABEL: func @resets
func.func @resets(%x: tensor<2x3x4x?x5xf32>, %z: tensor<2x3x4x?xi32>, %h: tensor<2x3x4xf32>,
                  %c: tensor<2x3x4x7xf64>, %r: tensor<2x3x4x?xi1>, %h1: tensor<2x3x4xf32>,
                  %c1: tensor<2x3x4x7xf64>) -> (tensor<2x3x4xf32>, tensor<2x3x4x7xf64>) {
  // CHECK: gf.recurrence sequences(%{{.*}}, %{{.*}} : tensor<2x3x4x?x5xf32>, tensor<2x3x4x?xi32>) states(%{{.*}}, %{{.*}} : tensor<2x3x4xf32>, tensor<2x3x4x7xf64>) resets(%{{.*}} : tensor<2x3x4x?xi1>) reset_states(%{{.*}}, %{{.*}} : tensor<2x3x4xf32>, tensor<2x3x4x7xf64>) time_axis 3 attributes {note = "kept"} {
  // CHECK-NEXT: ^step(%{{.*}}: tensor<2x3x4x5xf32>, %{{.*}}: tensor<2x3x4xi32>, %[[H:.*]]: tensor<2x3x4xf32>, %[[C:.*]]: tensor<2x3x4x7xf64>):
  // CHECK-NEXT:   gf.yield %[[H]], %[[C]] : tensor<2x3x4xf32>, tensor<2x3x4x7xf64>
  %last:2 = gf.recurrence sequences(%x, %z : tensor<2x3x4x?x5xf32>, tensor<2x3x4x?xi32>)
      states(%h, %c : tensor<2x3x4xf32>, tensor<2x3x4x7xf64>) resets(%r : tensor<2x3x4x?xi1>)
      reset_states(%h1, %c1 : tensor<2x3x4xf32>, tensor<2x3x4x7xf64>)
      time_axis 3 attributes {note = "kept"} {
  ^step(%x_t: tensor<2x3x4x5xf32>, %z_t: tensor<2x3x4xi32>, %h_t: tensor<2x3x4xf32>, %c_t: tensor<2x3x4x7xf64>):
    gf.yield %h_t, %c_t : tensor<2x3x4xf32>, tensor<2x3x4x7xf64>
  }
  return %last#0, %last#1 : tensor<2x3x4xf32>, tensor<2x3x4x7xf64>
}

// No sequence, but a number of steps; no leading dimension; open and static
// sizes mix.
// CHECK-LABEL: func @steps
// CHECK-SAME: %[[H:.*]]: tensor<8xf32>, %[[T:.*]]: index, %[[N:.*]]: tensor<i32>
func.func @steps(%h: tensor<8xf32>, %t: index, %n: tensor<i32>) -> (tensor<?x8xf32>, tensor<8xf32>) {
  // CHECK: gf.recurrence states(%[[H]] : tensor<8xf32>) lengths(%[[N]] : tensor<i32>) steps(%[[T]]) time_axis 0 -> (tensor<?x8xf32>) {
  // CHECK-NEXT: ^step(%[[STATE:.*]]: tensor<?xf32>):
  %y, %last = gf.recurrence states(%h : tensor<8xf32>) lengths(%n : tensor<i32>) steps(%t)
      time_axis 0 -> (tensor<?x8xf32>) {
  ^step(%s: tensor<?xf32>):
    gf.yield %s, %s : tensor<?xf32>, tensor<?xf32>
  }
  return %y, %last : tensor<?x8xf32>, tensor<8xf32>
}

// A step that yields nothing: the terminator may be left out.
// CHECK-LABEL: func @nothing
func.func @nothing(%x: tensor<4x2xf32>) {
  // CHECK: gf.recurrence sequences(%{{.*}} : tensor<4x2xf32>) time_axis 0 {
  // CHECK-NEXT: ^step(%{{.*}}: tensor<2xf32>):
  // CHECK-NEXT:   gf.yield
  gf.recurrence sequences(%x : tensor<4x2xf32>) time_axis 0 {
  ^step(%x_t: tensor<2xf32>):
  }
  return
}
