// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-expand-open-shapes | FileCheck %s
// RUN: gatefold-opt %s --pass-pipeline='builtin.module(func.func(gf-expand-open-shapes),expand-strided-metadata)' | FileCheck %s --check-prefix=WHOLE

// CHECK-LABEL: func @open
// CHECK-SAME: (%[[X:.*]]: memref<?x4xf32>, %[[A:.*]]: index, %[[B:.*]]: index)
// WHOLE-LABEL: func @open
func.func @open(%x: memref<?x4xf32>, %a: index, %b: index) -> memref<?x?x4xf32> {
  // CHECK-DAG: memref.extract_strided_metadata %[[X]]
  // CHECK-DAG: %[[STRIDE:.*]] = arith.muli {{.*}}, %[[B]]
  // CHECK: memref.reinterpret_cast {{.*}} to offset: [0], sizes: [%[[A]], %[[B]], 4], strides: [%[[STRIDE]], 4, 1]
  // CHECK-NOT: memref.expand_shape
  // WHOLE-NOT: memref.expand_shape
  %y = memref.expand_shape %x [[0, 1], [2]] output_shape [%a, %b, 4]
      : memref<?x4xf32> into memref<?x?x4xf32>
  return %y : memref<?x?x4xf32>
}

// Upstream's own way is kept where it works.
// CHECK-LABEL: func @one_open
func.func @one_open(%x: memref<?xf32>, %a: index) -> memref<?x4xf32> {
  // CHECK: memref.expand_shape
  %y = memref.expand_shape %x [[0, 1]] output_shape [%a, 4] : memref<?xf32> into memref<?x4xf32>
  return %y : memref<?x4xf32>
}
