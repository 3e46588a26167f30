// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-lower-math | FileCheck %s

// CHECK-DAG: func private @tanhf(f32) -> f32
// CHECK-DAG: func private @exp(f64) -> f64
// CHECK-LABEL: func @functions
func.func @functions(%x: f32, %y: f64, %i: index, %j: index) -> (f32, f64, f32, index) {
  // CHECK: call @tanhf
  %t = math.tanh %x : f32
  // CHECK: call @exp
  %e = math.exp %y : f64
  // CHECK: math.sqrt
  %s = math.sqrt %x : f32
  // CHECK-NOT: arith.floordivsi
  %q = arith.floordivsi %i, %j : index
  return %t, %e, %s, %q : f32, f64, f32, index
}
