// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-linear-to-tiles --split-input-file --verify-diagnostics | FileCheck %s
// RUN: not gatefold-opt %s --gf-linear-to-tiles --split-input-file --remark-format=emitRemark --remarks-filter-missed=gf-linear-to-tiles -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Both products have the same types: one function, which shares out the rows. A row of
// initial values has no distance between rows.
// CHECK-LABEL: func @two
func.func @two(%x: memref<?x?xf32>, %p: memref<?x?x64xf32, strided<[?, 64, 1], offset: ?>>,
               %b: memref<?xf32>, %y: memref<?x?xf32>) {
  // CHECK: %[[BIAS:.*]] = memref.reinterpret_cast %{{.*}} strides: [%c0{{.*}}, 1]
  // CHECK: call @gatefold_linear_f32_64(%{{.*}}, %{{.*}}, %[[BIAS]], %true{{.*}}, %{{.*}})
  gf.linear %x, %p initial(%b : memref<?xf32>) outs(%y : memref<?x?xf32>) : memref<?x?xf32>, memref<?x?x64xf32, strided<[?, 64, 1], offset: ?>>
  // CHECK: call @gatefold_linear_f32_64(%{{.*}}, %{{.*}}, %{{.*}}, %false{{.*}}, %{{.*}})
  gf.linear %x, %p outs(%y : memref<?x?xf32>) : memref<?x?xf32>, memref<?x?x64xf32, strided<[?, 64, 1], offset: ?>>
  return
}

// CHECK-LABEL: func private @gatefold_linear_f32_64_rows64(
// CHECK-SAME: %[[X:.*]]: memref<?x?xf32, strided<[?, 1], offset: ?>>, %[[P:.*]]: memref<?x?x64xf32, strided<[?, 64, 1], offset: ?>>, %[[I:.*]]: memref<?x?xf32, strided<[?, 1], offset: ?>>, %[[HAS:.*]]: i1, %[[Y:.*]]: memref<?x?xf32, strided<[?, 1], offset: ?>>, %[[BEGIN:.*]]: index, %[[END:.*]]: index)
// CHECK-SAME: gf.vectors, gf.warps = array<i64: 4, 2>
// CHECK: scf.for %[[STRIP:.*]] = %c0
// CHECK: scf.for %[[ROW:.*]] = %[[BEGIN]] to %[[END]] step %c64
// One part of k after the other: where one begins, the last is added to those before.
// CHECK: %[[SUMS:.*]]:2 = scf.for %[[TURN:.*]] = {{.*}} step %c1{{.*}} iter_args(%[[WHOLE:.*]] = %{{.*}}, %[[PART:.*]] = %{{.*}}) -> (vector<64x64xf32>, vector<64x64xf32>)
// CHECK: arith.mului_extended
// CHECK: %[[K:.*]] = arith.muli %{{.*}}, %c16
// CHECK: %[[BEGUN:.*]]:2 = scf.if
// CHECK-NEXT: %[[MORE:.*]] = arith.addf %[[WHOLE]], %[[PART]]
// CHECK: scf.yield %[[MORE]], %{{.*}}
// CHECK: scf.yield %[[WHOLE]], %[[PART]]
// CHECK: %[[A:.*]] = vector.transfer_read %[[X]][%[[ROW]], %[[K]]], %{{.*}} : {{.*}}, vector<64x16xf32>
// CHECK: %[[B:.*]] = vector.transfer_read %[[P]][%[[STRIP]], %[[K]], %c0{{.*}}], %{{.*}} {in_bounds = [false, true]} : {{.*}}, vector<16x64xf32>
// CHECK: %[[N:.*]] = vector.contract {{.*}} %[[A]], %[[B]], %[[BEGUN]]#1
// CHECK: scf.yield %[[BEGUN]]#0, %[[N]]
// CHECK: %[[SUM:.*]] = arith.addf %[[SUMS]]#0, %[[SUMS]]#1
// CHECK: %[[LAST:.*]] = scf.if %[[HAS]] -> (vector<64x64xf32>)
// CHECK: %[[FROM:.*]] = vector.transfer_read %[[I]][%[[ROW]], %[[COLUMN:.*]]], %{{.*}} : {{.*}}, vector<64x64xf32>
// CHECK: arith.addf %[[FROM]], %[[SUM]]
// CHECK: vector.transfer_write %[[LAST]], %[[Y]][%[[ROW]], %[[COLUMN]]] : vector<64x64xf32>
// CHECK-LABEL: func private @gatefold_linear_f32_64_rows16(
// CHECK-SAME: gf.warps = array<i64: 1, 8>

