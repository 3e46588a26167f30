// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-keep-weights --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-keep-weights --split-input-file --remark-format=emitRemark --remarks-filter=gf-keep-weights -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Steps in blocks: the panels are the same in all of them, and each rank has its own part.
// REMARK: weights stay in shared memory from step to step where a block's part fits in 117760 bytes
module attributes {gf.target = {block_shared_bytes = 166912 : i64, block_threads = 256 : i64}} {
  // CHECK-LABEL: func @steps
  // CHECK-SAME: %[[H:.*]]: memref<?x48xf32>, %[[P:.*]]: memref<3x48x64xf32>, %[[Y:.*]]: memref<?x192xf32>, %[[N:.*]]: index, %[[COUNT:.*]]: index
  func.func @steps(%h: memref<?x48xf32>, %p: memref<3x48x64xf32>, %y: memref<?x192xf32>, %n: index, %count: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c4 = arith.constant 4 : index
    // CHECK-DAG: %[[LONG:.*]] = arith.cmpi sge, %{{.*}}, %c4{{.*}} : index
    // CHECK-DAG: %[[SHARED:.*]] = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    // CHECK: gpu.barrier
    // CHECK: %[[RANK:.*]] = gf.team_rank
    // CHECK: %[[PART:.*]] = memref.subview %[[P]][%[[RANK]], 0, 0] [%[[COUNT]], 48, 64] [1, 1, 1]
    // CHECK: %[[FITS:.*]] = arith.cmpi ule, %{{.*}}, %c117760
    // CHECK: %[[KEPT:.*]] = arith.andi %[[FITS]], %[[LONG]] : i1
    // CHECK: scf.if %[[KEPT]]
    // CHECK: scf.parallel (%[[PANEL:.*]], %[[K:.*]], %[[LANE:.*]]) =
    // 48 rows are three tiles of 16.
    // CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[K]], %c48
    // CHECK: scf.if %[[INSIDE]] -> (f32)
    // CHECK-NEXT: memref.load %[[PART]][%[[PANEL]], %[[K]], %[[LANE]]]
    // CHECK: memref.store %{{.*}}, %{{.*}}[%{{.*}}] : memref<?xf32, #gpu.address_space<workgroup>>
    // CHECK: %[[ALL:.*]] = memref.view %[[SHARED]][%{{.*}}][%{{.*}}, %{{.*}}] : {{.*}} to memref<?x?x64xf32, #gpu.address_space<workgroup>>
    // CHECK: %[[PANELS:.*]] = memref.subview %[[ALL]][0, 0, 0]
    // CHECK: gpu.barrier
    // CHECK: scf.for
    scf.for %b = %c0 to %n step %c4 {
      // CHECK: scf.for
      scf.for %t = %c0 to %c4 step %c1 {
        %rank = gf.team_rank
        %part = memref.subview %p[%rank, 0, 0] [%count, 48, 64] [1, 1, 1] : memref<3x48x64xf32> to memref<?x48x64xf32, strided<[3072, 64, 1], offset: ?>>
        %out = memref.subview %y[0, 0] [5, 64] [1, 1] : memref<?x192xf32> to memref<5x64xf32, strided<[192, 1]>>
        %in = memref.subview %h[0, 0] [5, 48] [1, 1] : memref<?x48xf32> to memref<5x48xf32, strided<[48, 1]>>
        // CHECK: scf.if %[[KEPT]]
        // CHECK-NEXT: gf.linear %{{.*}}, %[[PANELS]] outs({{.*}}) : {{.*}}, memref<?x?x64xf32, strided<[?, 64, 1]>, #gpu.address_space<workgroup>>
        // CHECK-NEXT: } else {
        // CHECK-NEXT: gf.linear
        gf.linear %in, %part outs(%out : memref<5x64xf32, strided<[192, 1]>>) : memref<5x48xf32, strided<[48, 1]>>, memref<?x48x64xf32, strided<[3072, 64, 1], offset: ?>>
        gf.team_barrier
        %from = memref.subview %y[0, 0] [5, 48] [1, 1] : memref<?x192xf32> to memref<5x48xf32, strided<[192, 1]>>
        linalg.copy ins(%from : memref<5x48xf32, strided<[192, 1]>>) outs(%in : memref<5x48xf32, strided<[48, 1]>>)
      }
    }
    // CHECK: } {gf.kept_bytes = 117760 : i64}
    return
  }
}

