// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-decompose-tensors --gf-fuse-pointwise --canonicalize --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-decompose-tensors --gf-fuse-pointwise --split-input-file --remark-format=emitRemark --remarks-filter=gf-fuse-pointwise 2>&1 | FileCheck %s --check-prefix=REMARK

// The pointwise part of a cell: one operation, whose results are those that others use.
// CHECK-LABEL: func @cell
// CHECK-SAME: %[[F:.*]]: tensor<?x8xf32>, %[[C:.*]]: tensor<?x8xf32>, %[[G:.*]]: tensor<?x8xf32>
// CHECK: %[[R:.*]]:2 = linalg.generic {{.*}} ins(%[[F]], %[[C]], %[[G]] : {{.*}})
// CHECK: math.exp
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: %[[NEXT:.*]] = math.tanh
// CHECK: linalg.yield %{{.*}}, %[[NEXT]]
// CHECK-NOT: linalg.generic
// CHECK: return %[[R]]#0, %[[R]]#1
// REMARK: remark: {{.*}}4 operations in one pass over memory
func.func @cell(%f: tensor<?x8xf32>, %c: tensor<?x8xf32>, %g: tensor<?x8xf32>)
    -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  %e = math.exp %f : tensor<?x8xf32>
  %m = arith.mulf %e, %c : tensor<?x8xf32>
  %next = arith.addf %m, %g : tensor<?x8xf32>
  %h = math.tanh %next : tensor<?x8xf32>
  return %next, %h : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// A softmax: the powers and their sum are one operation with a result of each shape; what
// reads the sum stands behind it.
#id = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (i)>
// CHECK-LABEL: func @softmax
// CHECK: linalg.generic
// CHECK: arith.maximumf
// CHECK: %[[P:.*]]:2 = linalg.generic {{.*}} iterator_types = ["parallel", "reduction"]
// CHECK: %[[POWER:.*]] = math.exp
// CHECK: %[[SUM:.*]] = arith.addf %{{.*}}, %[[POWER]]
// CHECK: linalg.yield %[[POWER]], %[[SUM]]
// CHECK: linalg.generic {{.*}} ins(%[[P]]#0, %[[P]]#1
// CHECK: arith.divf
// CHECK-NOT: linalg.generic
func.func @softmax(%s: tensor<?x?xf32>, %m: index, %n: index) -> tensor<?x?xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %column = tensor.empty(%m) : tensor<?xf32>
  %whole = tensor.empty(%m, %n) : tensor<?x?xf32>
  %lows = linalg.fill ins(%low : f32) outs(%column : tensor<?xf32>) -> tensor<?xf32>
  %greatest = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%s : tensor<?x?xf32>) outs(%lows : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %x = arith.maximumf %o, %a : f32
    linalg.yield %x : f32
  } -> tensor<?xf32>
  %d = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%s, %greatest : tensor<?x?xf32>, tensor<?xf32>) outs(%whole : tensor<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %x = arith.subf %a, %b : f32
    linalg.yield %x : f32
  } -> tensor<?x?xf32>
  %p = math.exp %d : tensor<?x?xf32>
  %zeros = linalg.fill ins(%zero : f32) outs(%column : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%p : tensor<?x?xf32>) outs(%zeros : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %x = arith.addf %o, %a : f32
    linalg.yield %x : f32
  } -> tensor<?xf32>
  %y = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
      ins(%p, %sum : tensor<?x?xf32>, tensor<?xf32>) outs(%whole : tensor<?x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %x = arith.divf %a, %b : f32
    linalg.yield %x : f32
  } -> tensor<?x?xf32>
  return %y : tensor<?x?xf32>
}

// -----

