// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-tile-recurrence --canonicalize --cse --split-input-file | FileCheck %s

// All of a block that depends on no state comes first, then the states go through it, then
// comes what reads them. There is no loop over steps.
// CHECK-LABEL: func @three_parts
// CHECK-SAME: %[[X:.*]]: tensor<?x?x4xf32>, %[[H:.*]]: tensor<?x4xf32>
// CHECK: scf.for %[[B:.*]] = %{{.*}} iter_args(%[[Y:.*]] = %{{.*}}, %[[S:.*]] = %[[H]])
// CHECK: %[[SIZE:.*]] = arith.minsi
// CHECK: %[[PART:.*]] = tensor.extract_slice %[[X]][0, %[[B]], 0]
// CHECK: %[[Z:.*]] = math.exp %[[PART]] : tensor<?x?x4xf32>
// CHECK: %[[SCAN:.*]]:2 = linalg.generic {{.*}} iterator_types = ["parallel", "reduction", "parallel"]}
// CHECK-SAME: ins(%[[Z]], %[[PART]] :
// CHECK-SAME: outs(%{{.*}}, %[[S]] : tensor<?x?x4xf32>, tensor<?x4xf32>)
// CHECK-NEXT: ^bb0(%[[A:[^:]*]]: f32, %[[N:[^:]*]]: f32, %{{.*}}: f32, %[[OLD:.*]]: f32):
// CHECK-NEXT: %[[M:.*]] = arith.mulf %[[A]], %[[OLD]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[M]], %[[N]]
// CHECK-NEXT: linalg.yield %[[NEXT]], %[[NEXT]]
// CHECK: %[[BENT:.*]] = math.tanh %[[SCAN]]#0 : tensor<?x?x4xf32>
// CHECK: %[[PUT:.*]] = tensor.insert_slice %[[BENT]] into %[[Y]][0, %[[B]], 0]
// CHECK: scf.yield %[[PUT]], %[[SCAN]]#1
func.func @three_parts(%x: tensor<?x?x4xf32>, %h0: tensor<?x4xf32>) -> (tensor<?x?x4xf32>, tensor<?x4xf32>) {
  %r:2 = gf.recurrence sequences(%x : tensor<?x?x4xf32>) states(%h0 : tensor<?x4xf32>) time_axis 1
      attributes {gf.algorithm = "scan", gf.step_rows = 60} -> (tensor<?x?x4xf32>) {
  ^step(%x_t: tensor<?x4xf32>, %h: tensor<?x4xf32>):
    %z = math.exp %x_t : tensor<?x4xf32>
    %m = arith.mulf %z, %h : tensor<?x4xf32>
    %next = arith.addf %m, %x_t : tensor<?x4xf32>
    %y = math.tanh %next : tensor<?x4xf32>
    gf.yield %y, %next : tensor<?x4xf32>, tensor<?x4xf32>
  }
  return %r#0, %r#1 : tensor<?x?x4xf32>, tensor<?x4xf32>
}

// -----

