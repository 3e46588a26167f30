// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-form-team --split-input-file --verify-diagnostics | FileCheck %s

// One iteration for each rank; a barrier between two, and none before the end.
// CHECK-LABEL: func @gatefold_run_entry(
func.func @gatefold_run_entry(%a: memref<?xf32>, %b: memref<?xf32>) {
  // CHECK: %[[RANKS:.*]] = gf.team_size
  %ranks = gf.team_size
  %x = arith.constant 1.0 : f32
  // CHECK: %[[RANK:.*]] = gf.team_rank
  // CHECK-NEXT: memref.store %{{.*}}, %arg0[%[[RANK]]]
  // CHECK-NEXT: gf.team_barrier
  scf.forall (%r) in (%ranks) {
    memref.store %x, %a[%r] : memref<?xf32>
  }
  // CHECK: %[[RANK:.*]] = gf.team_rank
  // CHECK-NEXT: memref.store %{{.*}}, %arg1[%[[RANK]]]
  // CHECK-NEXT: return
  scf.forall (%r) in (%ranks) {
    memref.store %x, %b[%r] : memref<?xf32>
  }
  return
}

// -----

// Of other loops each rank takes every R-th iteration; a forall in it is a loop.
// CHECK-LABEL: func @gatefold_run_entry(
func.func @gatefold_run_entry(%a: memref<?x?x?xf32>, %n: index, %m: index) {
  %x = arith.constant 1.0 : f32
  // CHECK: %[[RANK:.*]] = gf.team_rank
  // CHECK: %[[RANKS:.*]] = gf.team_size
  // CHECK: scf.for %[[I:.*]] = %[[RANK]] to %[[TOTAL:.*]] step %[[RANKS]] {
  // CHECK: arith.remui %[[I]], %[[COUNT:.*]]
  // CHECK: arith.divui %[[I]], %[[COUNT]]
  // CHECK: scf.for
  // CHECK-NOT: gf.team_barrier
  // CHECK: memref.store
  // CHECK: }
  // CHECK: return
  scf.forall (%i, %j) = (0, 2) to (%n, %m) step (1, 8) {
    scf.forall (%k) in (4) {
      memref.store %x, %a[%i, %j, %k] : memref<?x?x?xf32>
    }
  }
  return
}

// -----

// What is read outside is not overwritten before all have read it; a value of
// an argument that nothing writes needs no waiting for.
// CHECK-LABEL: func @gatefold_run_entry(
func.func @gatefold_run_entry(%a: memref<?xf32>, %lengths: memref<?xindex>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ranks = gf.team_size
  // CHECK: scf.for
  scf.for %i = %c0 to %n step %c1 {
    // CHECK-NEXT: memref.load %arg1
    // CHECK-NEXT: memref.load %arg0
    // CHECK-NEXT: gf.team_barrier
    // CHECK-NEXT: gf.team_rank
    %length = memref.load %lengths[%i] : memref<?xindex>
    %x = memref.load %a[%length] : memref<?xf32>
    // CHECK-NEXT: memref.store
    // CHECK-NEXT: gf.team_barrier
    scf.forall (%r) in (%ranks) {
      memref.store %x, %a[%r] : memref<?xf32>
    }
    // CHECK-NEXT: memref.load %arg0
    // CHECK: gf.team_barrier
    // CHECK-NEXT: scf.if
    // CHECK-NEXT: gf.team_rank
    %y = memref.load %a[%c0] : memref<?xf32>
    %small = arith.cmpf olt, %x, %y : f32
    scf.if %small {
      // CHECK-NEXT: memref.store
      // CHECK-NEXT: gf.team_barrier
      // CHECK-NEXT: }
      scf.forall (%r) in (%ranks) {
        memref.store %y, %a[%r] : memref<?xf32>
      }
    }
    // What is read here is written at the start of the next iteration.
    // CHECK: memref.load %arg0
    // CHECK: gf.team_barrier
    // CHECK-NEXT: }
    %z = memref.load %a[%c1] : memref<?xf32>
    %fine = arith.cmpf oeq, %z, %z : f32
    cf.assert %fine, "a number"
  }
  return
}

// -----

func.func @gatefold_run_entry(%a: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.0 : f32
  // expected-error@+1 {{'memref.store' op writes memory outside of an scf.forall, where every rank executes it}}
  memref.store %x, %a[%c0] : memref<?xf32>
  return
}

// -----

func.func @gatefold_run_entry(%a: tensor<4xf32>) {
  %ranks = gf.team_size
  // expected-error @+1 {{'scf.forall' op has results}}
  %r = scf.forall (%i) in (%ranks) shared_outs(%o = %a) -> tensor<4xf32> {
  }
  return
}

// -----

func.func @gatefold_run_entry(%a: tensor<4xf32>) {
  %ranks = gf.team_size
  scf.forall (%i) in (%ranks) {
    // expected-error @+1 {{'scf.forall' op has results}}
    %r = scf.forall (%j) in (%ranks) shared_outs(%o = %a) -> tensor<4xf32> {
    }
  }
  return
}
