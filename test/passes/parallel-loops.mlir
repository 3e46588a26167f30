// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-parallel-loops --split-input-file | FileCheck %s

// Views between two marked loops do not keep them apart.
// CHECK-LABEL: func @gatefold_run_entry(
// CHECK-SAME: %[[A:.*]]: memref<?x?xf32>
func.func @gatefold_run_entry(%a: memref<?x?xf32>, %heads: index, %queries: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %x = arith.constant 1.0 : f32
  // CHECK: scf.forall (%[[H:.*]], %[[Q:.*]]) = (0, 0) to (%{{.*}}, %{{.*}}) step (1, 8) {
  // CHECK-NEXT: memref.subview %[[A]][%[[H]], 0]
  // CHECK: memref.subview {{.*}}[%[[Q]]]
  // CHECK: linalg.fill
  // CHECK-NOT: scf.for
  scf.for %h = %c0 to %heads step %c1 {
    %row = memref.subview %a[%h, 0] [1, 64] [1, 1] : memref<?x?xf32> to memref<64xf32, strided<[1], offset: ?>>
    scf.for %q = %c0 to %queries step %c8 {
      %part = memref.subview %row[%q] [8] [1] : memref<64xf32, strided<[1], offset: ?>> to memref<8xf32, strided<[1], offset: ?>>
      linalg.fill ins(%x : f32) outs(%part : memref<8xf32, strided<[1], offset: ?>>)
    } {gf.parallel}
  } {gf.parallel}
  return
}

// -----

// What is written between keeps the loops apart: the inner one is shared where
// the outer one has fewer iterations than there are ranks.
// CHECK-LABEL: func @gatefold_run_entry(
func.func @gatefold_run_entry(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant 1.0 : f32
  // CHECK: %[[RANKS:.*]] = gf.team_size
  // CHECK: %[[ENOUGH:.*]] = arith.cmpi sge, %{{.*}}, %[[RANKS]]
  // CHECK: scf.if %[[ENOUGH]] {
  // CHECK: scf.forall
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: scf.for
  // CHECK: } else {
  // CHECK-NEXT: scf.for
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: scf.forall
  scf.for %i = %c0 to %n step %c1 {
    memref.store %x, %b[%i] : memref<?xf32>
    scf.for %j = %c0 to %n step %c1 {
      memref.store %x, %a[%j] : memref<?xf32>
    } {gf.parallel}
  } {gf.parallel}
  return
}

// -----

// A missing mark leaves a loop as it is. A buffer that only the loop uses is each
// iteration's own; one that is read afterwards is not.
// CHECK-LABEL: func @gatefold_run_entry(
func.func @gatefold_run_entry(%a: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant 1.0 : f32
  // CHECK: memref.alloc() : memref<9xf32>
  // CHECK: scf.for
  // CHECK-NEXT: scf.forall
  // CHECK-NEXT: memref.alloc() : memref<8xf32>
  %own = memref.alloc() : memref<8xf32>
  %kept = memref.alloc() : memref<9xf32>
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      memref.store %x, %own[%c0] : memref<8xf32>
      memref.store %x, %kept[%j] : memref<9xf32>
    } {gf.parallel}
  }
  %y = memref.load %kept[%c0] : memref<9xf32>
  memref.store %y, %a[%c0] : memref<?xf32>
  return
}

// -----

// CHECK-LABEL: func @gatefold_run_entry(
// CHECK: scf.for
// CHECK-NOT: scf.forall
func.func @gatefold_run_entry(%n: index, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> f32 {
    %next = arith.addf %s, %x : f32
    scf.yield %next : f32
  } {gf.parallel}
  return %sum : f32
}

// -----

// Code on vectors without a loop is for one rank. What it writes to may be made
// among it.
// CHECK-LABEL: func @gatefold_run_entry(
// CHECK: %[[MADE:.*]] = memref.alloc()
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK-NEXT: vector.transfer_read
// CHECK-NEXT: arith.negf
// CHECK-NEXT: vector.transfer_write {{.*}} %[[MADE]]
func.func @gatefold_run_entry(%a: memref<16x8xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %x = vector.transfer_read %a[%c0, %c0], %zero : memref<16x8xf32>, vector<16x8xf32>
  %made = memref.alloc() : memref<16x8xf32>
  %y = arith.negf %x : vector<16x8xf32>
  vector.transfer_write %y, %made[%c0, %c0] : vector<16x8xf32>, memref<16x8xf32>
  memref.copy %made, %a : memref<16x8xf32> to memref<16x8xf32>
  return
}

// -----

// What computes on memory among it keeps its place.
// CHECK-LABEL: func @gatefold_run_entry(
// CHECK: scf.forall (%{{.*}}) in (1)
// CHECK-NEXT: %[[X:.*]] = vector.transfer_read
// CHECK-NEXT: linalg.fill
// CHECK-NEXT: %[[ROW:.*]] = vector.transfer_read
// CHECK-NEXT: arith.addf %[[X]], %[[ROW]]
// CHECK-NEXT: vector.transfer_write
func.func @gatefold_run_entry(%a: memref<16x8xf32>, %row: memref<16x8xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %x = vector.transfer_read %a[%c0, %c0], %zero : memref<16x8xf32>, vector<16x8xf32>
  linalg.fill ins(%zero : f32) outs(%row : memref<16x8xf32>)
  %r = vector.transfer_read %row[%c0, %c0], %zero : memref<16x8xf32>, vector<16x8xf32>
  %y = arith.addf %x, %r : vector<16x8xf32>
  vector.transfer_write %y, %a[%c0, %c0] : vector<16x8xf32>, memref<16x8xf32>
  return
}
