// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-parallel-loops --split-input-file --verify-diagnostics | FileCheck %s

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

// What is written or read between, or a bound that depends on the outer loop,
// leaves the inner loop as it is; and so does a missing mark.
// CHECK-LABEL: func @gatefold_run_entry(
func.func @gatefold_run_entry(%a: memref<?xf32>, %b: memref<?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %x = arith.constant 1.0 : f32
  // CHECK: scf.forall (%[[I:.*]]) in (%{{.*}}) {
  // CHECK: memref.store
  // CHECK: scf.for
  scf.for %i = %c0 to %n step %c1 {
    memref.store %x, %b[%i] : memref<?xf32>
    scf.for %j = %c0 to %n step %c1 {
      memref.store %x, %a[%j] : memref<?xf32>
    } {gf.parallel}
  } {gf.parallel}
  // CHECK: scf.forall (%[[I:.*]]) in (%{{.*}}) {
  // CHECK-NEXT: scf.for %{{.*}} = %{{.*}} to %[[I]] step
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %i step %c1 {
      memref.store %x, %a[%j] : memref<?xf32>
    } {gf.parallel}
  } {gf.parallel}
  // CHECK: scf.for
  // CHECK-NEXT: scf.forall
  scf.for %i = %c0 to %n step %c1 {
    scf.for %j = %c0 to %n step %c1 {
      memref.store %x, %a[%j] : memref<?xf32>
    } {gf.parallel}
  }
  return
}

// -----

func.func @gatefold_run_entry(%n: index, %x: f32) -> f32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error@+1 {{is marked as parallel, but hands a value from one iteration to the next}}
  %sum = scf.for %i = %c0 to %n step %c1 iter_args(%s = %x) -> f32 {
    %next = arith.addf %s, %x : f32
    scf.yield %next : f32
  } {gf.parallel}
  return %sum : f32
}
