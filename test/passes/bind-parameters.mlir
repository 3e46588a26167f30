// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --split-input-file --gf-bind-parameters | FileCheck %s

// Parameters, inputs, states; one argument for one name; states of results last.
// CHECK-LABEL: func @f
// CHECK-SAME: (%[[W:[^:]*]]: tensor<4xf32> {gf.name = "w", gf.parameter, gf.shape = #{{[a-z0-9]*}}}
// CHECK-SAME: %[[B:[^:]*]]: tensor<4xf32> {gf.initial = 2.500000e-01 : f32, gf.name = "b", gf.parameter
// CHECK-SAME: %[[X:[^:]*]]: tensor<4xf32> {gf.name = "x"
// CHECK-SAME: %[[H:[^:]*]]: tensor<4xf32> {gf.name = "h", gf.shape = #{{[a-z0-9]*}}, gf.state})
// CHECK-SAME: -> (tensor<4xf32> {gf.name = "y", gf.shape = #{{[a-z0-9]*}}}, tensor<4xf32> {gf.name = "h"
func.func @f(%h: tensor<4xf32> {gf.name = "h", gf.state, gf.shape = affine_map<() -> (4)>},
             %x: tensor<4xf32> {gf.name = "x", gf.shape = affine_map<() -> (4)>})
    -> (tensor<4xf32> {gf.name = "h", gf.state, gf.shape = affine_map<() -> (4)>},
        tensor<4xf32> {gf.name = "y", gf.shape = affine_map<() -> (4)>})
    attributes {gf.entry} {
  // CHECK-NOT: gf.parameter
  %w = gf.parameter "w" : tensor<4xf32>
  %b = gf.parameter "b" initial 0.25 : tensor<4xf32>
  %again = gf.parameter "w" : tensor<4xf32>
  // CHECK: %[[N:.*]] = arith.addf %[[H]], %[[W]]
  %n = arith.addf %h, %w : tensor<4xf32>
  // CHECK: %[[S:.*]] = arith.mulf %[[X]], %[[W]]
  %s = arith.mulf %x, %again : tensor<4xf32>
  // CHECK: %[[Y:.*]] = arith.addf %[[S]], %[[B]]
  %y = arith.addf %s, %b : tensor<4xf32>
  // CHECK: return %[[Y]], %[[N]]
  return %n, %y : tensor<4xf32>, tensor<4xf32>
}

// -----

// What is listed comes first, read or not.
// CHECK-LABEL: func @listed
// CHECK-SAME: (%{{[^:]*}}: tensor<2xi64> {gf.initial = 3 : i64, gf.name = "dead", gf.parameter, {{[^}]*}}}, %[[W:[^:]*]]: tensor<4xf32> {gf.name = "w", gf.parameter
// CHECK-NOT: gf.parameters
func.func @listed(%x: tensor<4xf32> {gf.name = "x", gf.shape = affine_map<() -> (4)>})
    -> (tensor<4xf32> {gf.name = "y", gf.shape = affine_map<() -> (4)>})
    attributes {gf.entry, gf.parameters = [{name = "dead", type = tensor<2xi64>, initial = 3.0 : f64}]} {
  %w = gf.parameter "w" : tensor<4xf32>
  // CHECK: arith.addf %{{.*}}, %[[W]]
  %y = arith.addf %x, %w : tensor<4xf32>
  return %y : tensor<4xf32>
}
