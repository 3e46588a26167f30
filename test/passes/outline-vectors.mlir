// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --split-input-file --gf-outline-vectors --verify-diagnostics | FileCheck %s

// The loop over blocks of rows stays, and what it computes for the code behind.
// CHECK-LABEL: func @gatefold_run_entry
// CHECK-SAME: %[[X:.*]]: memref<?x8xf32>, %[[Y:.*]]: memref<?x8xf32>
func.func @gatefold_run_entry(%x: memref<?x8xf32>, %y: memref<?x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant 0.0 : f32
  // A constant may stand outside of the loop.
  %ones = arith.constant dense<1.0> : vector<16x8xf32>
  %rows = memref.dim %x, %c0 : memref<?x8xf32>
  // CHECK: scf.for %[[I:.*]] =
  scf.for %i = %c0 to %rows step %c16 {
    // CHECK: %[[NEXT:.*]] = arith.addi %[[I]]
    // CHECK: call @gatefold_vectors{{.*}}(%[[X]], %[[I]], %{{.*}}, %[[Y]])
    // CHECK-NEXT: memref.store %{{.*}}, %[[Y]][%[[NEXT]],
    %v = vector.transfer_read %x[%i, %c0], %zero {in_bounds = [false, true]} : memref<?x8xf32>, vector<16x8xf32>
    %next = arith.addi %i, %c1 : index
    %sum = scf.for %j = %c0 to %rows step %c1 iter_args(%s = %v) -> vector<16x8xf32> {
      %t = math.fma %s, %ones, %v : vector<16x8xf32>
      scf.yield %t : vector<16x8xf32>
    }
    vector.transfer_write %sum, %y[%i, %c0] {in_bounds = [false, true]} : vector<16x8xf32>, memref<?x8xf32>
    memref.store %zero, %y[%next, %c0] : memref<?x8xf32>
  }
  return
}
// CHECK: func private @gatefold_vectors
// CHECK-SAME: gf.vectors
// CHECK-SAME: noinline
// CHECK: vector.transfer_read
// CHECK: scf.for
// CHECK: vector.transfer_write
// CHECK-NEXT: return

// -----

// What a function on vectors cannot hold parts two of them.
// CHECK-LABEL: func @gatefold_run_entry
// CHECK: call @gatefold_vectors
// CHECK: gf.team_barrier
// CHECK: call @gatefold_vectors
func.func @gatefold_run_entry(%x: memref<16x8xf32>) {
  %c0 = arith.constant 0 : index
  %v = arith.constant dense<1.0> : vector<16x8xf32>
  vector.transfer_write %v, %x[%c0, %c0] : vector<16x8xf32>, memref<16x8xf32>
  gf.team_barrier
  %w = arith.constant dense<2.0> : vector<16x8xf32>
  vector.transfer_write %w, %x[%c0, %c0] : vector<16x8xf32>, memref<16x8xf32>
  return
}

// -----

func.func @gatefold_run_entry(%x: memref<16x8xf32>, %y: memref<16x8xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  // expected-error @below {{vectors live through code that a function on vectors cannot hold}}
  %v = vector.transfer_read %x[%c0, %c0], %zero : memref<16x8xf32>, vector<16x8xf32>
  gf.team_barrier
  vector.transfer_write %v, %y[%c0, %c0] : vector<16x8xf32>, memref<16x8xf32>
  return
}

// -----

func.func @gatefold_run_entry(%x: memref<16x8xf32>, %n: index, %v: vector<16x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // expected-error @below {{a function on vectors cannot hold 'scf.for', which uses one, or what is in it}}
  scf.for %i = %c0 to %n step %c1 {
    gf.team_barrier
    vector.transfer_write %v, %x[%c0, %c0] : vector<16x8xf32>, memref<16x8xf32>
  }
  return
}

// -----

func.func @gatefold_run_entry(%x: memref<16x8xf32>, %n: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0, %c0], %zero : memref<16x8xf32>, vector<16x8xf32>
  // expected-error @below {{is read among vectors and used behind them}}
  %s = memref.load %n[%c0] : memref<1xf32>
  %t = vector.broadcast %s : f32 to vector<16x8xf32>
  %w = arith.addf %v, %t : vector<16x8xf32>
  vector.transfer_write %w, %x[%c0, %c0] : vector<16x8xf32>, memref<16x8xf32>
  memref.store %s, %n[%c0] : memref<1xf32>
  return
}