// CHECK-LABEL: func private @gatefold_linear_f32_64(
// CHECK: %[[M:.*]] = memref.dim %{{.*}}, %c0
// CHECK: scf.if
// CHECK: call @gatefold_linear_f32_64_rows64({{.*}}, %c0{{.*}}, %[[BIG:[0-9]+]]) :
// CHECK: scf.if
// CHECK: call @gatefold_linear_f32_64_rows16({{.*}}, %[[BIG]], %[[M]]) :

// -----

// Two operands of 16 bits are multiplied as they are, in longer steps and larger tiles; sums are f32. 48
// columns are shared among 6 warps.
// CHECK-LABEL: func @halves
func.func @halves(%x: memref<6x8xbf16>, %p: memref<1x8x48xbf16>, %i: memref<6x48xf32>, %y: memref<6x48xbf16>) {
  // CHECK: call @gatefold_linear_bf16_bf16_f32_bf16_48
  gf.linear %x, %p initial(%i : memref<6x48xf32>) outs(%y : memref<6x48xbf16>) : memref<6x8xbf16>, memref<1x8x48xbf16>
  return
}
// Two panels at a time, then what is left.
// CHECK: func private @gatefold_linear_bf16_bf16_f32_bf16_48_rows128(
// CHECK-SAME: gf.warps = array<i64: 4, 2>
// CHECK: step %c2
// CHECK: scf.for {{.*}} step %c32{{.*}} -> (vector<128x48xf32>, vector<128x48xf32>)
// CHECK-COUNT-2: vector.contract
// CHECK: scf.for {{.*}} step %c32{{.*}} -> (vector<128x48xf32>)
// CHECK: func private @gatefold_linear_bf16_bf16_f32_bf16_48_rows16(
// CHECK-SAME: gf.warps = array<i64: 1, 6>
// CHECK: vector.contract {{.*}} : vector<16x32xbf16>, vector<32x48xbf16> into vector<16x48xf32>
// CHECK: arith.truncf %{{.*}} : vector<16x48xf32> to vector<16x48xbf16>

// -----

// Of a step's product the warps share the terms, whatever the rows.
// CHECK-LABEL: func @step
func.func @step(%x: memref<?x?xf32>, %p: memref<?x?x32xf32, strided<[?, 32, 1], offset: ?>>, %y: memref<?x?xf32>) {
  // CHECK: call @gatefold_linear_f32_32_step(
  gf.linear %x, %p outs(%y : memref<?x?xf32>) {gf.step} : memref<?x?xf32>, memref<?x?x32xf32, strided<[?, 32, 1], offset: ?>>
  return
}
// CHECK: func private @gatefold_linear_f32_32_step_rows32(
// CHECK-SAME: gf.warps = array<i64: 1, 1, 8>
// CHECK: vector.contract {{.*}} : vector<32x128xf32>, vector<128x32xf32> into vector<32x32xf32>
// CHECK: func private @gatefold_linear_f32_32_step_rows16(
// CHECK-SAME: gf.warps = array<i64: 1, 1, 8>
// CHECK: vector.contract {{.*}} : vector<16x128xf32>, vector<128x32xf32> into vector<16x32xf32>

// -----

