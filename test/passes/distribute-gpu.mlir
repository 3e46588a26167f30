// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-distribute --cse --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-distribute --gf-form-team --split-input-file | FileCheck %s --check-prefix=TEAM

// What is shared otherwise for a GPU.

// Two loops of as many steps that are independent are one: the ranks share both
// steps with the barriers of one, as like operations of both stand next to each
// other. What prepares the second loop comes first.
// CHECK-LABEL: func @gatefold_run_entry(
// CHECK-SAME: %[[X:.*]]: memref<?x1024xf32>, %[[Y:.*]]: memref<?x1024xf32>, %[[P:.*]]: memref<16x1024x64xf32>, %[[Q:.*]]: memref<16x1024x64xf32>, %[[G:.*]]: memref<1x1024xf32>, %[[H:.*]]: memref<1x1024xf32>)
// CHECK: linalg.fill {{.*}} outs(%[[H]]
// CHECK: scf.if
// CHECK: scf.for %[[T:.*]] =
// CHECK-NOT: scf.for %
// CHECK: scf.forall
// CHECK-NOT: scf.for
// CHECK: gf.linear %[[G]]
// CHECK-NOT: scf.for
// CHECK: gf.linear %[[H]]
// CHECK-NOT: scf.for %
// CHECK: scf.forall
// CHECK: scf.if
// CHECK-NEXT: linalg.add
// CHECK-NEXT: linalg.add
// CHECK-NOT: scf.for
// CHECK: } else {
// TEAM-LABEL: func @gatefold_run_entry(
// TEAM: scf.for
// TEAM-COUNT-2: gf.team_barrier
// TEAM-NOT: gf.team_barrier
// TEAM: } else {
module attributes {gf.target = {block_threads = 256 : i64, multiprocessors = 108 : i64}} {
  func.func @gatefold_run_entry(%x: memref<?x1024xf32>, %y: memref<?x1024xf32>, %p: memref<16x1024x64xf32>,
                                %q: memref<16x1024x64xf32>, %g: memref<1x1024xf32>, %h: memref<1x1024xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %steps = memref.dim %x, %c0 : memref<?x1024xf32>
    scf.for %t = %c0 to %steps step %c1 {
      %z = memref.alloc() : memref<1x1024xf32>
      %xt = memref.subview %x[%t, 0] [1, 1024] [1, 1] : memref<?x1024xf32> to memref<1x1024xf32, strided<[1024, 1], offset: ?>>
      gf.linear %g, %p outs(%z : memref<1x1024xf32>) : memref<1x1024xf32>, memref<16x1024x64xf32>
      linalg.add ins(%z, %xt : memref<1x1024xf32>, memref<1x1024xf32, strided<[1024, 1], offset: ?>>) outs(%g : memref<1x1024xf32>)
    }
    linalg.fill ins(%zero : f32) outs(%h : memref<1x1024xf32>)
    %again = memref.dim %x, %c0 : memref<?x1024xf32>
    scf.for %t = %c0 to %again step %c1 {
      %after = arith.subi %again, %t : index
      %at = arith.subi %after, %c1 : index
      %z = memref.alloc() : memref<1x1024xf32>
      %xt = memref.subview %y[%at, 0] [1, 1024] [1, 1] : memref<?x1024xf32> to memref<1x1024xf32, strided<[1024, 1], offset: ?>>
      gf.linear %h, %q outs(%z : memref<1x1024xf32>) : memref<1x1024xf32>, memref<16x1024x64xf32>
      linalg.add ins(%z, %xt : memref<1x1024xf32>, memref<1x1024xf32, strided<[1024, 1], offset: ?>>) outs(%h : memref<1x1024xf32>)
    }
    return
  }
}

// -----