// -----

// A rank's part follows from how many there are, and of the products of a step the terms are shared: tiles of
// 128 rows.
// REMARK: weights stay in shared memory from step to step where a block's part fits in 117760 bytes
module attributes {gf.target = {block_shared_bytes = 166912 : i64, block_threads = 256 : i64}} {
  // CHECK-LABEL: func @ranks
  func.func @ranks(%h: memref<5x192xf32>, %p: memref<12x192x16xf32>, %y: memref<5x192xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c12 = arith.constant 12 : index
    %size = gf.team_size
    // CHECK: %[[PART:.*]] = arith.divui %c12, %{{.*}} : index
    // CHECK: memref.subview %{{.*}}[%[[PART]], 0, 0] [1, 192, 16]
    // CHECK: scf.parallel
    // CHECK: arith.remui %{{.*}}, %c128
    // CHECK: arith.muli %{{.*}}, %c256
    // CHECK: scf.for
    scf.for %t = %c0 to %n step %c1 {
      %each = arith.divui %c12, %size : index
      %part = memref.subview %p[%each, 0, 0] [1, 192, 16] [1, 1, 1] : memref<12x192x16xf32> to memref<1x192x16xf32, strided<[3072, 16, 1], offset: ?>>
      %out = memref.subview %y[0, 0] [5, 16] [1, 1] : memref<5x192xf32> to memref<5x16xf32, strided<[192, 1]>>
      // CHECK: scf.if
      // CHECK-NEXT: gf.linear {{.*}}#gpu.address_space<workgroup>>
      gf.linear %h, %part outs(%out : memref<5x16xf32, strided<[192, 1]>>) {gf.step} : memref<5x192xf32>, memref<1x192x16xf32, strided<[3072, 16, 1], offset: ?>>
      gf.team_barrier
      linalg.copy ins(%y : memref<5x192xf32>) outs(%h : memref<5x192xf32>)
    }
    return
  }
}

// -----

// No x is handed on: blocks of queries with the panels of their keys.
// CHECK-LABEL: func @blocks
// CHECK-NOT: gpu.dynamic_shared_memory
func.func @blocks(%q: memref<?x64xf32>, %p: memref<?x64x64xf32>, %y: memref<?x?xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  scf.for %i = %c0 to %n step %c8 {
    %in = memref.subview %q[%i, 0] [8, 64] [1, 1] : memref<?x64xf32> to memref<8x64xf32, strided<[64, 1], offset: ?>>
    %m = memref.dim %y, %c0 : memref<?x?xf32>
    %out = memref.subview %y[%i, 0] [8, %m] [1, 1] : memref<?x?xf32> to memref<8x?xf32, strided<[?, 1], offset: ?>>
    gf.linear %in, %p outs(%out : memref<8x?xf32, strided<[?, 1], offset: ?>>) : memref<8x64xf32, strided<[64, 1], offset: ?>>, memref<?x64x64xf32>
  }
  return
}

// -----