// Of gates a warp has all columns of a panel, and writes those of each gate to its place.
// CHECK-LABEL: func @gates
func.func @gates(%x: memref<?x?xf32>, %p: memref<?x?x32xf32, strided<[?, 32, 1], offset: ?>>, %y: memref<?x4x?xf32>, %a: memref<?x4x?xf32>, %b: memref<4x?xf32>) {
  // CHECK: call @gatefold_linear_f32_32_gates4_step({{.*}}) : (memref<?x?xf32, strided<[?, 1], offset: ?>>, memref<?x?x32xf32, strided<[?, 32, 1], offset: ?>>, memref<?x4x?xf32, strided<[?, ?, 1], offset: ?>>, i1, memref<?x4x?xf32, strided<[?, ?, 1], offset: ?>>)
  gf.linear %x, %p initial(%a : memref<?x4x?xf32>) outs(%y : memref<?x4x?xf32>) {gf.step} : memref<?x?xf32>, memref<?x?x32xf32, strided<[?, 32, 1], offset: ?>>
  // What is the same for each row has no distance between rows.
  // CHECK: memref.reinterpret_cast %{{.*}} to offset: [%{{.*}}], sizes: [%{{.*}}, 4, %{{.*}}], strides: [%c0{{.*}}, %{{.*}}, 1]
  // CHECK: call @gatefold_linear_f32_32_gates4(
  gf.linear %x, %p initial(%b : memref<4x?xf32>) outs(%y : memref<?x4x?xf32>) : memref<?x?xf32>, memref<?x?x32xf32, strided<[?, 32, 1], offset: ?>>
  return
}
// CHECK: func private @gatefold_linear_f32_32_gates4_step_rows32(
// CHECK-SAME: gf.warps = array<i64: 1, 1, 8>
// CHECK: vector.contract {{.*}} : vector<32x128xf32>, vector<128x32xf32> into vector<32x32xf32>
// CHECK: vector.extract_strided_slice %{{.*}} {offsets = [0, 0], sizes = [32, 8], strides = [1, 1]}
// CHECK: %[[FROM:.*]] = memref.subview %{{.*}}[0, 0, 0] [%{{.*}}, 1, %{{.*}}] [1, 1, 1]
// CHECK: %[[TO:.*]] = memref.subview %{{.*}}[0, 0, 0] [%{{.*}}, 1, %{{.*}}] [1, 1, 1]
// CHECK: vector.transfer_read %[[FROM]]{{.*}} vector<32x8xf32>
// CHECK: vector.transfer_write %{{.*}}, %[[TO]]
// CHECK: vector.extract_strided_slice %{{.*}} {offsets = [0, 24], sizes = [32, 8], strides = [1, 1]}
// CHECK: memref.subview %{{.*}}[0, 3, 0]
// CHECK: func private @gatefold_linear_f32_32_gates4_rows64(
// CHECK-SAME: gf.warps = array<i64: 4, 1>

// -----

// Of different types both become f32. A wide panel is taken in parts.
// CHECK-LABEL: func @mixed
func.func @mixed(%x: memref<6x8xf32>, %p: memref<1x8x128xf16>, %y: memref<6x128xf32>) {
  gf.linear %x, %p outs(%y : memref<6x128xf32>) : memref<6x8xf32>, memref<1x8x128xf16>
  return
}
// CHECK: func private @gatefold_linear_f32_f16_f32_f32_128_rows16(
// CHECK: %[[PANEL:.*]] = arith.divui %{{.*}}, %c2
// CHECK: arith.muli %{{.*}}, %c16
// CHECK: %[[B:.*]] = vector.transfer_read {{.*}} vector<16x64xf16>
// CHECK: arith.extf %[[B]] : vector<16x64xf16> to vector<16x64xf32>
// CHECK: vector.contract {{.*}} : vector<16x16xf32>, vector<16x64xf32> into vector<16x64xf32>

// -----

// Left for gf-linear-to-parallel.
// CHECK-LABEL: func @left
// CHECK-COUNT-3: gf.linear
// REMARK: remark: [Missed] LinearToTiles | Category:gf-linear-to-tiles | Remark="product: element by element, since tensor cores have no f64"
// REMARK: remark: {{.*}} Remark="product: element by element, since its panels do not consist of groups of 8 columns"
// REMARK: remark: {{.*}} Remark="product: element by element, since elements along k are not next to each other"
func.func @left(%d: memref<6x8xf64>, %p: memref<1x8x64xf64>, %y: memref<6x64xf64>,
                %x: memref<6x8xf32>, %p2: memref<9x8x7xf32>, %y2: memref<6x60xf32>,
                %s: memref<6x8xf32, strided<[1, 6]>>, %p3: memref<1x8x64xf32>, %y3: memref<6x64xf32>) {
  gf.linear %d, %p outs(%y : memref<6x64xf64>) : memref<6x8xf64>, memref<1x8x64xf64>
  gf.linear %x, %p2 outs(%y2 : memref<6x60xf32>) : memref<6x8xf32>, memref<9x8x7xf32>
  gf.linear %s, %p3 outs(%y3 : memref<6x64xf32>) : memref<6x8xf32, strided<[1, 6]>>, memref<1x8x64xf32>
  return
}

// -----

func.func @tensors(%x: tensor<8x40xf32>, %p: tensor<1x40x64xf32>, %y: tensor<8x64xf32>) -> tensor<8x64xf32> {
  // expected-error @below {{is on tensors; products are lowered on buffers}}
  %r = gf.linear %x, %p outs(%y : tensor<8x64xf32>) : tensor<8x40xf32>, tensor<1x40x64xf32> -> tensor<8x64xf32>
  return %r : tensor<8x64xf32>
}
