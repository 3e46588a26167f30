// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-lower-team --split-input-file --verify-diagnostics | FileCheck %s

// CHECK-LABEL: func @gatefold_run_entry(
// CHECK-SAME: %[[A:.*]]: memref<?xf32>, %[[RANK:.*]]: index, %[[RANKS:.*]]: index, %[[TEAM:.*]]: !llvm.ptr) -> i32
func.func @gatefold_run_entry(%a: memref<?xf32>) -> i32 {
  %code = arith.constant 0 : i32
  %x = arith.constant 1.0 : f32
  %rank = gf.team_rank
  %ranks = gf.team_size
  %other = arith.subi %ranks, %rank : index
  // CHECK: arith.subi %[[RANKS]], %[[RANK]]
  // CHECK: memref.store
  // CHECK-NEXT: %[[CODE:.*]] = call @gatefold_team_barrier(%[[TEAM]])
  // CHECK: %[[FINE:.*]] = arith.cmpi eq, %[[CODE]], %c0_i32
  // CHECK-NEXT: cf.cond_br %[[FINE]], ^bb1, ^bb2(%[[CODE]] : i32)
  // CHECK-NEXT: ^bb1:
  // CHECK-NEXT: memref.store
  // CHECK-NEXT: return
  // CHECK-NEXT: ^bb2(%[[FAILED:.*]]: i32):
  // CHECK-NEXT: return %[[FAILED]]
  memref.store %x, %a[%rank] : memref<?xf32>
  gf.team_barrier
  memref.store %x, %a[%other] : memref<?xf32>
  return %code : i32
}
// CHECK: func private @gatefold_team_barrier(!llvm.ptr) -> i32

// -----

// A run without a team takes the same arguments.
// CHECK-LABEL: func @gatefold_run_entry(
// CHECK-SAME: index, %{{.*}}: index, %{{.*}}: !llvm.ptr) -> i32
// CHECK-NOT: gatefold_team_barrier
func.func @gatefold_run_entry() -> i32 {
  %code = arith.constant 0 : i32
  return %code : i32
}

// -----

func.func @gatefold_run_entry(%n: index) -> i32 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %code = arith.constant 0 : i32
  scf.for %i = %c0 to %n step %c1 {
    // expected-error@+1 {{stands in a region; run this after scf-to-cf}}
    gf.team_barrier
  }
  return %code : i32
}

// -----

// A part of the entry takes what the entry takes.
// CHECK-LABEL: func @gatefold_run_entry(
// CHECK-SAME: %[[RANK:.*]]: index, %[[RANKS:.*]]: index, %[[TEAM:.*]]: !llvm.ptr) -> i32
// CHECK: call @part(%{{.*}}, %[[RANK]], %[[RANKS]], %[[TEAM]]) : (i32, index, index, !llvm.ptr) -> i32
// CHECK: call @apart() : () -> ()
func.func @gatefold_run_entry() -> i32 {
  %code = arith.constant 0 : i32
  %of_part = func.call @part(%code) : (i32) -> i32
  func.call @apart() : () -> ()
  return %of_part : i32
}
// CHECK-LABEL: func private @part(
// CHECK-SAME: %{{.*}}: i32, %{{.*}}: index, %{{.*}}: index, %[[TEAM:.*]]: !llvm.ptr) -> i32
// CHECK: call @gatefold_team_barrier(%[[TEAM]])
func.func private @part(%code: i32) -> i32 {
  gf.team_barrier
  return %code : i32
}
// CHECK-LABEL: func private @apart() {
func.func private @apart() {
  return
}

// -----

func.func @gatefold_run_entry() -> i32 {
  %code = arith.constant 0 : i32
  func.call @part() : () -> ()
  return %code : i32
}
func.func private @part() {
  // expected-error@+1 {{stands in a function that returns no code}}
  gf.team_barrier
  return
}

// -----

// expected-error @+1 {{has no function 'gatefold_run_entry' that returns a code}}
module {
  func.func @gatefold_run_entry() {
    return
  }
}