// The steps differ, so each loop is shared on its own.
// CHECK-LABEL: func @gatefold_run_entry(
// CHECK-COUNT-2: scf.for %
// TEAM-LABEL: func @gatefold_run_entry(
module attributes {gf.target = {block_threads = 256 : i64, multiprocessors = 108 : i64}} {
  func.func @gatefold_run_entry(%x: memref<?x1024xf32>, %y: memref<?x1024xf32>, %p: memref<16x1024x64xf32>,
                                %q: memref<16x1024x64xf32>, %g: memref<1x1024xf32>, %h: memref<1x1024xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %steps = memref.dim %x, %c0 : memref<?x1024xf32>
    scf.for %t = %c0 to %steps step %c1 {
      %z = memref.alloc() : memref<1x1024xf32>
      %xt = memref.subview %x[%t, 0] [1, 1024] [1, 1] : memref<?x1024xf32> to memref<1x1024xf32, strided<[1024, 1], offset: ?>>
      gf.linear %g, %p outs(%z : memref<1x1024xf32>) : memref<1x1024xf32>, memref<16x1024x64xf32>
      linalg.add ins(%z, %xt : memref<1x1024xf32>, memref<1x1024xf32, strided<[1024, 1], offset: ?>>) outs(%g : memref<1x1024xf32>)
    }
    %others = memref.dim %y, %c0 : memref<?x1024xf32>
    scf.for %t = %c0 to %others step %c1 {
      %z = memref.alloc() : memref<1x1024xf32>
      %xt = memref.subview %y[%t, 0] [1, 1024] [1, 1] : memref<?x1024xf32> to memref<1x1024xf32, strided<[1024, 1], offset: ?>>
      gf.linear %h, %q outs(%z : memref<1x1024xf32>) : memref<1x1024xf32>, memref<16x1024x64xf32>
      linalg.add ins(%z, %xt : memref<1x1024xf32>, memref<1x1024xf32, strided<[1024, 1], offset: ?>>) outs(%h : memref<1x1024xf32>)
    }
    return
  }
}

// -----

// What ranks would share of a step takes less time than the barriers, however
// many ranks there are: one executes all steps.
// CHECK-LABEL: func @gatefold_run_entry(
// CHECK-NOT: arith.cmpf
// CHECK: scf.forall (%[[RANK:.*]]) in
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[RANK]]
// CHECK: scf.if %[[FIRST]] {
// CHECK-NEXT: scf.for
// CHECK: gf.linear
// CHECK-NOT: scf.for
// CHECK: return
// TEAM-LABEL: func @gatefold_run_entry(
// TEAM: scf.for
// TEAM-NOT: gf.team_barrier
// TEAM: return
module attributes {gf.target = {block_threads = 256 : i64, multiprocessors = 108 : i64}} {
  func.func @gatefold_run_entry(%x: memref<?x192xf32>, %p: memref<3x192x64xf32>, %h: memref<1x192xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %steps = memref.dim %x, %c0 : memref<?x192xf32>
    scf.for %t = %c0 to %steps step %c1 {
      %z = memref.alloc() : memref<1x192xf32>
      %xt = memref.subview %x[%t, 0] [1, 192] [1, 1] : memref<?x192xf32> to memref<1x192xf32, strided<[192, 1], offset: ?>>
      gf.linear %h, %p outs(%z : memref<1x192xf32>) : memref<1x192xf32>, memref<3x192x64xf32>
      gf.linear %z, %p outs(%h : memref<1x192xf32>) : memref<1x192xf32>, memref<3x192x64xf32>
      linalg.add ins(%h, %xt : memref<1x192xf32>, memref<1x192xf32, strided<[192, 1], offset: ?>>) outs(%h : memref<1x192xf32>)
    }
    return
  }
}

// -----