// A state that is an output is written where it belongs, 0 behind the end. A sequence starts anew
// at a border before its end.
// CHECK-LABEL: func @lengths_and_resets
// CHECK-SAME: %[[X:.*]]: tensor<2x?x4xf32>, %[[H:.*]]: tensor<2x4xf32>, %[[N:.*]]: tensor<2xi64>, %[[R:.*]]: tensor<2x?xi1>
// CHECK: scf.for %[[B:.*]] = %{{.*}} iter_args(%[[Y:.*]] = %{{.*}}, %[[S:.*]] = %[[H]])
// CHECK: %[[PLACE:.*]] = tensor.extract_slice %[[Y]][0, %[[B]], 0]
// CHECK: linalg.generic
// CHECK-SAME: outs(%[[PLACE]], %[[S]] :
// CHECK-NEXT: ^bb0(%[[A:[^:]*]]: f32, %[[LENGTH:[^:]*]]: i64, %[[BORDER:[^:]*]]: i1, %[[FRESH:[^:]*]]: f32, %{{.*}}: f32, %[[OLD:.*]]: f32):
// CHECK: %[[HERE:.*]] = linalg.index 1
// CHECK: %[[TIME:.*]] = arith.addi %[[B]], %[[HERE]]
// CHECK: %[[END:.*]] = arith.index_cast %[[LENGTH]]
// CHECK: %[[VALID:.*]] = arith.cmpi slt, %[[TIME]], %[[END]]
// CHECK: %[[STARTS:.*]] = arith.andi %[[BORDER]], %[[VALID]]
// CHECK: %[[BEFORE:.*]] = arith.select %[[STARTS]], %[[FRESH]], %[[OLD]]
// CHECK: %[[NEXT:.*]] = arith.subf %[[A]], %[[BEFORE]]
// CHECK: %[[KEPT:.*]] = arith.select %[[VALID]], %[[NEXT]], %[[BEFORE]]
// CHECK: %[[SHOWN:.*]] = arith.select %[[VALID]], %[[NEXT]], %{{.*}}
// CHECK: linalg.yield %[[SHOWN]], %[[KEPT]]
func.func @lengths_and_resets(%x: tensor<2x?x4xf32>, %h0: tensor<2x4xf32>, %n: tensor<2xi64>, %first: tensor<2x?xi1>) -> tensor<2x?x4xf32> {
  %r:2 = gf.recurrence sequences(%x : tensor<2x?x4xf32>) states(%h0 : tensor<2x4xf32>) lengths(%n : tensor<2xi64>)
      resets(%first : tensor<2x?xi1>) reset_states(%h0 : tensor<2x4xf32>) time_axis 1
      attributes {gf.algorithm = "scan", gf.step_rows = 60} -> (tensor<2x?x4xf32>) {
  ^step(%x_t: tensor<2x4xf32>, %h: tensor<2x4xf32>):
    %next = arith.subf %x_t, %h : tensor<2x4xf32>
    gf.yield %next, %next : tensor<2x4xf32>, tensor<2x4xf32>
  }
  return %r#0 : tensor<2x?x4xf32>
}

// -----

// In reverse the scan begins at the end of the block, and what it gives is turned over.
// CHECK-LABEL: func @reverse
// CHECK: %[[SCAN:.*]]:2 = linalg.generic {{.*}} iterator_types = ["reduction", "parallel"]}
// CHECK: %[[HERE:.*]] = linalg.index 0
// CHECK: %[[LAST:.*]] = arith.subi
// CHECK: %[[TURNED:.*]] = arith.subi %[[LAST]], %[[HERE]]
// CHECK: tensor.extract %{{.*}}[%[[TURNED]],
// CHECK: linalg.generic
// CHECK: tensor.extract %[[SCAN]]#0
func.func @reverse(%x: tensor<?x4xf32>, %h0: tensor<4xf32>) -> tensor<?x4xf32> {
  %r:2 = gf.recurrence sequences(%x : tensor<?x4xf32>) states(%h0 : tensor<4xf32>) time_axis 0 reverse
      attributes {gf.algorithm = "scan", gf.step_rows = 60} -> (tensor<?x4xf32>) {
  ^step(%x_t: tensor<4xf32>, %h: tensor<4xf32>):
    %next = arith.subf %x_t, %h : tensor<4xf32>
    gf.yield %next, %next : tensor<4xf32>, tensor<4xf32>
  }
  return %r#0 : tensor<?x4xf32>
}

// -----

// A sum, of which the last value alone is wanted: a choice that is always the same keeps its terms in
// order, or they would depend on where a stream is cut.
// CHECK-LABEL: func @sum
// CHECK: linalg.generic
// CHECK: %[[NEXT:.*]] = arith.addf
// CHECK: %[[IS_STEP:.*]] = arith.cmpi slt
// CHECK: %[[KEPT:.*]] = arith.select %[[IS_STEP]], %[[NEXT]], %{{.*}} : f32
// CHECK: linalg.yield %[[KEPT]] : f32
func.func @sum(%x: tensor<?x?xf32>, %h0: tensor<?xf32>) -> tensor<?xf32> {
  %r = gf.recurrence sequences(%x : tensor<?x?xf32>) states(%h0 : tensor<?xf32>) time_axis 1
      attributes {gf.algorithm = "scan", gf.step_rows = 60} {
  ^step(%x_t: tensor<?xf32>, %h: tensor<?xf32>):
    %next = arith.addf %h, %x_t : tensor<?xf32>
    gf.yield %next : tensor<?xf32>
  }
  return %r : tensor<?xf32>
}
