// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-linear-to-parallel --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @product
// CHECK-SAME: %[[X:.*]]: memref<8x40xf32>, %[[P:.*]]: memref<1x40x64xf32>, %[[Y:.*]]: memref<8x64xf32>
func.func @product(%x: memref<8x40xf32>, %p: memref<1x40x64xf32>, %y: memref<8x64xf32>) {
  // CHECK: scf.parallel (%[[I:.*]], %[[J:.*]]) =
  // CHECK: %[[SUM:.*]] = scf.for %[[K:[^ ]*]] = {{.*}} iter_args(%[[S:.*]] = %{{.*}})
  // CHECK-NEXT: %[[A:.*]] = memref.load %[[X]][%[[I]], %[[K]]]
  // CHECK-NEXT: %[[B:.*]] = memref.load %[[P]][%{{.*}}, %[[K]], %{{.*}}]
  // CHECK-NEXT: %[[NEXT:.*]] = math.fma %[[A]], %[[B]], %[[S]]
  // CHECK-NEXT: scf.yield %[[NEXT]]
  // CHECK: memref.store %[[SUM]], %[[Y]][%[[I]], %[[J]]]
  // CHECK-NOT: gf.linear
  gf.linear %x, %p outs(%y : memref<8x64xf32>) : memref<8x40xf32>, memref<1x40x64xf32>
  return
}

// CHECK-LABEL: func @packing
func.func @packing(%k: memref<100x40xf32>, %p: memref<2x40x64xf32>) {
  // CHECK: scf.parallel (%{{.*}}, %{{.*}}, %{{.*}}) =
  // CHECK: scf.if
  // CHECK-NOT: gf.pack
  gf.pack %k along 0 into %p : memref<100x40xf32> into memref<2x40x64xf32>
  return
}

// -----

func.func @tensors(%x: tensor<8x40xf32>, %p: tensor<1x40x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @below {{is on tensors; products are lowered on buffers}}
  %r = gf.linear %x, %p outs(%y : tensor<8x64xf32>) : tensor<8x40xf32>, tensor<1x40x64xf32> -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}
