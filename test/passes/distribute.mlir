// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-distribute --cse --split-input-file --verify-diagnostics | FileCheck %s
// RUN: gatefold-opt %s --gf-distribute --gf-form-team --split-input-file --verify-diagnostics | FileCheck %s --check-prefix=TEAM

// Two products and what is between them are cut at the same rows: one forall,
// no barrier. Where there are few rows for the ranks, columns are cut.
// CHECK-LABEL: func @gatefold_run_entry(
// CHECK-SAME: %[[X:[a-z0-9]*]]: memref<?x128xf32>
// TEAM-LABEL: func @gatefold_run_entry(
func.func @gatefold_run_entry(%x: memref<?x128xf32>, %p: memref<4x128x64xf32>, %q: memref<2x256x64xf32>,
                              %y: memref<?x128xf32>) {
  // CHECK: %[[ROWS:.*]] = memref.dim %[[X]]
  // CHECK: %[[HIDDEN:.*]] = memref.alloc(%[[ROWS]])
  // CHECK: %[[ENOUGH:.*]] = arith.cmpi uge, %[[ROWS]]
  // CHECK: scf.if %[[ENOUGH]] {
  // CHECK: scf.forall (%[[RANK:.*]]) in (%{{.*}}) {
  // CHECK: %[[LOW:.*]] = arith.minui
  // CHECK: %[[HIGH:.*]] = arith.minui
  // CHECK: %[[SIZE:.*]] = arith.subi %[[HIGH]], %[[LOW]]
  // CHECK: %[[XS:.*]] = memref.subview %[[X]][%[[LOW]], 0] [%[[SIZE]], 128]
  // CHECK: %[[HS:[a-z0-9_]*]] = memref.subview %[[HIDDEN]][%[[LOW]], 0] [%[[SIZE]], 256]
  // CHECK: gf.linear %[[XS]], %{{.*}} outs(%[[HS]]
  // CHECK: linalg.exp ins(%[[HS]] : {{.*}}) outs(%[[HS]]
  // CHECK: gf.linear %[[HS]],
  // CHECK: } else {
  // CHECK: scf.forall
  // CHECK: memref.subview %arg1[%[[PANEL:.*]], 0, 0] [%[[PANELS:.*]], 128, 64]
  // CHECK: memref.subview %[[HIDDEN]][0, %{{.*}}]
  // CHECK: gf.linear
  // The function reads what the same rank has written: no barrier before it.
  // CHECK: linalg.exp
  // CHECK: scf.forall
  // CHECK: gf.linear
  // TEAM: scf.if
  // TEAM: gf.linear
  // TEAM-NOT: gf.team_barrier
  // TEAM: gf.linear
  // TEAM: gf.team_barrier
  // TEAM: else
  // TEAM: gf.linear
  // TEAM-NOT: gf.team_barrier
  // TEAM: linalg.exp
  // TEAM: gf.team_barrier
  // TEAM: gf.linear
  // TEAM: gf.team_barrier
  %c0 = arith.constant 0 : index
  %rows = memref.dim %x, %c0 : memref<?x128xf32>
  %h = memref.alloc(%rows) : memref<?x256xf32>
  gf.linear %x, %p outs(%h : memref<?x256xf32>) : memref<?x128xf32>, memref<4x128x64xf32>
  linalg.exp ins(%h : memref<?x256xf32>) outs(%h : memref<?x256xf32>)
  gf.linear %h, %q outs(%y : memref<?x128xf32>) : memref<?x256xf32>, memref<2x256x64xf32>
  return
}

// -----

// A recurrence: its batch is split where that is large, without a barrier in the
// loop; else its columns, with two in each step.
// CHECK-LABEL: func @gatefold_run_entry(
// TEAM-LABEL: func @gatefold_run_entry(
func.func @gatefold_run_entry(%x: memref<?x?x512xf32>, %h: memref<?x512xf32>, %p: memref<8x512x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = memref.dim %x, %c0 : memref<?x?x512xf32>
  %steps = memref.dim %x, %c1 : memref<?x?x512xf32>
  // CHECK: scf.if
  // CHECK: %[[Z:.*]] = memref.alloc(%{{.*}}) : memref<?x512xf32>
  // CHECK: scf.forall
  // CHECK: scf.for %[[T:.*]] =
  // CHECK: gf.linear
  // CHECK: linalg.add
  // CHECK: } else {
  // CHECK: scf.for
  // CHECK: scf.forall
  // CHECK: gf.linear
  // CHECK: scf.forall
  // CHECK: linalg.add
  // TEAM: scf.for
  // TEAM: gf.linear
  // TEAM-NOT: gf.team_barrier
  // TEAM: linalg.add
  // TEAM: gf.team_barrier
  // TEAM: scf.for
  // TEAM: gf.linear
  // TEAM: gf.team_barrier
  // TEAM: linalg.add
  // TEAM: gf.team_barrier
  scf.for %t = %c0 to %steps step %c1 {
    %z = memref.alloc(%batch) : memref<?x512xf32>
    %xt = memref.subview %x[0, %t, 0] [%batch, 1, 512] [1, 1, 1]
      : memref<?x?x512xf32> to memref<?x512xf32, strided<[?, 1], offset: ?>>
    gf.linear %h, %p outs(%z : memref<?x512xf32>) : memref<?x512xf32>, memref<8x512x64xf32>
    linalg.add ins(%z, %xt : memref<?x512xf32>, memref<?x512xf32, strided<[?, 1], offset: ?>>) outs(%h : memref<?x512xf32>)
  }
  return
}

