// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-reduce-in-warps --canonicalize | FileCheck %s
// RUN: gatefold-opt %s --gf-reduce-in-warps --gf-linalg-to-loops=parallel | FileCheck %s --check-prefix=LOOPS

// A warp for a row. Each lane has eight partial results that change places, and
// loads four elements at once as long as there are so many; the partial results
// are joined as a tree, and then the lanes are.
// CHECK-LABEL: func @row_sum(
// CHECK-SAME: %[[X:.*]]: memref<?x512xf32>, %[[Y:.*]]: memref<?xf32>)
// CHECK-DAG: %[[NEUTRAL:.*]] = arith.constant -0.000000e+00 : f32
// CHECK-DAG: %[[C32:.*]] = arith.constant 32 : index
// CHECK-DAG: %[[C512:.*]] = arith.constant 512 : index
// CHECK: %[[THREAD:.*]] = gpu.thread_id x
// CHECK: %[[LANE:.*]] = arith.remui %[[THREAD]], %[[C32]]
// CHECK: scf.parallel (%[[ROW:.*]]) =
// CHECK: %[[MOST:.*]]:9 = scf.for %{{.*}} = %[[LANE]] to %c416 step %c128 iter_args(%[[AT:[^ ]*]] = %[[LANE]], %[[FIRST:[^ ]*]] = %[[NEUTRAL]]
// CHECK-NEXT: %[[VALUE:.*]] = memref.load %[[X]][%[[ROW]], %[[AT]]]
// CHECK-NEXT: arith.addf %[[FIRST]], %[[VALUE]]
// CHECK-NEXT: %[[AFTER:.*]] = arith.addi %[[AT]], %[[C32]]
// CHECK-NEXT: memref.load %[[X]][%[[ROW]], %[[AFTER]]]
// CHECK: %[[PART:.*]]:8 = scf.for %[[K:[^ ]*]] = %[[MOST]]#0 to %[[C512]] step %[[C32]] iter_args(%[[FIRST:[^ ]*]] = %[[MOST]]#1
// CHECK-NEXT: %[[VALUE:.*]] = memref.load %[[X]][%[[ROW]], %[[K]]]
// CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[FIRST]], %[[VALUE]]
// CHECK-NEXT: scf.yield {{.*}}, %[[NEXT]] :
// CHECK: arith.addf %[[PART]]#0, %[[PART]]#4
// CHECK: arith.addf %[[PART]]#3, %[[PART]]#7
// CHECK: %[[SUM:.*]] = arith.bitcast %{{.*}} : f32 to i32
// CHECK: gpu.shuffle xor %[[SUM]], %c16_i32, %c32_i32 : i32
// CHECK: gpu.shuffle xor %{{.*}}, %c8_i32
// CHECK: gpu.shuffle xor %{{.*}}, %c4_i32
// CHECK: gpu.shuffle xor %{{.*}}, %c2_i32
// CHECK: gpu.shuffle xor %{{.*}}, %c1_i32
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[LANE]], %c0
// CHECK: scf.if %[[IS_FIRST]]
// CHECK: memref.load %[[Y]][%[[ROW]]]
// CHECK: memref.store %{{.*}}, %[[Y]][%[[ROW]]]
// CHECK: gf.executor = "warp"
func.func @row_sum(%x: memref<?x512xf32>, %y: memref<?xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<?x512xf32>) outs(%y : memref<?xf32>) dimensions = [1]
  return
}

// Two partial results of each lane where a row has no more than 64 columns;
// numbers of 64 bits are handed over as two words.
// CHECK-LABEL: func @short_rows(
// CHECK: %[[PART:.*]]:2 = scf.for
// CHECK: arith.maximumf %[[PART]]#0, %[[PART]]#1
// CHECK: %[[BITS:.*]] = arith.bitcast %{{.*}} : f64 to i64
// CHECK-DAG: arith.trunci %[[BITS]] : i64 to i32
// CHECK-DAG: arith.shrui %[[BITS]]
// CHECK-COUNT-10: gpu.shuffle xor
func.func @short_rows(%x: memref<8x5x40xf64>, %y: memref<8x5xf64>) {
  linalg.reduce { arith.maximumf } ins(%x : memref<8x5x40xf64>) outs(%y : memref<8x5xf64>) dimensions = [2]
  return
}

