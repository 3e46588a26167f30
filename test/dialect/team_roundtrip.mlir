// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Ranks and barriers, what is folded, and what stays where it is.

// RUN: gatefold-opt %s | gatefold-opt | FileCheck %s
// RUN: gatefold-opt %s --mlir-print-op-generic | gatefold-opt | FileCheck %s
// RUN: gatefold-opt %s --cse --loop-invariant-code-motion | FileCheck %s --check-prefix=MOVED

// CHECK-LABEL: func.func @share
// CHECK: gf.team_size
// CHECK: scf.for
// CHECK: gf.team_rank
// CHECK: memref.store
// CHECK: gf.team_barrier
// CHECK: memref.load
// CHECK: gf.team_barrier

// A rank does not change; nothing moves across a barrier.
// MOVED-LABEL: func.func @share
// MOVED: gf.team_size
// MOVED: gf.team_rank
// MOVED: scf.for
// MOVED-NOT: gf.team_rank
// MOVED: memref.store
// MOVED: gf.team_barrier
// MOVED: memref.load
// MOVED: gf.team_barrier
func.func @share(%a: memref<?xf32>, %x: f32, %steps: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %ranks = gf.team_size
  scf.for %t = %c0 to %steps step %c1 {
    %rank = gf.team_rank
    %again = gf.team_rank
    memref.store %x, %a[%rank] : memref<?xf32>
    gf.team_barrier
    %next = arith.addi %again, %c1 : index
    %neighbour = arith.remui %next, %ranks : index
    %y = memref.load %a[%neighbour] : memref<?xf32>
    gf.team_barrier
    memref.store %y, %a[%rank] : memref<?xf32>
  }
  return
}