// -----

// A small loop is one rank's, with the operations around it.
// CHECK-LABEL: func @gatefold_run_entry(
// TEAM-LABEL: func @gatefold_run_entry(
func.func @gatefold_run_entry(%x: memref<100x8xf32>, %h: memref<8xf32>, %n: memref<index>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c100 = arith.constant 100 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: memref.load
  // CHECK: scf.forall (%[[RANK:.*]]) in
  // CHECK-NEXT: %[[FIRST:.*]] = arith.cmpi eq, %[[RANK]], %c0
  // CHECK-NEXT: scf.if %[[FIRST]] {
  // CHECK-NEXT: linalg.fill
  // CHECK-NEXT: scf.for
  // CHECK: linalg.add
  // CHECK: memref.store
  // CHECK-NOT: scf.forall
  // CHECK: return
  // TEAM-NOT: gf.team_barrier
  // TEAM: return
  linalg.fill ins(%zero : f32) outs(%h : memref<8xf32>)
  %last = memref.load %n[] : memref<index>
  scf.for %t = %c0 to %c100 step %c1 {
    %xt = memref.subview %x[%t, 0] [1, 8] [1, 1] : memref<100x8xf32> to memref<8xf32, strided<[1], offset: ?>>
    linalg.add ins(%h, %xt : memref<8xf32>, memref<8xf32, strided<[1], offset: ?>>) outs(%h : memref<8xf32>)
  }
  memref.store %zero, %h[%last] : memref<8xf32>
  return
}

// -----

// A reduction is cut along what it keeps, never along what it sums; a transpose
// is cut at the columns that are the rows before; indices count from the share's start.
// CHECK-LABEL: func @gatefold_run_entry(
// TEAM-LABEL: func @gatefold_run_entry(
func.func @gatefold_run_entry(%x: memref<4096x512xf32>, %y: memref<4096xf32>, %z: memref<512x4096xf32>, %w: memref<512xf32>) {
  // CHECK: scf.forall
  // CHECK: %[[LOW:.*]] = arith.minui
  // CHECK: memref.subview %{{.*}}[%[[LOW]], 0] [%{{.*}}, 512]
  // CHECK: linalg.generic
  // CHECK: %[[INDEX:.*]] = linalg.index 0
  // CHECK: arith.addi %[[INDEX]], %[[LOW]]
  // CHECK: linalg.reduce
  // CHECK: memref.subview %{{.*}}[0, %[[LOW]]]
  // CHECK: linalg.transpose
  // CHECK: scf.forall
  // CHECK: linalg.reduce
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      outs(%x : memref<4096x512xf32>) {
  ^bb0(%old: f32):
    %i = linalg.index 0 : index
    %i32 = arith.index_cast %i : index to i32
    %f = arith.sitofp %i32 : i32 to f32
    linalg.yield %f : f32
  }
  linalg.reduce {arith.addf} ins(%x : memref<4096x512xf32>) outs(%y : memref<4096xf32>) dimensions = [1]
  linalg.transpose ins(%x : memref<4096x512xf32>) outs(%z : memref<512x4096xf32>) permutation = [1, 0]
  linalg.reduce {arith.addf} ins(%z : memref<512x4096xf32>) outs(%w : memref<512xf32>) dimensions = [1]
  return
}

// -----

