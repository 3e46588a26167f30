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
