// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-linalg-to-loops --split-input-file --verify-diagnostics | FileCheck %s

// The accumulator is a value of the innermost loop.
// CHECK-LABEL: func @product
// CHECK-SAME: %[[A:.*]]: memref<?x?xf32>, %[[B:.*]]: memref<?x?xf32>, %[[C:.*]]: memref<?x?xf32>
func.func @product(%a: memref<?x?xf32>, %b: memref<?x?xf32>, %c: memref<?x?xf32>) {
  // CHECK: scf.for %[[I:[^ ]*]] =
  // CHECK-NEXT: scf.for %[[J:[^ ]*]] =
  // CHECK-NEXT: %[[START:.*]] = memref.load %[[C]][%[[I]], %[[J]]]
  // CHECK-NEXT: %[[SUM:.*]] = scf.for %[[K:[^ ]*]] = {{.*}} iter_args(%[[ACCUMULATOR:.*]] = %[[START]])
  // CHECK-NEXT:   %[[X:.*]] = memref.load %[[A]][%[[I]], %[[K]]]
  // CHECK-NEXT:   %[[Y:.*]] = memref.load %[[B]][%[[K]], %[[J]]]
  // CHECK-NEXT:   %[[TERM:.*]] = arith.mulf %[[X]], %[[Y]]
  // CHECK-NEXT:   %[[NEXT:.*]] = arith.addf %[[ACCUMULATOR]], %[[TERM]]
  // CHECK-NEXT:   scf.yield %[[NEXT]]
  // CHECK: memref.store %[[SUM]], %[[C]][%[[I]], %[[J]]]
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x?xf32>) outs(%c : memref<?x?xf32>)
  return
}

// -----

// Nothing is loaded that is not used; an index stands for its loop.
// CHECK-LABEL: func @index
// CHECK-SAME: %[[X:.*]]: memref<?xindex>
func.func @index(%x: memref<?xindex>, %flag: i1) {
  // CHECK: scf.for %[[I:[^ ]*]] =
  // CHECK-NOT: memref.load
  // CHECK: %[[V:.*]] = scf.if
  // CHECK-NEXT: scf.yield %[[I]]
  // CHECK: memref.store %[[V]], %[[X]][%[[I]]]
  %zero = arith.constant 0 : index
  linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
      outs(%x : memref<?xindex>) {
  ^bb0(%out: index):
    %i = linalg.index 0 : index
    %v = scf.if %flag -> index {
      scf.yield %i : index
    } else {
      scf.yield %zero : index
    }
    linalg.yield %v : index
  }
  return
}

// -----

// CHECK-LABEL: func @convolution
func.func @convolution(%x: memref<?xf32>, %w: memref<3xf32>, %y: memref<?xf32>) {
  // CHECK: scf.for %[[I:[^ ]*]] =
  // CHECK: scf.for %[[K:[^ ]*]] =
  // CHECK: affine.apply #{{.*}}(%[[I]], %[[K]])
  linalg.conv_1d ins(%x, %w : memref<?xf32>, memref<3xf32>) outs(%y : memref<?xf32>)
  return
}

// -----

func.func @tensors(%x: tensor<4xf32>) -> tensor<4xf32> {
  %e = tensor.empty() : tensor<4xf32>
  // expected-error @+1 {{not compiled yet: 'linalg.exp' on tensors}}
  %y = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}