// Two loops that have nothing to do with each other, as two directions: each is
// one rank's where there are two, without a barrier in it.
// CHECK-LABEL: func @gatefold_run_entry(
// TEAM-LABEL: func @gatefold_run_entry(
func.func @gatefold_run_entry(%a: memref<1x512xf32>, %b: memref<1x512xf32>, %p: memref<8x512x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  // CHECK: %[[TWO:.*]] = arith.cmpi eq, %{{.*}}, %c2
  // CHECK: scf.if %[[TWO]] {
  // CHECK-NEXT: scf.forall (%[[RANK:.*]]) in
  // CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[RANK]], %c0
  // CHECK-NEXT: scf.if %[[FIRST]] {
  // CHECK: scf.for
  // CHECK: linalg.copy {{.*}} outs(%arg0
  // CHECK: } else {
  // CHECK: scf.for
  // CHECK: linalg.copy {{.*}} outs(%arg1
  // CHECK: } else {
  // CHECK: scf.forall
  // TEAM: scf.if
  // TEAM: scf.if
  // TEAM: scf.for
  // TEAM-NOT: gf.team_barrier
  // TEAM: scf.for
  // TEAM-NOT: gf.team_barrier
  // TEAM: linalg.copy {{.*}} outs(%arg1
  // TEAM: gf.team_barrier
  // TEAM: else
  scf.for %t = %c0 to %c50 step %c1 {
    %z = memref.alloc() : memref<1x512xf32>
    gf.linear %a, %p outs(%z : memref<1x512xf32>) : memref<1x512xf32>, memref<8x512x64xf32>
    linalg.copy ins(%z : memref<1x512xf32>) outs(%a : memref<1x512xf32>)
  }
  scf.for %t = %c0 to %c50 step %c1 {
    %z = memref.alloc() : memref<1x512xf32>
    gf.linear %b, %p outs(%z : memref<1x512xf32>) : memref<1x512xf32>, memref<8x512x64xf32>
    linalg.copy ins(%z : memref<1x512xf32>) outs(%b : memref<1x512xf32>)
  }
  return
}

// -----

