// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --pass-pipeline='builtin.module(func.func(gf-linalg-to-vectors),cse)' --split-input-file | FileCheck %s
// A module without a target has 8 lanes of f32.

// Full vectors, then what is left under a mask; the row's scalar is loaded once.
// CHECK-LABEL: func @scaled_rows
// CHECK-SAME: %[[X:[^:]*]]: memref<?x?xf32, strided<[?, 1], offset: ?>>, %[[S:[^:]*]]: memref<?xf32>, %[[Y:[^:]*]]: memref<?x?xf32>
#rows = affine_map<(i, j) -> (i, j)>
#first = affine_map<(i, j) -> (i)>
func.func @scaled_rows(%x: memref<?x?xf32, strided<[?, 1], offset: ?>>, %s: memref<?xf32>, %y: memref<?x?xf32>) {
  // CHECK: %[[N:.*]] = memref.dim %[[X]], %c1
  // CHECK: %[[REST:.*]] = arith.remui %[[N]], %c8
  // CHECK: %[[FULL:.*]] = arith.subi %[[N]], %[[REST]]
  // CHECK: scf.for %[[I:[^ ]*]] =
  // CHECK-NEXT: %[[SCALE:.*]] = memref.load %[[S]][%[[I]]]
  // CHECK: scf.for %[[J:[^ ]*]] = %c0{{.*}} to %[[FULL]] step %c8
  // CHECK-NEXT: %[[V:.*]] = vector.load %[[X]][%[[I]], %[[J]]] : {{.*}}, vector<8xf32>
  // CHECK-NEXT: %[[B:.*]] = vector.broadcast %[[SCALE]] : f32 to vector<8xf32>
  // CHECK-NEXT: %[[P:.*]] = arith.mulf %[[V]], %[[B]] : vector<8xf32>
  // CHECK-NEXT: vector.store %[[P]], %[[Y]][%[[I]], %[[J]]]
  // CHECK: %[[ISLEFT:.*]] = arith.cmpi ult, %[[FULL]], %[[N]]
  // CHECK-NEXT: scf.if %[[ISLEFT]]
  // CHECK: %[[LEFT:.*]] = arith.subi %[[N]], %[[FULL]]
  // CHECK-NEXT: %[[MASK:.*]] = vector.create_mask %[[LEFT]] : vector<8xi1>
  // CHECK: vector.maskedload %[[X]][%[[I]], %[[FULL]]], %[[MASK]]
  // CHECK: arith.mulf {{.*}} : vector<8xf32>
  // CHECK-NEXT: vector.maskedstore %[[Y]][%[[I]], %[[FULL]]], %[[MASK]]
  linalg.generic {indexing_maps = [#rows, #first, #rows], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : memref<?x?xf32, strided<[?, 1], offset: ?>>, memref<?xf32>) outs(%y : memref<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %out: f32):
    %0 = arith.mulf %a, %b : f32
    linalg.yield %0 : f32
  }
  return
}

// -----

// All is one row whose length is a multiple of the lanes: no tail. A constant and
// several results; bools are bytes.
// CHECK-LABEL: func @joined
#all = affine_map<(i, j, k) -> (i, j, k)>
func.func @joined(%x: memref<?x?x16xf32>, %y: memref<?x?x16xf32>, %sign: memref<?x?x16xi1>) {
  // CHECK-DAG: %[[X:.*]] = memref.collapse_shape %{{.*}} {{\[\[}}0, 1, 2]] : memref<?x?x16xf32> into memref<?xf32>
  // CHECK-DAG: %[[SIGN:.*]] = memref.collapse_shape %{{.*}} {{\[\[}}0, 1, 2]] : memref<?x?x16xi1> into memref<?xi1>
  // CHECK: scf.for
  // CHECK-NOT: scf.for
  // CHECK: vector.load {{.*}} : memref<?xf32>, vector<8xf32>
  // CHECK: %[[C:.*]] = arith.cmpf ogt, {{.*}} : vector<8xf32>
  // CHECK: %[[BYTES:.*]] = arith.extui %[[C]] : vector<8xi1> to vector<8xi8>
  // CHECK: vector.store %[[BYTES]], {{.*}} : memref<?xi8>, vector<8xi8>
  // CHECK-NOT: mask
  // CHECK: return
  %zero = arith.constant 0.0 : f32
  linalg.generic {indexing_maps = [#all, #all, #all], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%x : memref<?x?x16xf32>) outs(%y, %sign : memref<?x?x16xf32>, memref<?x?x16xi1>) {
  ^bb0(%a: f32, %o: f32, %p: i1):
    %0 = arith.cmpf ogt, %a, %zero : f32
    %1 = arith.select %0, %a, %zero : f32
    linalg.yield %1, %0 : f32, i1
  }
  return
}

// -----

// The index of a lane; a table's row for each token.
// CHECK-LABEL: func @embedding
// CHECK-SAME: %[[T:[^:]*]]: memref<?xi64>, %[[TABLE:[^:]*]]: memref<?x64xf32>, %[[Y:[^:]*]]: memref<?x64xf32>
#places = affine_map<(t, e) -> (t)>
#element = affine_map<(t, e) -> (t, e)>
func.func @embedding(%t: memref<?xi64>, %table: memref<?x64xf32>, %y: memref<?x64xf32>) {
  // CHECK: scf.for %[[I:[^ ]*]] =
  // CHECK-NEXT: %[[TOKEN:.*]] = memref.load %[[T]][%[[I]]]
  // CHECK-NEXT: %[[ROW:.*]] = arith.index_cast %[[TOKEN]] : i64 to index
  // CHECK: scf.for %[[E:[^ ]*]] =
  // CHECK: vector.load %[[TABLE]][%[[ROW]], %[[E]]]
  // CHECK: vector.store {{.*}}, %[[Y]][%[[I]], %[[E]]]
  linalg.generic {indexing_maps = [#places, #element], iterator_types = ["parallel", "parallel"]}
      ins(%t : memref<?xi64>) outs(%y : memref<?x64xf32>) {
  ^bb0(%token: i64, %out: f32):
    %row = arith.index_cast %token : i64 to index
    %e = linalg.index 1 : index
    %0 = memref.load %table[%row, %e] : memref<?x64xf32>
    linalg.yield %0 : f32
  }
  return
}

// -----

// One pass of a softmax: a row is stored and summed. The tuple of accumulators turns.
// CHECK-LABEL: func @exp_sum
// CHECK-SAME: %[[S:[^:]*]]: memref<?x?xf32>, %[[M:[^:]*]]: memref<?xf32>, %[[SUM:[^:]*]]: memref<?xf32>
#row = affine_map<(i, j) -> (i, j)>
#value = affine_map<(i, j) -> (i)>
func.func @exp_sum(%s: memref<?x?xf32>, %m: memref<?xf32>, %sum: memref<?xf32>) {
  // CHECK: scf.for %[[I:[^ ]*]] =
  // CHECK-NEXT: %[[MAX:.*]] = memref.load %[[M]][%[[I]]]
  // CHECK-NEXT: %[[NEUTRAL:.*]] = arith.constant dense<-0.000000e+00> : vector<8xf32>
  // CHECK: %[[A:.*]]:4 = scf.for {{.*}} iter_args(%[[A0:[^ ]*]] = %[[NEUTRAL]], %[[A1:[^ ]*]] = %[[NEUTRAL]], %[[A2:[^ ]*]] = %[[NEUTRAL]], %[[A3:[^ ]*]] = %[[NEUTRAL]])
  // CHECK: %[[E:.*]] = math.exp {{.*}} : vector<8xf32>
  // CHECK: %[[NEXT:.*]] = arith.addf %[[A0]], %[[E]]
  // CHECK: vector.store %[[E]], %[[S]]
  // CHECK: scf.yield %[[A1]], %[[A2]], %[[A3]], %[[NEXT]]
  // CHECK: %[[B:.*]]:4 = scf.if
  // CHECK: %[[LAST:.*]] = arith.addf %[[A]]#0,
  // CHECK-NEXT: vector.maskedstore
  // CHECK-NEXT: %[[KEPT:.*]] = arith.select %{{.*}}, %[[LAST]], %[[A]]#0
  // CHECK-NEXT: scf.yield %[[A]]#1, %[[A]]#2, %[[A]]#3, %[[KEPT]]
  // CHECK: %[[EVEN:.*]] = arith.addf %[[B]]#0, %[[B]]#2
  // CHECK: %[[ODD:.*]] = arith.addf %[[B]]#1, %[[B]]#3
  // CHECK: arith.addf %[[EVEN]], %[[ODD]]
  // CHECK: %[[BEFORE:.*]] = memref.load %[[SUM]][%[[I]]]
  // CHECK: vector.shuffle {{.*}} [0, 1, 2, 3]
  // CHECK: vector.shuffle {{.*}} [4, 5, 6, 7]
  // CHECK: %[[ROW:.*]] = vector.extract
  // CHECK: arith.addf %[[BEFORE]], %[[ROW]] : f32
  linalg.generic {indexing_maps = [#value, #row, #value], iterator_types = ["parallel", "reduction"]}
      ins(%m : memref<?xf32>) outs(%s, %sum : memref<?x?xf32>, memref<?xf32>) {
  ^bb0(%max: f32, %score: f32, %total: f32):
    %0 = arith.subf %score, %max : f32
    %1 = math.exp %0 : f32
    %2 = arith.addf %total, %1 : f32
    linalg.yield %1, %2 : f32, f32
  }
  return
}

// -----

// A maximum keeps its operation; cheap bodies are copied four times.
// CHECK-LABEL: func @maximum
func.func @maximum(%x: memref<?xf32>, %y: memref<f32>) {
  // CHECK: arith.constant dense<0xFF800000> : vector<8xf32>
  // CHECK: scf.for {{.*}} step %c32
  // CHECK-COUNT-4: arith.maximumf {{.*}} : vector<8xf32>
  // CHECK: scf.for {{.*}} step %c8
  // CHECK: arith.maximumf {{.*}} : f32
  linalg.reduce { arith.maximumf } ins(%x : memref<?xf32>) outs(%y : memref<f32>) dimensions = [0]
  return
}

// -----

// Reduced along the outer dimension: the accumulators of four vectors are values.
// CHECK-LABEL: func @columns
// CHECK-SAME: %[[X:[^:]*]]: memref<?x64xf32>, %[[Y:[^:]*]]: memref<64xf32>
func.func @columns(%x: memref<?x64xf32>, %y: memref<64xf32>) {
  // CHECK: scf.for %[[J:[^ ]*]] = {{.*}} step %c32
  // CHECK-COUNT-4: vector.load %[[Y]]
  // CHECK: scf.for %[[I:[^ ]*]] = {{.*}} iter_args(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
  // CHECK: vector.load %[[X]][%[[I]], %[[J]]]
  // CHECK-COUNT-4: vector.store {{.*}}, %[[Y]]
  linalg.reduce { arith.addf } ins(%x : memref<?x64xf32>) outs(%y : memref<64xf32>) dimensions = [0]
  return
}

// -----

// Lanes that are apart are gathered where the body is worth it.
// CHECK-LABEL: func @gathered
func.func @gathered(%x: memref<64xf32, strided<[?]>>, %y: memref<64xf32>) {
  // CHECK: vector.gather {{.*}} into vector<8xf32>
  // CHECK: math.tanh {{.*}} : vector<8xf32>
  linalg.tanh ins(%x : memref<64xf32, strided<[?]>>) outs(%y : memref<64xf32>)
  return
}

// -----

// A choice is hidden from LLVM, which makes masked stores of those in place; the
// types of halves in memory are integers.
// CHECK-LABEL: func @choice
func.func @choice(%c: memref<64xbf16>, %s: memref<64xf32>) {
  // CHECK: vector.load {{.*}} : memref<64xi16>, vector<8xi16>
  // CHECK-NEXT: arith.bitcast {{.*}} : vector<8xi16> to vector<8xbf16>
  // CHECK: %[[CHOICE:.*]] = arith.select
  // CHECK-NEXT: %[[FROZEN:.*]] = llvm.freeze %[[CHOICE]] : vector<8xf32>
  // CHECK-NEXT: vector.store %[[FROZEN]]
  %zero = arith.constant 0.0 : bf16
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%c : memref<64xbf16>) outs(%s : memref<64xf32>) {
  ^bb0(%a: bf16, %old: f32):
    %0 = arith.cmpf ogt, %a, %zero : bf16
    %1 = arith.negf %old : f32
    %2 = arith.select %0, %1, %old : f32
    linalg.yield %2 : f32
  }
  return
}

// -----

// A product in a sum is rounded once; named operations have bodies too.
// CHECK-LABEL: func @product
func.func @product(%a: memref<?x?xf32>, %b: memref<?x64xf32>, %c: memref<?x64xf32>) {
  // CHECK: scf.for {{.*}} step %c32
  // CHECK: scf.for {{.*}} iter_args
  // CHECK: %[[A:.*]] = memref.load
  // CHECK: %[[ALL:.*]] = vector.broadcast %[[A]] : f32 to vector<8xf32>
  // CHECK-COUNT-4: math.fma %[[ALL]], {{.*}} : vector<8xf32>
  linalg.matmul ins(%a, %b : memref<?x?xf32>, memref<?x64xf32>) outs(%c : memref<?x64xf32>)
  return
}

// -----

// A loop of the body steps for all lanes at once; what it carries varies.
// CHECK-LABEL: func @ranks
// CHECK-SAME: %[[X:[^:]*]]: memref<?xf32>
func.func @ranks(%x: memref<?xf32>, %rank: memref<?xi64>, %n: index) {
  // CHECK: %[[MINE:.*]] = vector.load %[[X]]
  // CHECK: %[[COUNT:.*]] = scf.for %[[K:.*]] = {{.*}} iter_args(%[[SOFAR:.*]] = %{{.*}}) -> (vector<8xi64>)
  // CHECK-NEXT: %[[OTHER:.*]] = memref.load %[[X]][%[[K]]]
  // CHECK-NEXT: %[[ALL:.*]] = vector.broadcast %[[OTHER]]
  // CHECK-NEXT: %[[MORE:.*]] = arith.cmpf ogt, %[[ALL]], %[[MINE]] : vector<8xf32>
  // CHECK-NEXT: %[[ONE:.*]] = arith.extui %[[MORE]]
  // CHECK-NEXT: arith.addi %[[SOFAR]], %[[ONE]]
  // CHECK: vector.store %[[COUNT]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0 : i64
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : memref<?xf32>) outs(%rank : memref<?xi64>) {
  ^bb0(%a: f32, %old: i64):
    %r = scf.for %k = %c0 to %n step %c1 iter_args(%count = %zero) -> (i64) {
      %b = memref.load %x[%k] : memref<?xf32>
      %more = arith.cmpf ogt, %b, %a : f32
      %one = arith.extui %more : i1 to i64
      %next = arith.addi %count, %one : i64
      scf.yield %next : i64
    }
    linalg.yield %r : i64
  }
  return
}

// -----

// 4 columns of 8 rows are turned over in registers; what is left of the columns is
// gathered, what is left of the rows masked.
// CHECK-LABEL: func @transposition
// CHECK-SAME: %[[X:[^:]*]]: memref<?x?xf32>, %[[Y:[^:]*]]: memref<?x?xf32>
func.func @transposition(%x: memref<?x?xf32>, %y: memref<?x?xf32>) {
  // CHECK: scf.for %[[J:[^ ]*]] = {{.*}} step %c8
  // CHECK: scf.for %[[I:[^ ]*]] = {{.*}} step %c4
  // CHECK-COUNT-2: vector.load %[[X]][{{.*}}, %[[I]]] : memref<?x?xf32>, vector<4xf32>
  // CHECK: vector.shuffle {{.*}} [0, 1, 2, 3, 4, 5, 6, 7] : vector<4xf32>, vector<4xf32>
  // CHECK: vector.shuffle {{.*}} [0, 8, 1, 9, 4, 12, 5, 13] : vector<8xf32>, vector<8xf32>
  // CHECK-COUNT-4: vector.store %{{.*}}, %[[Y]][{{.*}}, %[[J]]] : memref<?x?xf32>, vector<8xf32>
  // CHECK: scf.for
  // CHECK: vector.gather
  // CHECK: scf.if
  // CHECK: arith.minsi
  // CHECK-COUNT-4: vector.maskedstore
  linalg.transpose ins(%x : memref<?x?xf32>) outs(%y : memref<?x?xf32>) permutation = [1, 0]
  return
}

// -----

// Each lane keeps its best and where that was. Of two choices the better one holds, and
// of equal ones the one before.
// CHECK-LABEL: func @arg_max
// CHECK-SAME: %[[ROW:[^:]*]]: memref<?xf32>, %[[V:[^:]*]]: memref<f32>, %[[P:[^:]*]]: memref<i64>
func.func @arg_max(%row: memref<?xf32>, %v: memref<f32>, %p: memref<i64>) {
  // CHECK: %[[BEFORE:.*]] = memref.load %[[V]][]
  // CHECK: vector.broadcast %[[BEFORE]] : f32 to vector<8xf32>
  // CHECK: scf.for
  // CHECK: %[[LARGER:.*]] = arith.cmpf ogt, {{.*}} : vector<8xf32>
  // CHECK: arith.select %[[LARGER]], {{.*}} : vector<8xi1>, vector<8xf32>
  // CHECK: arith.select %[[LARGER]], {{.*}} : vector<8xi1>, vector<8xi64>
  // CHECK: %[[RIGHT:.*]] = arith.cmpf ogt, {{.*}} : f32
  // CHECK: %[[LEFT:.*]] = arith.cmpf ogt, {{.*}} : f32
  // CHECK: %[[FIRST:.*]] = arith.cmpi slt, {{.*}} : i64
  // CHECK: %[[EQUAL:.*]] = arith.select %[[LEFT]], %[[RIGHT]], %[[FIRST]] : i1
  // CHECK: %[[TAKES:.*]] = arith.ori %[[RIGHT]], %[[EQUAL]]
  // CHECK: arith.select %[[TAKES]]
  // CHECK: arith.select %[[TAKES]]
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%row : memref<?xf32>) outs(%v, %p : memref<f32>, memref<i64>) {
  ^bb0(%a: f32, %best: f32, %place: i64):
    %i = linalg.index 0 : index
    %here = arith.index_cast %i : index to i64
    %0 = arith.cmpf ogt, %a, %best : f32
    %1 = arith.select %0, %a, %best : f32
    %2 = arith.select %0, %here, %place : i64
    linalg.yield %1, %2 : f32, i64
  }
  return
}

// -----

// No vector form: the last of equal ones, results with gaps.
// CHECK-LABEL: func @left
func.func @left(%v: memref<f32>, %p: memref<i64>, %row: memref<?xf32>, %gaps: memref<?xf32, strided<[?]>>) {
  // CHECK: linalg.generic
  linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%row : memref<?xf32>) outs(%v, %p : memref<f32>, memref<i64>) {
  ^bb0(%a: f32, %best: f32, %place: i64):
    %i = linalg.index 0 : index
    %here = arith.index_cast %i : index to i64
    %0 = arith.cmpf oge, %a, %best : f32
    %1 = arith.select %0, %a, %best : f32
    %2 = arith.select %0, %here, %place : i64
    linalg.yield %1, %2 : f32, i64
  }
  // CHECK: linalg.copy
  linalg.copy ins(%row : memref<?xf32>) outs(%gaps : memref<?xf32, strided<[?]>>)
  return
}

// -----

// A scan: the state is a vector from step to step, four at once since each step waits for the one
// before; what it is at each step is stored. No lanes go along the steps, although these are side
// by side where there is one column.
// CHECK-LABEL: func @scan
// CHECK: %[[C32:.*]] = arith.constant 32 : index
// CHECK: scf.for {{.*}} step %[[C32]]
// CHECK-COUNT-4: vector.load {{.*}} : memref<?x?xf32>, vector<8xf32>
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK: %[[M:.*]] = arith.mulf {{.*}} : vector<8xf32>
// CHECK-NEXT: %[[NEXT:.*]] = arith.addf %[[M]], {{.*}} : vector<8xf32>
// CHECK: vector.store %[[NEXT]]
// CHECK-LABEL: func @running_sum
// CHECK-NOT: vector
// CHECK: return
#all = affine_map<(i, t, j) -> (i, t, j)>
#state = affine_map<(i, t, j) -> (i, j)>
func.func @scan(%a: memref<?x?x?xf32>, %b: memref<?x?x?xf32>, %y: memref<?x?x?xf32>, %s: memref<?x?xf32>) {
  linalg.generic {indexing_maps = [#all, #all, #all, #state], iterator_types = ["parallel", "reduction", "parallel"]}
      ins(%a, %b : memref<?x?x?xf32>, memref<?x?x?xf32>) outs(%y, %s : memref<?x?x?xf32>, memref<?x?xf32>) {
  ^bb0(%x: f32, %z: f32, %out: f32, %h: f32):
    %0 = arith.mulf %x, %h : f32
    %1 = arith.addf %0, %z : f32
    linalg.yield %1, %1 : f32, f32
  }
  return
}
#row = affine_map<(i, t) -> (i, t)>
#sum = affine_map<(i, t) -> (i)>
func.func @running_sum(%x: memref<?x?xf32>, %y: memref<?x?xf32>, %s: memref<?xf32, strided<[2]>>) {
  linalg.generic {indexing_maps = [#row, #row, #sum], iterator_types = ["parallel", "reduction"]}
      ins(%x : memref<?x?xf32>) outs(%y, %s : memref<?x?xf32>, memref<?xf32, strided<[2]>>) {
  ^bb0(%a: f32, %out: f32, %h: f32):
    %1 = arith.addf %h, %a : f32
    linalg.yield %h, %1 : f32, f32
  }
  return
}

// -----

// No vector is longer than any processor's, whatever a module says.
// CHECK-LABEL: func @endless_vectors(
// CHECK: vector<64xf32>
// CHECK-NOT: vector<{{[0-9][0-9][0-9]+}}xf32>
module attributes {gf.target = {vector_bytes = 2147483648 : i64, vector_registers = 2147483648 : i64}} {
  func.func @endless_vectors(%x: memref<?xf32>, %y: memref<?xf32>) {
    linalg.exp ins(%x : memref<?xf32>) outs(%y : memref<?xf32>)
    return
  }
}
