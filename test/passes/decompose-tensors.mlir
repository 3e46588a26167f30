// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-decompose-tensors | FileCheck %s

// CHECK-LABEL: func @concat
func.func @concat(%a: tensor<2x?xf32>, %b: tensor<2x?xf32>) -> tensor<2x?xf32> {
  // CHECK-NOT: tensor.concat
  // CHECK: tensor.insert_slice %arg0
  // CHECK: tensor.insert_slice %arg1
  %c = tensor.concat dim(1) %a, %b : (tensor<2x?xf32>, tensor<2x?xf32>) -> tensor<2x?xf32>
  return %c : tensor<2x?xf32>
}

// CHECK-LABEL: func @elementwise
func.func @elementwise(%a: tensor<?xf32>) -> tensor<?xf32> {
  // CHECK: linalg.generic
  // CHECK: math.tanh %{{.*}} : f32
  %t = math.tanh %a : tensor<?xf32>
  return %t : tensor<?xf32>
}

// A short text makes no large object.
// CHECK-LABEL: func @large_splat
func.func @large_splat() -> tensor<1000000x1000000xf32> {
  // CHECK: linalg.fill
  %c = arith.constant dense<1.0> : tensor<1000000x1000000xf32>
  return %c : tensor<1000000x1000000xf32>
}

// CHECK-LABEL: func @small_splat
func.func @small_splat() -> tensor<4xf32> {
  // CHECK: arith.constant dense<1.0{{.*}}> : tensor<4xf32>
  %c = arith.constant dense<1.0> : tensor<4xf32>
  return %c : tensor<4xf32>
}

// Two halves that are filled alike are filled as one: of what they were before nothing is
// copied, for it may be memory that nobody has written.
// CHECK-LABEL: func @fill_of_concat
// CHECK-SAME: (%[[A:.*]]: tensor<1x?xi64>
func.func @fill_of_concat(%a: tensor<1x?xi64>, %value: i64) -> tensor<2x?xi64> {
  // CHECK: %[[SIZE:.*]] = tensor.dim %[[A]]
  // CHECK: %[[EMPTY:.*]] = tensor.empty(%[[SIZE]]) : tensor<2x?xi64>
  // CHECK-NOT: tensor.insert_slice
  // CHECK: linalg.fill ins(%{{.*}}) outs(%[[EMPTY]]
  %c = tensor.concat dim(0) %a, %a : (tensor<1x?xi64>, tensor<1x?xi64>) -> tensor<2x?xi64>
  %f = linalg.fill ins(%value : i64) outs(%c : tensor<2x?xi64>) -> tensor<2x?xi64>
  return %f : tensor<2x?xi64>
}