// Packed anew in each step.
// REMARK: weights are read from global memory in each step, since they are others in each step
// CHECK-LABEL: func @changing
// CHECK-NOT: gpu.dynamic_shared_memory
module attributes {gf.target = {block_shared_bytes = 166912 : i64, block_threads = 256 : i64}} {
  func.func @changing(%h: memref<8x64xf32>, %w: memref<64x64xf32>, %p: memref<1x64x64xf32>, %y: memref<8x64xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %t = %c0 to %n step %c1 {
      gf.pack %w along 0 into %p : memref<64x64xf32> into memref<1x64x64xf32>
      gf.linear %h, %p outs(%y : memref<8x64xf32>) : memref<8x64xf32>, memref<1x64x64xf32>
      linalg.copy ins(%y : memref<8x64xf32>) outs(%h : memref<8x64xf32>)
    }
    return
  }
}

// -----

// A step's product whose x is computed in the step, and one whose panels are too many for a block: 3072 rows of 64 numbers.
// REMARK: weights stay in shared memory from step to step where a block's part fits in 117760 bytes
// REMARK: weights are read from global memory in each step, since a block that has all of them needs 786432 bytes of shared memory, and has 117760 for them
// REMARK: weights are read from global memory in each step, since a block's part takes at least 786432 bytes of shared memory, and has 117760 for them
// CHECK-LABEL: func @room
module attributes {gf.target = {block_shared_bytes = 166912 : i64, block_threads = 256 : i64, multiprocessors = 2 : i64}} {
  func.func @room(%h: memref<5x16xf32>, %p: memref<1x16x16xf32>, %y: memref<5x16xf32>, %x: memref<5x3072xf32>, %q: memref<1x3072x64xf32>, %all: memref<2x3072x64xf32>, %z: memref<5x64xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    // CHECK: gf.linear {{.*}} memref<?x?x16xf32, {{.*}}#gpu.address_space<workgroup>>
    // CHECK-NEXT: } else {
    // CHECK-NOT: #gpu.address_space<workgroup>
    // CHECK: return
    scf.for %t = %c0 to %n step %c1 {
      linalg.exp ins(%y : memref<5x16xf32>) outs(%h : memref<5x16xf32>)
      gf.linear %h, %p outs(%y : memref<5x16xf32>) {gf.step} : memref<5x16xf32>, memref<1x16x16xf32>
      gf.linear %x, %q outs(%z : memref<5x64xf32>) {gf.step} : memref<5x3072xf32>, memref<1x3072x64xf32>
      %part = memref.subview %all[%c0, 0, 0] [%c1, 3072, 64] [1, 1, 1] : memref<2x3072x64xf32> to memref<?x3072x64xf32, strided<[196608, 64, 1], offset: ?>>
      gf.linear %x, %part outs(%z : memref<5x64xf32>) {gf.step} : memref<5x3072xf32>, memref<?x3072x64xf32, strided<[196608, 64, 1], offset: ?>>
    }
    return
  }
}

// -----

// What a block of rows is computed from is written in each turn, before the products: nothing is handed on.
// REMARK-NOT: weights
// CHECK-LABEL: func @rows
// CHECK-NOT: gpu.dynamic_shared_memory
module attributes {gf.target = {block_shared_bytes = 166912 : i64, block_threads = 256 : i64}} {
  func.func @rows(%x: memref<?x64xf32>, %in: memref<8x64xf32>, %p: memref<1x64x64xf32>, %y: memref<8x64xf32>, %n: index) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    scf.for %t = %c0 to %n step %c1 {
      %rows = memref.subview %x[%t, 0] [8, 64] [1, 1] : memref<?x64xf32> to memref<8x64xf32, strided<[64, 1], offset: ?>>
      linalg.copy ins(%rows : memref<8x64xf32, strided<[64, 1], offset: ?>>) outs(%in : memref<8x64xf32>)
      gf.linear %in, %p outs(%y : memref<8x64xf32>) : memref<8x64xf32>, memref<1x64x64xf32>
      linalg.copy ins(%y : memref<8x64xf32>) outs(%in : memref<8x64xf32>)
      gf.linear %in, %p outs(%y : memref<8x64xf32>) : memref<8x64xf32>, memref<1x64x64xf32>
    }
    return
  }
}
