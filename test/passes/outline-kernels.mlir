// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-outline-kernels | FileCheck %s

// Equal operations call one function; a constant goes into it, a captured value does not.
// CHECK-LABEL: func @twice
// CHECK-SAME: %[[A:.*]]: memref<?xf32>, %[[B:.*]]: memref<?xf32>, %[[S:.*]]: f32
func.func @twice(%a: memref<?xf32>, %b: memref<?xf32>, %s: f32) {
  %c = arith.constant 2.0 : f32
  // CHECK: call @[[FILL:.*]](%[[A]]) : (memref<?xf32>) -> ()
  linalg.fill ins(%c : f32) outs(%a : memref<?xf32>)
  // CHECK: call @[[FILL]](%[[B]]) : (memref<?xf32>) -> ()
  linalg.fill ins(%c : f32) outs(%b : memref<?xf32>)
  // CHECK: call @[[OTHER:.*]](%[[S]], %[[A]]) : (f32, memref<?xf32>) -> ()
  linalg.fill ins(%s : f32) outs(%a : memref<?xf32>)
  // CHECK: call @[[COPY:.*]](%[[A]], %[[B]])
  linalg.copy ins(%a : memref<?xf32>) outs(%b : memref<?xf32>)
  // CHECK: call @[[IN_PLACE:.*]](%[[A]]) : (memref<?xf32>) -> ()
  linalg.exp ins(%a : memref<?xf32>) outs(%a : memref<?xf32>)
  return
}

// CHECK: func private @[[FILL]](%[[X:.*]]: memref<?xf32>) attributes {passthrough = ["noinline"]}
// CHECK: %[[TWO:.*]] = arith.constant 2.0
// CHECK: linalg.fill ins(%[[TWO]] : f32) outs(%[[X]]
// CHECK: func private @[[OTHER]](
// CHECK: func private @[[COPY]](
// CHECK: func private @[[IN_PLACE]](%[[Y:.*]]: memref<?xf32>)
// CHECK: linalg.exp ins(%[[Y]] : {{.*}}) outs(%[[Y]]
// CHECK-NOT: func private