// Long rows: if there are fewer than warps, all warps have strips of one, and the
// first joins them, in the same order as above.
// CHECK-LABEL: func @long_rows(
// CHECK-SAME: gf.shared_bytes = 1024 : i64, passthrough = ["convergent"]
// CHECK: %[[WARP:.*]] = arith.divui %{{.*}}, %c32
// CHECK: %[[WARPS:.*]] = arith.divui %{{.*}}, %c32
// CHECK: %[[IS_FEW:.*]] = arith.cmpi ult, %{{.*}}, %[[WARPS]]
// CHECK: scf.if %[[IS_FEW]] {
// CHECK: scf.parallel
// CHECK: %[[SHARED:.*]] = gpu.dynamic_shared_memory
// CHECK: %[[PLACES:.*]] = memref.view %[[SHARED]]
// CHECK: gpu.barrier
// CHECK-NEXT: scf.for %{{.*}} = %[[WARP]] to %c8 step %[[WARPS]]
// CHECK: scf.for %{{.*}} = %[[FIRST:.*]] to %c3328 step %c1024
// CHECK: scf.for %{{.*}} to %c4096 step %c256
// CHECK: memref.store %{{.*}}, %[[PLACES]][%[[FIRST]]]
// CHECK: gpu.barrier
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[WARP]], %c0
// CHECK-NEXT: scf.if %[[IS_FIRST]]
// CHECK-COUNT-8: memref.load %[[PLACES]]
// CHECK: gpu.shuffle
// CHECK: gf.executor = "block"
// CHECK: } else {
// CHECK: scf.parallel
// CHECK: gf.executor = "warp"
func.func @long_rows(%x: memref<?x4096xf32>, %y: memref<?xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<?x4096xf32>) outs(%y : memref<?xf32>) dimensions = [1]
  return
}

// All of a tensor is one row, of which two dimensions are joined. A sum of
// products begins with -0, and partial sums are added.
// CHECK-LABEL: func @norm(
// CHECK: scf.for %{{.*}} = %{{.*}} to %c1280 step %c1024 iter_args(%[[K:[^ ]*]] =
// CHECK-NEXT: %[[COLUMN:.*]] = arith.remui %[[K]], %c64
// CHECK-NEXT: %[[ROW:.*]] = arith.divui %[[K]], %c64
// CHECK-NEXT: %[[V:.*]] = memref.load %{{.*}}[%[[ROW]], %[[COLUMN]]]
// CHECK-NEXT: math.fma %[[V]], %[[V]],
// CHECK: arith.addf
func.func @norm(%x: memref<32x64xf32>, %y: memref<f32>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> ()>],
                  iterator_types = ["reduction", "reduction"]}
      ins(%x : memref<32x64xf32>) outs(%y : memref<f32>) {
  ^bb0(%v: f32, %sum: f32):
    %next = math.fma %v, %v, %sum : f32
    linalg.yield %next : f32
  }
  return
}

// Of two places the first one that is largest; all lanes have read what was
// there before when one writes.
// CHECK-LABEL: func @largest(
// CHECK: scf.parallel
// CHECK: memref.load %{{.*}} : memref<?xf32>
// CHECK: memref.load %{{.*}} : memref<?xi64>
// CHECK: scf.for
// CHECK: gpu.shuffle
// CHECK: nvvm.bar.warp.sync
// CHECK: scf.if
func.func @largest(%x: memref<?x100xf32>, %best: memref<?xf32>, %place: memref<?xi64>) {
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x100xf32>) outs(%best, %place : memref<?xf32>, memref<?xi64>) {
  ^bb0(%v: f32, %most: f32, %at: i64):
    %index = linalg.index 1 : index
    %here = arith.index_cast %index : index to i64
    %larger = arith.cmpf ogt, %v, %most : f32
    %next = arith.select %larger, %v, %most : f32
    %found = arith.select %larger, %here, %at : i64
    linalg.yield %next, %found : f32, i64
  }
  return
}

// Columns lie side by side for threads that have one each; rows of 16 leave half of
// a warp without work; of a number that is subtracted from there are no partial
// results; of a product of matrices several rows share each operand; and what a
// sum is at each step is known in order alone.
// LOOPS-LABEL: func @left(
// LOOPS-NOT: gf.executor
// LOOPS-COUNT-5: scf.parallel
// LOOPS-NOT: gf.executor
func.func @left(%x: memref<?x512xf32>, %y: memref<512xf32>, %z: memref<?x16xf32>, %w: memref<?xf32>, %s: memref<?x?xf32>) {
  linalg.reduce { arith.addf } ins(%x : memref<?x512xf32>) outs(%y : memref<512xf32>) dimensions = [0]
  linalg.reduce { arith.addf } ins(%z : memref<?x16xf32>) outs(%w : memref<?xf32>) dimensions = [1]
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x512xf32>) outs(%w : memref<?xf32>) {
  ^bb0(%v: f32, %old: f32):
    %next = arith.subf %v, %old : f32
    linalg.yield %next : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j, k) -> (i, k)>, affine_map<(i, j, k) -> (j, k)>, affine_map<(i, j, k) -> (i, j)>],
                  iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%x, %x : memref<?x512xf32>, memref<?x512xf32>) outs(%s : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %sum: f32):
    %next = math.fma %a, %b, %sum : f32
    linalg.yield %next : f32
  }
  linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
                  iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x512xf32>) outs(%x, %w : memref<?x512xf32>, memref<?xf32>) {
  ^bb0(%v: f32, %out: f32, %sum: f32):
    %next = arith.addf %v, %sum : f32
    linalg.yield %sum, %next : f32, f32
  }
  return
}
