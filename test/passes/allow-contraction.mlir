// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-allow-contraction | FileCheck %s

// Other flags stay, other operations have none.
// CHECK-LABEL: func @product_and_sum
// CHECK: arith.mulf %{{.*}}, %{{.*}} fastmath<nnan,contract> : f32
// CHECK: arith.addf %{{.*}}, %{{.*}} fastmath<contract> : f32
// CHECK: arith.divf %{{[^ ]*}}, %{{[^ ]*}} : f32
func.func @product_and_sum(%a: f32, %b: f32, %c: f32) -> f32 {
  %p = arith.mulf %a, %b fastmath<nnan> : f32
  %s = arith.addf %p, %c : f32
  %q = arith.divf %s, %a : f32
  return %q : f32
}
