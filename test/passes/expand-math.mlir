// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-expand-math | FileCheck %s
// RUN: gatefold-opt %s --gf-expand-math | FileCheck %s --check-prefix=NONE
// RUN: gatefold-opt %s --gf-expand-math --remark-format=emitRemark --remarks-filter-missed=gf-expand-math 2>&1 | FileCheck %s --check-prefix=REMARK

// Of all that may stay, only the functions that are not ours are calls later.
// NONE-NOT: {{math\.(exp|exp2|expm1|log|log2|log10|log1p|tanh|erf|sin|cos|powf) .*f(16|32)}}
// NONE-NOT: call

// CHECK-LABEL: func @exp_vector
// CHECK-SAME: (%[[x:.*]]: vector<16xf32>)
func.func @exp_vector(%x: vector<16xf32>) -> vector<16xf32> {
  // x = k log(2) + r, where 1.5 * 2^23 rounds k.
  // CHECK-DAG: %[[rounder:.*]] = arith.constant dense<0x4B400000> : vector<16xf32>
  // CHECK-DAG: %[[log2e:.*]] = arith.constant dense<1.442695{{.*}}> : vector<16xf32>
  // CHECK: %[[rounded:.*]] = math.fma %[[x]], %[[log2e]], %[[rounder]] : vector<16xf32>
  // CHECK: arith.subf %[[rounded]], %[[rounder]]
  // CHECK-COUNT-8: math.fma
  // CHECK: arith.bitcast {{.*}} : vector<16xf32> to vector<16xi32>
  // CHECK: arith.shli
  // CHECK: arith.addi
  // CHECK: arith.bitcast {{.*}} : vector<16xi32> to vector<16xf32>
  // CHECK-COUNT-2: arith.select
  // CHECK-NEXT: return
  %y = math.exp %x : vector<16xf32>
  return %y : vector<16xf32>
}

// The same operations for a number.
// CHECK-LABEL: func @exp_number
// CHECK-SAME: (%[[x:.*]]: f32)
func.func @exp_number(%x: f32) -> f32 {
  // CHECK: %[[rounded:.*]] = math.fma %[[x]], %{{.*}}, %{{.*}} : f32
  // CHECK-COUNT-8: math.fma
  // CHECK: arith.shli {{.*}} : i32
  // CHECK-COUNT-2: arith.select {{.*}} : f32
  // CHECK-NEXT: return
  %y = math.exp %x : f32
  return %y : f32
}

// 1 / (1 + exp(-x)) is one function: the sum is its last fma.
// CHECK-LABEL: func @sigmoid
// CHECK-SAME: (%[[x:.*]]: vector<8xf32>)
func.func @sigmoid(%x: vector<8xf32>) -> vector<8xf32> {
  // CHECK-NOT: arith.addf
  // CHECK-NOT: math.exp
  // CHECK-COUNT-9: math.fma
  // CHECK: %[[sum:.*]] = math.fma
  // CHECK-NEXT: arith.divf %{{.*}}, %[[sum]]
  // CHECK-NEXT: return
  %one = arith.constant dense<1.0> : vector<8xf32>
  %negated = arith.negf %x : vector<8xf32>
  %power = math.exp %negated : vector<8xf32>
  %sum = arith.addf %one, %power : vector<8xf32>
  %y = arith.divf %one, %sum : vector<8xf32>
  return %y : vector<8xf32>
}

// CHECK-LABEL: func @sigmoid_of_a_broadcast_one
func.func @sigmoid_of_a_broadcast_one(%x: vector<8xf32>) -> vector<8xf32> {
  // CHECK-NOT: arith.addf
  // CHECK: return
  %number = arith.constant 1.0 : f32
  %one = vector.broadcast %number : f32 to vector<8xf32>
  %negated = arith.negf %x : vector<8xf32>
  %power = math.exp %negated : vector<8xf32>
  %sum = arith.addf %power, %one : vector<8xf32>
  %y = arith.divf %one, %sum : vector<8xf32>
  return %y : vector<8xf32>
}

// Where the power is read again, it is computed once.
// CHECK-LABEL: func @shared_power
func.func @shared_power(%x: f32) -> (f32, f32) {
  // CHECK: arith.select
  // CHECK: arith.addf
  // CHECK: arith.divf
  // CHECK-NOT: math.fma
  // CHECK: return
  %one = arith.constant 1.0 : f32
  %negated = arith.negf %x : f32
  %power = math.exp %negated : f32
  %sum = arith.addf %power, %one : f32
  %y = arith.divf %one, %sum : f32
  return %y, %power : f32, f32
}