// Both write to one result, each its own columns: they are independent all the same.
// CHECK-LABEL: func @gatefold_run_entry(
// CHECK: arith.cmpi eq, %{{.*}}, %c2
// CHECK: scf.if
// CHECK-NEXT: scf.forall
// CHECK: scf.for
// CHECK: } else {
// CHECK: scf.for
// TEAM-LABEL: func @gatefold_run_entry(
// TEAM: return
func.func @gatefold_run_entry(%a: memref<1x512xf32>, %y: memref<50x1024xf32>, %p: memref<8x512x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c50 = arith.constant 50 : index
  scf.for %t = %c0 to %c50 step %c1 {
    %yt = memref.subview %y[%t, 0] [1, 512] [1, 1] : memref<50x1024xf32> to memref<1x512xf32, strided<[1024, 1], offset: ?>>
    gf.linear %a, %p outs(%yt : memref<1x512xf32, strided<[1024, 1], offset: ?>>) : memref<1x512xf32>, memref<8x512x64xf32>
  }
  scf.for %t = %c0 to %c50 step %c1 {
    %yt = memref.subview %y[%t, 512] [1, 512] [1, 1] : memref<50x1024xf32> to memref<1x512xf32, strided<[1024, 1], offset: ?>>
    gf.linear %a, %p outs(%yt : memref<1x512xf32, strided<[1024, 1], offset: ?>>) : memref<1x512xf32>, memref<8x512x64xf32>
  }
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// A state of the run's own is read by one buffer and written to another, which
// change places: one barrier in each step, and what is read of it behind the
// product is the new one. After an odd number of steps a copy brings it back.
// CHECK-LABEL: func @gatefold_run_entry(
// TEAM-LABEL: func @gatefold_run_entry(
func.func @gatefold_run_entry(%x: memref<3x?x512xf32>, %y: memref<3x512xf32>, %p: memref<8x512x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  // CHECK: %[[A:.*]] = memref.alloc() : memref<3x512xf32>
  // CHECK: %[[B:.*]] = memref.alloc() : memref<3x512xf32>
  %h = memref.alloc() : memref<3x512xf32>
  linalg.fill ins(%zero : f32) outs(%h : memref<3x512xf32>)
  %steps = memref.dim %x, %c1 : memref<3x?x512xf32>
  // CHECK: scf.for %[[T:.*]] = %c0 to %[[STEPS:.*]] step %c2
  // CHECK: %[[NEXT:.*]] = arith.addi %[[T]], %c1
  // CHECK: %[[THERE:.*]] = arith.cmpi slt, %[[NEXT]], %[[STEPS]]
  // CHECK: scf.forall
  // CHECK: gf.linear %[[A]],
  // CHECK: %[[PART:.*]] = memref.subview %[[B]][0,
  // CHECK: linalg.generic {{.*}} outs(%[[PART]] :
  // CHECK: scf.if %[[THERE]]
  // CHECK: memref.subview %{{.*}}[0, %[[NEXT]], 0]
  // CHECK: gf.linear %[[B]],
  // CHECK: %[[PART:.*]] = memref.subview %[[A]][0,
  // CHECK: linalg.generic {{.*}} outs(%[[PART]] :
  // CHECK: linalg.copy ins(%[[B]] : {{.*}}) outs(%[[A]] :
  // CHECK: } else {
  // CHECK: scf.for %{{.*}} = %c0 to %[[STEPS]] step %c1
  // CHECK: gf.linear %[[A]],
  // CHECK: linalg.generic {{.*}} outs(%[[A]] :
  // TEAM: scf.for
  // TEAM: gf.linear
  // TEAM-NOT: gf.team_barrier
  // TEAM: linalg.generic
  // TEAM: gf.team_barrier
  // TEAM: scf.if
  // TEAM: gf.linear
  // TEAM-NOT: gf.team_barrier
  // TEAM: linalg.generic
  // TEAM: gf.team_barrier
  scf.for %t = %c0 to %steps step %c1 {
    %z = memref.alloc() : memref<3x512xf32>
    %xt = memref.subview %x[0, %t, 0] [3, 1, 512] [1, 1, 1]
      : memref<3x?x512xf32> to memref<3x512xf32, strided<[?, 1], offset: ?>>
    gf.linear %h, %p outs(%z : memref<3x512xf32>) : memref<3x512xf32>, memref<8x512x64xf32>
    linalg.generic {indexing_maps = [#id, #id, #id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%z, %xt, %h : memref<3x512xf32>, memref<3x512xf32, strided<[?, 1], offset: ?>>, memref<3x512xf32>)
        outs(%h : memref<3x512xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %old: f32):
      %sum = arith.addf %a, %b : f32
      %next = arith.addf %sum, %c : f32
      linalg.yield %next : f32
    }
  }
  linalg.copy ins(%h : memref<3x512xf32>) outs(%y : memref<3x512xf32>)
  return
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// Only a part of the state is written, so the rest has to stay where it is.
// CHECK-LABEL: func @gatefold_run_entry(
// CHECK: memref.alloc() : memref<3x512xf32>
// CHECK-NOT: memref.alloc() : memref<3x512xf32>
// CHECK: return
// TEAM-LABEL: func @gatefold_run_entry(
func.func @gatefold_run_entry(%x: memref<3x?x512xf32>, %y: memref<3x512xf32>, %z: memref<3x512xf32>, %p: memref<8x512x64xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %h = memref.alloc() : memref<3x512xf32>
  linalg.fill ins(%zero : f32) outs(%h : memref<3x512xf32>)
  %steps = memref.dim %x, %c1 : memref<3x?x512xf32>
  scf.for %t = %c0 to %steps step %c1 {
    gf.linear %h, %p outs(%z : memref<3x512xf32>) : memref<3x512xf32>, memref<8x512x64xf32>
    %rows = memref.subview %h[0, 0] [2, 512] [1, 1] : memref<3x512xf32> to memref<2x512xf32, strided<[512, 1]>>
    %from = memref.subview %z[0, 0] [2, 512] [1, 1] : memref<3x512xf32> to memref<2x512xf32, strided<[512, 1]>>
    linalg.exp ins(%from : memref<2x512xf32, strided<[512, 1]>>) outs(%rows : memref<2x512xf32, strided<[512, 1]>>)
  }
  linalg.copy ins(%h : memref<3x512xf32>) outs(%y : memref<3x512xf32>)
  return
}

// -----

func.func @gatefold_run_entry(%a: memref<?xf32>, %b: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %x = arith.constant 1.0 : f32
  // expected-error @+1 {{'memref.atomic_rmw' op not compiled yet: it writes memory and has results, where several threads execute it}}
  %y = memref.atomic_rmw addf %x, %a[%c0] : (f32, memref<?xf32>) -> f32
  memref.store %y, %b[%c0] : memref<?xf32>
  return
}

// -----

// expected-error @+1 {{has more than one block}}
func.func @gatefold_run_entry(%a: memref<?xf32>) {
  cf.br ^next
^next:
  return
}

// -----

// What is on tensors still is not shared.
// CHECK-LABEL: func @gatefold_run_entry(
// CHECK: scf.for
// CHECK: linalg.fill {{.*}} -> tensor<4x8xf32>
func.func @gatefold_run_entry(%a: memref<4x8xf32>) {
  %one = arith.constant 1.0 : f32
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  scf.for %i = %c0 to %c4 step %c1 {
    %t = tensor.empty() : tensor<4x8xf32>
    %f = linalg.fill ins(%one : f32) outs(%t : tensor<4x8xf32>) -> tensor<4x8xf32>
    %v = tensor.extract %f[%c0, %c1] : tensor<4x8xf32>
    memref.store %v, %a[%i, %c0] : memref<4x8xf32>
  }
  return
}
