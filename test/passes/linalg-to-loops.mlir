// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-linalg-to-loops --split-input-file --verify-diagnostics | FileCheck %s
// RUN: gatefold-opt %s --gf-linalg-to-loops=parallel --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=PARALLEL

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

// A scan stores in each of its steps. A thread loads what it takes in several of them first, and
// once what is the same in all.
// CHECK-LABEL: func @scan
// CHECK: scf.for
// CHECK: scf.for
// CHECK: scf.for {{.*}} iter_args
// CHECK-NOT: scf.for
// PARALLEL-LABEL: func @scan
// PARALLEL-SAME: %[[A:[^:]*]]: memref<?x?x4xf32>, %[[G:[^:]*]]: memref<4xf32>, %[[Y:[^:]*]]: memref<?x?x4xf32>, %[[S:[^:]*]]: memref<?x4xf32>
// PARALLEL: scf.parallel
// PARALLEL: memref.load %[[S]]
// PARALLEL: memref.load %[[G]]
// PARALLEL: %[[MOST:.*]] = scf.for {{.*}} step %c8 iter_args
// PARALLEL-COUNT-8: memref.load %[[A]]
// PARALLEL-NOT: memref.load
// PARALLEL-COUNT-8: memref.store %{{.*}}, %[[Y]]
// PARALLEL: scf.for {{.*}} step %c1 iter_args(%{{.*}} = %[[MOST]])
// PARALLEL: memref.load %[[A]]
// PARALLEL: memref.store %{{.*}}, %[[Y]]
// PARALLEL: memref.store %{{.*}}, %[[S]]
func.func @scan(%a: memref<?x?x4xf32>, %g: memref<4xf32>, %y: memref<?x?x4xf32>, %s: memref<?x4xf32>) {
  linalg.generic {indexing_maps = [affine_map<(i, t, j) -> (i, t, j)>, affine_map<(i, t, j) -> (j)>,
                                   affine_map<(i, t, j) -> (i, t, j)>, affine_map<(i, t, j) -> (i, j)>],
                  iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%a, %g : memref<?x?x4xf32>, memref<4xf32>) outs(%y, %s : memref<?x?x4xf32>, memref<?x4xf32>) {
  ^bb0(%x: f32, %gain: f32, %out: f32, %h: f32):
    %0 = arith.mulf %gain, %h : f32
    %1 = arith.addf %0, %x : f32
    linalg.yield %1, %1 : f32, f32
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