// CHECK-LABEL: func @each
func.func @each(%x: f32) -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) {
  %0 = math.exp2 %x : f32
  %1 = math.expm1 %x : f32
  %2 = math.log %x : f32
  %3 = math.log2 %x : f32
  %4 = math.log10 %x : f32
  %5 = math.log1p %x : f32
  %6 = math.tanh %x : f32
  %7 = math.erf %x : f32
  // The arguments of sine and cosine are reduced in f64.
  // CHECK: arith.extf
  // CHECK: arith.truncf
  %8 = math.sin %x : f32
  // CHECK: arith.extf
  // CHECK: arith.truncf
  %9 = math.cos %x : f32
  return %0, %1, %2, %3, %4, %5, %6, %7, %8, %9
      : f32, f32, f32, f32, f32, f32, f32, f32, f32, f32
}

// CHECK-LABEL: func @half
// CHECK-SAME: (%[[x:.*]]: vector<4xf16>, %[[y:.*]]: bf16)
func.func @half(%x: vector<4xf16>, %y: bf16) -> (vector<4xf16>, bf16) {
  // CHECK: arith.extf %[[x]] : vector<4xf16> to vector<4xf32>
  // CHECK: arith.truncf {{.*}} : vector<4xf32> to vector<4xf16>
  %0 = math.tanh %x : vector<4xf16>
  // CHECK: arith.extf %[[y]] : bf16 to f32
  // CHECK: arith.truncf {{.*}} : f32 to bf16
  %1 = math.exp %y : bf16
  return %0, %1 : vector<4xf16>, bf16
}

// In f64 the same steps.
// CHECK-LABEL: func @double
// CHECK-SAME: (%[[x:[^ ]*]]: vector<8xf64>,
func.func @double(%x: vector<8xf64>, %y: vector<8xf64>) -> (vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>) {
  // CHECK-NOT: math.{{exp|log|tanh|erf|pow|sin|cos}}
  // CHECK-NOT: arith.truncf
  // 1.5 * 2^52
  // CHECK-DAG: arith.constant dense<0x4338000000000000> : vector<8xf64>
  // CHECK: math.fma %[[x]], {{.*}} : vector<8xf64>
  // CHECK-COUNT-14: math.fma
  // CHECK: %[[shift:.*]] = arith.constant dense<52> : vector<8xi64>
  // CHECK: arith.shli %{{.*}}, %[[shift]]
  // CHECK: return
  %0 = math.exp %x : vector<8xf64>
  %1 = math.expm1 %x : vector<8xf64>
  %2 = math.log %x : vector<8xf64>
  %3 = math.log1p %x : vector<8xf64>
  %4 = math.tanh %x : vector<8xf64>
  %5 = math.erf %x : vector<8xf64>
  %6 = math.sin %x : vector<8xf64>
  %7 = math.cos %x : vector<8xf64>
  %8 = math.powf %x, %y : vector<8xf64>
  return %0, %1, %2, %3, %4, %5, %6, %7, %8 : vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>, vector<8xf64>
}

// A power of f32 is computed in f64.
// CHECK-LABEL: func @power
// CHECK-SAME: (%[[x:.*]]: f32, %[[y:.*]]: f32)
func.func @power(%x: f32, %y: f32) -> f32 {
  // CHECK: %[[absolute:.*]] = math.absf %[[x]] : f32
  // CHECK-NEXT: arith.extf %[[absolute]] : f32 to f64
  // CHECK-NEXT: arith.extf %[[y]] : f32 to f64
  // CHECK: arith.truncf %{{.*}} : f64 to f32
  // CHECK: math.roundeven %[[y]]
  // CHECK: return
  %0 = math.powf %x, %y : f32
  return %0 : f32
}

// CHECK-LABEL: func @left
func.func @left(%x: f64, %y: f32) -> (f64, f32, f32) {
  // CHECK: math.exp2 %{{.*}} : f64
  // REMARK: :[[# @LINE + 1]]:8: remark: {{.*}}math.exp2 of f64 calls libm
  %0 = math.exp2 %x : f64
  // CHECK: math.atan
  %1 = math.atan %y : f32
  // CHECK: math.sqrt
  %2 = math.sqrt %y : f32
  return %0, %1, %2 : f64, f32, f32
}

// What nobody reads goes.
// CHECK-LABEL: func @unread
func.func @unread(%x: f32) {
  // CHECK-NEXT: return
  %0 = math.exp %x : f32
  return
}
