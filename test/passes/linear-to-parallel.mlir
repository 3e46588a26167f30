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

// Four gates of 20 columns, 8 of each in a panel.
// CHECK-LABEL: func @gates
// CHECK-SAME: %[[X:.*]]: memref<40xf64>, %[[P:.*]]: memref<3x40x32xf64>, %[[B:.*]]: memref<4x20xf64>, %[[Y:.*]]: memref<4x20xf64>
func.func @gates(%x: memref<40xf64>, %p: memref<3x40x32xf64>, %b: memref<4x20xf64>, %y: memref<4x20xf64>, %w: memref<4x20x40xf64>) {
  // CHECK: scf.parallel (%[[GATE:.*]], %[[J:.*]]) =
  // CHECK-DAG: %[[PANEL:.*]] = arith.divui %[[J]], %c8
  // CHECK-DAG: %[[IN:.*]] = arith.remui %[[J]], %c8
  // CHECK-DAG: %[[FIRST:.*]] = arith.muli %[[GATE]], %c8
  // CHECK: %[[LANE:.*]] = arith.addi %[[FIRST]], %[[IN]]
  // CHECK: memref.load %[[B]][%[[GATE]], %[[J]]]
  // CHECK: memref.load %[[X]][%[[K:.*]]]
  // CHECK: memref.load %[[P]][%[[PANEL]], %[[K]], %[[LANE]]]
  // CHECK: memref.store %{{.*}}, %[[Y]][%[[GATE]], %[[J]]]
  gf.linear %x, %p initial(%b : memref<4x20xf64>) outs(%y : memref<4x20xf64>) : memref<40xf64>, memref<3x40x32xf64>
  // CHECK: scf.parallel (%[[PANEL:.*]], %[[K:.*]], %[[LANE:.*]]) =
  // CHECK: %[[IN:.*]] = arith.remui %[[LANE]], %c8
  // CHECK: %[[COLUMN:.*]] = arith.addi %{{.*}}, %[[IN]]
  // CHECK: arith.cmpi slt, %[[COLUMN]], %c20
  // CHECK: %[[GATE:.*]] = arith.divui %[[LANE]], %c8
  // CHECK: memref.load %{{.*}}[%[[GATE]], %[[COLUMN]], %[[K]]] : memref<4x20x40xf64>
  gf.pack %w along 0 into %p : memref<4x20x40xf64> into memref<3x40x32xf64>
  return
}

// -----

func.func @tensors(%x: tensor<8x40xf32>, %p: tensor<1x40x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @below {{is on tensors; products are lowered on buffers}}
  %r = gf.linear %x, %p outs(%y : tensor<8x64xf32>) : tensor<8x40xf32>, tensor<1x40x64xf32> -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}