// Sums of rows that all ranks have written: of few rows a rank takes one at a
// time, since that reads no weights again, and all that follows with it. What
// does not need the product, but stood before it, is behind it.
// CHECK-LABEL: func @gatefold_run_entry(
// CHECK-SAME: memref<?x8x1024xf32>, %[[P:.*]]: memref<16x1024x64xf32>, %[[H:.*]]: memref<8x1024xf32>, %[[S:.*]]: memref<8xf32>)
// CHECK: scf.for %{{.*}} step %c2
// CHECK-NOT: linalg
// CHECK: scf.forall
// CHECK-NOT: linalg
// CHECK: gf.linear %{{.*}}, %{{.*}} outs({{.*}} : memref<8x?xf32,
// CHECK: scf.forall
// CHECK-NOT: scf.if
// CHECK: linalg.fill {{.*}} outs({{.*}} : memref<?xf32,
// CHECK: linalg.reduce { arith.addf } ins({{.*}} : memref<?x1024xf32,
// CHECK: linalg.reduce { arith.addf } ins({{.*}} : memref<?x1024xf32,
// CHECK: linalg.generic
// CHECK-NOT: scf.forall
// CHECK: scf.if
// TEAM-LABEL: func @gatefold_run_entry(
// TEAM: scf.for %{{.*}} step %c2
// TEAM: gf.linear
// TEAM-NEXT: gf.team_barrier
// TEAM-NOT: gf.team_barrier
// TEAM: linalg.generic
// TEAM: gf.team_barrier
// TEAM-NOT: gf.team_barrier
// TEAM: gf.linear
// TEAM-NEXT: gf.team_barrier
// TEAM-NOT: gf.team_barrier
// TEAM: linalg.generic
// TEAM: gf.team_barrier
// TEAM: linalg.copy
module attributes {gf.target = {block_threads = 256 : i64, multiprocessors = 108 : i64}} {
  func.func @gatefold_run_entry(%x: memref<?x8x1024xf32>, %p: memref<16x1024x64xf32>, %out: memref<8x1024xf32>,
                                %s: memref<8xf32>) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %h = memref.alloc() : memref<8x1024xf32>
    linalg.fill ins(%zero : f32) outs(%h : memref<8x1024xf32>)
    %steps = memref.dim %x, %c0 : memref<?x8x1024xf32>
    scf.for %t = %c0 to %steps step %c1 {
      %z = memref.alloc() : memref<8x1024xf32>
      %xt = memref.subview %x[%t, 0, 0] [1, 8, 1024] [1, 1, 1] : memref<?x8x1024xf32> to memref<8x1024xf32, strided<[1024, 1], offset: ?>>
      linalg.fill ins(%zero : f32) outs(%s : memref<8xf32>)
      linalg.reduce { arith.addf } ins(%xt : memref<8x1024xf32, strided<[1024, 1], offset: ?>>) outs(%s : memref<8xf32>) dimensions = [1]
      gf.linear %h, %p outs(%z : memref<8x1024xf32>) : memref<8x1024xf32>, memref<16x1024x64xf32>
      linalg.reduce { arith.addf } ins(%z : memref<8x1024xf32>) outs(%s : memref<8xf32>) dimensions = [1]
      linalg.generic {indexing_maps = [affine_map<(r, u) -> (r, u)>, affine_map<(r, u) -> (r)>, affine_map<(r, u) -> (r, u)>],
                      iterator_types = ["parallel", "parallel"]}
          ins(%z, %s : memref<8x1024xf32>, memref<8xf32>) outs(%h : memref<8x1024xf32>) {
      ^bb0(%value: f32, %sum: f32, %before: f32):
        %difference = arith.subf %value, %sum : f32
        linalg.yield %difference : f32
      }
    }
    linalg.copy ins(%h : memref<8x1024xf32>) outs(%out : memref<8x1024xf32>)
    return
  }
}

// -----

// All blocks pack weights, too.
// CHECK-LABEL: func @gatefold_prepare_entry(
// CHECK: scf.forall (%[[RANK:.*]]) in (%{{.*}})
// CHECK: memref.subview %{{.*}}[%{{.*}}, 0, 0]
// CHECK: gf.pack
// TEAM-LABEL: func @gatefold_prepare_entry(
// TEAM: gf.team_rank
// TEAM: gf.pack
module attributes {gf.target = {block_threads = 256 : i64, multiprocessors = 108 : i64}} {
  func.func @gatefold_prepare_entry(%w: memref<1024x512xf32>, %p: memref<16x512x64xf32>) {
    gf.pack %w along 0 into %p : memref<1024x512xf32> into memref<16x512x64xf32>
    return
  }
  func.func @gatefold_run_entry(%x: memref<4096xf32>) {
    linalg.exp ins(%x : memref<4096xf32>) outs(%x : memref<4096xf32>)
    return
  }
}

// -----

// A CPU packs them with one thread.
// CHECK-LABEL: func @gatefold_prepare_entry(
// CHECK-NOT: scf.forall
// CHECK-LABEL: func @gatefold_run_entry(
func.func @gatefold_prepare_entry(%w: memref<1024x512xf32>, %p: memref<16x512x64xf32>) {
  gf.pack %w along 0 into %p : memref<1024x512xf32> into memref<16x512x64xf32>
  return
}
func.func @gatefold_run_entry(%x: memref<4096xf32>) {
  linalg.exp ins(%x : memref<4096xf32>) outs(%x : memref<4096xf32>)
  return
}