// A value on a smaller space is computed there, once; a broadcast of it is not stored.
// CHECK-LABEL: func @smaller
// CHECK-SAME: %[[V:.*]]: tensor<8xf32>
// CHECK: %[[E:.*]] = linalg.generic {{.*}} iterator_types = ["parallel"]} ins(%[[V]]
// CHECK: math.exp
// CHECK: linalg.generic {{.*}} iterator_types = ["parallel", "parallel"]} ins(%{{.*}}, %[[E]] : tensor<?x8xf32>, tensor<8xf32>)
// CHECK-NOT: linalg.generic
func.func @smaller(%v: tensor<8xf32>, %x: tensor<?x8xf32>, %d: index) -> tensor<?x8xf32> {
  %e = math.exp %v : tensor<8xf32>
  %empty = tensor.empty(%d) : tensor<?x8xf32>
  %wide = linalg.broadcast ins(%e : tensor<8xf32>) outs(%empty : tensor<?x8xf32>) dimensions = [0]
  %y = arith.mulf %x, %wide : tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// -----

// What leaves and comes back keeps the operations apart.
// CHECK-LABEL: func @around
// CHECK: linalg.generic
// CHECK: math.exp
// CHECK: tensor.extract_slice
// CHECK: tensor.insert_slice
// CHECK: linalg.generic
// CHECK: arith.addf
func.func @around(%x: tensor<16xf32>, %z: tensor<16xf32>) -> tensor<16xf32> {
  %a = math.exp %x : tensor<16xf32>
  %s = tensor.extract_slice %a[0] [8] [1] : tensor<16xf32> to tensor<8xf32>
  %b = tensor.insert_slice %s into %z[8] [8] [1] : tensor<8xf32> into tensor<16xf32>
  %y = arith.addf %a, %b : tensor<16xf32>
  return %y : tensor<16xf32>
}

// -----

// A reader between the operations moves behind the one that they become.
// CHECK-LABEL: func @between
// CHECK: %[[R:.*]]:2 = linalg.generic
// CHECK: tensor.extract_slice %[[R]]#0
func.func @between(%x: tensor<16xf32>) -> (tensor<8xf32>, tensor<16xf32>) {
  %a = math.exp %x : tensor<16xf32>
  %s = tensor.extract_slice %a[0] [8] [1] : tensor<16xf32> to tensor<8xf32>
  %y = arith.addf %a, %x : tensor<16xf32>
  return %s, %y : tensor<8xf32>, tensor<16xf32>
}

// -----

// Open sizes are the same where both come from the same place, not where they may differ.
// CHECK-LABEL: func @sizes
// CHECK-SAME: %[[X:.*]]: tensor<?xf32>, %[[Y:.*]]: tensor<?xf32>
// CHECK: linalg.generic {{.*}} ins(%[[X]] : tensor<?xf32>)
// CHECK: linalg.generic {{.*}} ins(%[[Y]] : tensor<?xf32>)
func.func @sizes(%x: tensor<?xf32>, %y: tensor<?xf32>) -> (tensor<?xf32>, tensor<?xf32>) {
  %a = math.exp %x : tensor<?xf32>
  %b = math.exp %y : tensor<?xf32>
  return %a, %b : tensor<?xf32>, tensor<?xf32>
}

// -----

// A state that a step writes in its place: what is fused with that reads it first, and it
// is written at the end.
#id = affine_map<(i) -> (i)>
// CHECK-LABEL: func @state
// CHECK: scf.for {{.*}} iter_args(%[[S:.*]] = %{{.*}})
// CHECK: %[[NEXT:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<8xf32>)
// CHECK: %[[WRITTEN:.*]] = bufferization.materialize_in_destination %[[NEXT]] in %[[S]]
// CHECK-NEXT: scf.yield %[[WRITTEN]]
func.func @state(%h: tensor<8xf32>, %t: index, %valid: i1) -> tensor<8xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %last = scf.for %i = %c0 to %t step %c1 iter_args(%s = %h) -> tensor<8xf32> {
    %new = math.tanh %s : tensor<8xf32>
    %next = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
        ins(%new : tensor<8xf32>) outs(%s : tensor<8xf32>) {
    ^bb0(%a: f32, %old: f32):
      %x = arith.select %valid, %a, %old : f32
      linalg.yield %x : f32
    } -> tensor<8xf32>
    scf.yield %next : tensor<8xf32>
  }
  return %last : tensor<8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// The slice reads the first operation, which is computed where the third one is, behind the
// second: so what reads the slice cannot be computed with the second.
// CHECK-LABEL: func @around_what_moves
// CHECK-SAME: %[[A:.*]]: tensor<8xf32>, %[[C:.*]]: tensor<4xf32>, %{{.*}}: index
func.func @around_what_moves(%a: tensor<8xf32>, %c: tensor<4xf32>, %i: index) -> (tensor<8xf32>, tensor<4xf32>) {
  // CHECK: %[[SECOND:.*]] = linalg.generic {{.*}} ins(%[[C]] : tensor<4xf32>)
  // CHECK: tensor.pad %[[SECOND]]
  // CHECK: %[[BOTH:.*]]:2 = linalg.generic
  // CHECK: math.exp
  // CHECK: arith.addf
  // CHECK: %[[SLICE:.*]] = tensor.extract_slice %[[BOTH]]#
  // CHECK: linalg.generic {{.*}} ins(%[[SLICE]], %[[C]]
  %zero = arith.constant 0.0 : f32
  %e8 = tensor.empty() : tensor<8xf32>
  %e4 = tensor.empty() : tensor<4xf32>
  %first = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%a : tensor<8xf32>) outs(%e8 : tensor<8xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = math.exp %x : f32
    linalg.yield %y : f32
  } -> tensor<8xf32>
  %slice = tensor.extract_slice %first[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
  %second = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%c : tensor<4xf32>) outs(%e4 : tensor<4xf32>) {
  ^bb0(%x: f32, %o: f32):
    %y = math.tanh %x : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  %padded = tensor.pad %second low[4] high[0] {
  ^bb0(%place: index):
    tensor.yield %zero : f32
  } : tensor<4xf32> to tensor<8xf32>
  %third = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
      ins(%padded, %a : tensor<8xf32>, tensor<8xf32>) outs(%e8 : tensor<8xf32>) {
  ^bb0(%x: f32, %z: f32, %o: f32):
    %y = arith.addf %x, %z : f32
    linalg.yield %y : f32
  } -> tensor<8xf32>
  %last = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
      ins(%slice, %c : tensor<4xf32>, tensor<4xf32>) outs(%e4 : tensor<4xf32>) {
  ^bb0(%x: f32, %z: f32, %o: f32):
    %y = arith.mulf %x, %z : f32
    linalg.yield %y : f32
  } -> tensor<4xf32>
  return %third, %last : tensor<8xf32>, tensor<4xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>
#all = affine_map<(d0) -> ()>

// A tensor that one operation alone reads, and overwrites, stays in its place in a group, too.
// CHECK-LABEL: func @overwritten
// CHECK-SAME: %[[A:.*]]: tensor<8xf32>, %[[SUM:.*]]: tensor<f32>
func.func @overwritten(%a: tensor<8xf32>, %sum: tensor<f32>) -> (tensor<8xf32>, tensor<f32>) {
  // CHECK: %[[MADE:.*]] = linalg.matmul
  // CHECK: %[[SCORES:.*]] = tensor.collapse_shape %[[MADE]]
  // CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[A]] : tensor<8xf32>) outs(%[[SCORES]], %[[SUM]] : tensor<8xf32>, tensor<f32>)
  // CHECK-NEXT: ^bb0(%[[X:.*]]: f32, %[[OLD:.*]]: f32, %[[ADDED:.*]]: f32):
  // CHECK-NEXT: %[[NEW:.*]] = arith.addf %[[OLD]], %[[X]]
  // CHECK-NEXT: arith.addf %[[ADDED]], %[[NEW]]
  %e = tensor.empty() : tensor<1x8xf32>
  %m = tensor.empty() : tensor<1x1xf32>
  %r = tensor.expand_shape %a [[0, 1]] output_shape [1, 8] : tensor<8xf32> into tensor<1x8xf32>
  %made = linalg.matmul ins(%m, %r : tensor<1x1xf32>, tensor<1x8xf32>) outs(%e : tensor<1x8xf32>) -> tensor<1x8xf32>
  %scores = tensor.collapse_shape %made [[0, 1]] : tensor<1x8xf32> into tensor<8xf32>
  %first = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
      ins(%a : tensor<8xf32>) outs(%scores : tensor<8xf32>) {
  ^bb0(%x: f32, %old: f32):
    %y = arith.addf %old, %x : f32
    linalg.yield %y : f32
  } -> tensor<8xf32>
  %last = linalg.generic {indexing_maps = [#row, #all], iterator_types = ["reduction"]}
      ins(%first : tensor<8xf32>) outs(%sum : tensor<f32>) {
  ^bb0(%x: f32, %o: f32):
    %y = arith.addf %o, %x : f32
    linalg.yield %y : f32
  } -> tensor<f32>
  return %first, %last : tensor<8xf32>, tensor<f32>
}

// -----

// The size of no dimension is none that is known.
// CHECK-LABEL: func @no_dimension(
// CHECK: linalg.generic
#map = affine_map<(i, j) -> (i, j)>
func.func @no_dimension(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %c = arith.constant -1 : index
  %size = tensor.dim %x, %c : tensor<?x8xf32>
  %e = tensor.empty(%size) : tensor<?x8xf32>
  %y = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%x : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: f32, %out: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}

// All of no elements are true, whatever the elements: only where there are some for certain does
// an `and` with false begin from nothing.
// CHECK-LABEL: func @of_no_elements
func.func @of_no_elements(%n: index) -> (tensor<i1>, tensor<i1>) {
  // CHECK-DAG: %[[FALSE:.*]] = arith.constant false
  // CHECK-DAG: %[[TRUE:.*]] = arith.constant true
  // CHECK: %[[STARTED:.*]] = linalg.fill ins(%[[TRUE]] : i1)
  // CHECK: linalg.generic {{.*}}"reduction"{{.*}} outs(%[[STARTED]] : tensor<i1>)
  // CHECK: linalg.yield %[[FALSE]]
  // CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<i1>
  // CHECK: linalg.generic {{.*}}"reduction"{{.*}} outs(%[[EMPTY]] : tensor<i1>)
  // CHECK: linalg.yield %[[FALSE]]
  %false = arith.constant false
  %true = arith.constant true
  %e = tensor.empty() : tensor<i1>
  %start = linalg.fill ins(%true : i1) outs(%e : tensor<i1>) -> tensor<i1>
  %e1 = tensor.empty(%n) : tensor<?xi1>
  %open = linalg.fill ins(%false : i1) outs(%e1 : tensor<?xi1>) -> tensor<?xi1>
  %e2 = tensor.empty() : tensor<3xi1>
  %three = linalg.fill ins(%false : i1) outs(%e2 : tensor<3xi1>) -> tensor<3xi1>
  %a = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%open : tensor<?xi1>) outs(%start : tensor<i1>) {
  ^bb0(%in: i1, %out: i1):
    %all = arith.andi %in, %out : i1
    linalg.yield %all : i1
  } -> tensor<i1>
  %b = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["reduction"]} ins(%three : tensor<3xi1>) outs(%start : tensor<i1>) {
  ^bb0(%in: i1, %out: i1):
    %all = arith.andi %in, %out : i1
    linalg.yield %all : i1
  } -> tensor<i1>
  return %a, %b : tensor<i1>, tensor<i1>
}
