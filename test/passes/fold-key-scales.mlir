// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-fold-key-scales --canonicalize --cse --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-fold-key-scales --split-input-file --remark-format=emitRemark --remarks-filter=gf-fold-key-scales -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark:

#row = affine_map<(d0) -> (d0)>
#keys = affine_map<(d0, d1) -> (d0, d1)>
#of_row = affine_map<(d0, d1) -> (d1)>

// Two maps with scales of their own read the same keys; scales of one shape are multiplied
// before the attention.
// REMARK: remark: {{.*}}scale of the keys moved to the query
// REMARK: remark: {{.*}}scale of the keys moved to the query
// CHECK-LABEL: func @maps
// CHECK-SAME: %[[Q:.*]]: tensor<4x?x8xf32>, %[[K:.*]]: tensor<4x?x8xf32>, %[[A:[a-z0-9]*]]: tensor<4x8xf32>, %[[B:[a-z0-9]*]]: tensor<4x8xf32>, %[[C:[a-z0-9]*]]: tensor<8xf32>
func.func @maps(%q: tensor<4x?x8xf32>, %k: tensor<4x?x8xf32>, %a: tensor<4x8xf32>, %b: tensor<4x8xf32>,
                %c: tensor<8xf32>) -> tensor<4x?x8xf32> {
  // CHECK: %[[AB:.*]] = linalg.generic {{.*}} ins(%[[A]], %[[B]] : tensor<4x8xf32>
  // CHECK-NEXT: ^bb0
  // CHECK-NEXT: arith.mulf
  // CHECK: gf.attention queries(%[[Q]] : {{.*}}) keys(%[[K]] : tensor<4x?x8xf32>) captures(%[[C]], %[[AB]] :
  // CHECK: ^row(%[[QR:.*]]: tensor<8xf32>, %[[KR:.*]]: tensor<?x8xf32>, %[[CR:.*]]: tensor<8xf32>, %[[ABR:.*]]: tensor<8xf32>, %{{.*}}: index
  // CHECK: %[[FIRST:.*]] = linalg.generic {{.*}} ins(%[[QR]], %[[ABR]]
  // CHECK: gf.row_scores %[[FIRST]], %[[KR]]
  // CHECK: %[[SECOND:.*]] = linalg.generic {{.*}} ins(%[[QR]], %[[CR]]
  // CHECK: arith.divf
  // CHECK: gf.row_scores %[[SECOND]], %[[KR]]
  %c1 = arith.constant 1 : index
  %n = tensor.dim %k, %c1 : tensor<4x?x8xf32>
  %y = gf.attention queries(%q : tensor<4x?x8xf32>) keys(%k : tensor<4x?x8xf32>)
      captures(%a, %b, %c : tensor<4x8xf32>, tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %ar: tensor<8xf32>, %br: tensor<8xf32>, %cr: tensor<8xf32>,
       %row: index, %position: index):
    %e = tensor.empty() : tensor<8xf32>
    %ek = tensor.empty(%n) : tensor<?x8xf32>
    %es = tensor.empty(%n) : tensor<?xf32>
    %qa = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%qr, %ar : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%x: f32, %f: f32, %o: f32):
      %m = arith.mulf %x, %f : f32
      linalg.yield %m : f32
    } -> tensor<8xf32>
    %kb = linalg.generic {indexing_maps = [#keys, #of_row, #keys], iterator_types = ["parallel", "parallel"]}
        ins(%kr, %br : tensor<?x8xf32>, tensor<8xf32>) outs(%ek : tensor<?x8xf32>) {
    ^bb0(%x: f32, %f: f32, %o: f32):
      %m = arith.mulf %f, %x : f32
      linalg.yield %m : f32
    } -> tensor<?x8xf32>
    %s1 = gf.row_scores %qa, %kb : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %kc = linalg.generic {indexing_maps = [#keys, #of_row, #keys], iterator_types = ["parallel", "parallel"]}
        ins(%kr, %cr : tensor<?x8xf32>, tensor<8xf32>) outs(%ek : tensor<?x8xf32>) {
    ^bb0(%x: f32, %f: f32, %o: f32):
      %m = arith.divf %x, %f : f32
      linalg.yield %m : f32
    } -> tensor<?x8xf32>
    %s2 = gf.row_scores %qr, %kc : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p1 = gf.row_softmax %s1 : tensor<?xf32>
    %p2 = gf.row_softmax %s2 : tensor<?xf32>
    %d = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%p1, %p2 : tensor<?xf32>, tensor<?xf32>) outs(%es : tensor<?xf32>) {
    ^bb0(%x: f32, %z: f32, %o: f32):
      %m = arith.subf %x, %z : f32
      linalg.yield %m : f32
    } -> tensor<?xf32>
    %r = gf.row_values %d, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  return %y : tensor<4x?x8xf32>
}

// -----

#whole = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#head = affine_map<(d0, d1, d2, d3) -> (d1, 0, d3)>
#sequence = affine_map<(d0, d1, d2, d3) -> (d0)>

// Before the attention, a chain of scales: a row for each key head, which query heads share,
// and a number of each sequence.
// REMARK: remark: {{.*}}scale of the keys, before the attention, moved to the query
// REMARK: remark: {{.*}}scale of the keys, before the attention, moved to the query
// CHECK-LABEL: func @before
// CHECK-SAME: %[[Q:.*]]: tensor<?x2x3x?x8xf32>, %[[K:.*]]: tensor<?x2x?x8xf32>, %[[B:.*]]: tensor<2x1x8xf32>, %[[C:.*]]: tensor<?xf32>
func.func @before(%q: tensor<?x2x3x?x8xf32>, %k: tensor<?x2x?x8xf32>, %b: tensor<2x1x8xf32>, %c: tensor<?xf32>)
    -> tensor<?x2x3x?x8xf32> {
  // CHECK-NOT: linalg.generic
  // CHECK-DAG: %[[KEYS:.*]] = tensor.expand_shape %[[K]]
  // CHECK-DAG: %[[SEQUENCES:.*]] = tensor.expand_shape %[[C]] {{.*}} into tensor<?x1x1xf32>
  // CHECK: gf.attention queries(%[[Q]] : {{.*}}) keys(%[[KEYS]] : {{.*}}) captures(%[[SEQUENCES]], %[[B]] : tensor<?x1x1xf32>, tensor<2x1x8xf32>)
  // CHECK: ^row(%[[QR:.*]]: tensor<8xf32>, %[[KR:.*]]: tensor<?x8xf32>, %[[CR:.*]]: tensor<f32>, %[[BR:.*]]: tensor<8xf32>, %{{.*}}: index
  // CHECK: %[[ONE:.*]] = linalg.generic {{.*}} ins(%[[QR]], %[[CR]]
  // CHECK: %[[BOTH:.*]] = linalg.generic {{.*}} ins(%[[ONE]], %[[BR]]
  // CHECK: gf.row_scores %[[BOTH]], %[[KR]]
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %k, %c0 : tensor<?x2x?x8xf32>
  %n = tensor.dim %k, %c2 : tensor<?x2x?x8xf32>
  %e = tensor.empty(%batch, %n) : tensor<?x2x?x8xf32>
  %kb = linalg.generic {indexing_maps = [#whole, #head, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%k, %b : tensor<?x2x?x8xf32>, tensor<2x1x8xf32>) outs(%e : tensor<?x2x?x8xf32>) {
  ^bb0(%x: f32, %f: f32, %o: f32):
    %m = arith.mulf %x, %f : f32
    linalg.yield %m : f32
  } -> tensor<?x2x?x8xf32>
  %kc = linalg.generic {indexing_maps = [#whole, #sequence, #whole], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%kb, %c : tensor<?x2x?x8xf32>, tensor<?xf32>) outs(%e : tensor<?x2x?x8xf32>) {
  ^bb0(%x: f32, %f: f32, %o: f32):
    %m = arith.mulf %x, %f : f32
    linalg.yield %m : f32
  } -> tensor<?x2x?x8xf32>
  %grouped = tensor.expand_shape %kc [[0], [1, 2], [3], [4]] output_shape [%batch, 2, 1, %n, 8]
      : tensor<?x2x?x8xf32> into tensor<?x2x1x?x8xf32>
  %y = gf.attention queries(%q : tensor<?x2x3x?x8xf32>) keys(%grouped : tensor<?x2x1x?x8xf32>)
      -> tensor<?x2x3x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %v = tensor.empty(%n) : tensor<?x8xf32>
    %one = arith.constant 1.0 : f32
    %ones = linalg.fill ins(%one : f32) outs(%v : tensor<?x8xf32>) -> tensor<?x8xf32>
    %r = gf.row_values %p, %ones : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  return %y : tensor<?x2x3x?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>
#keys = affine_map<(d0, d1) -> (d0, d1)>
#of_row = affine_map<(d0, d1) -> (d1)>

// A scale that each query has makes keys of its own for none.
// REMARK: remark: {{.*}}scale of the keys moved to the query
// CHECK-LABEL: func @of_query
func.func @of_query(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %b: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: ^row(%[[QR:.*]]: tensor<8xf32>, %[[BR:.*]]: tensor<8xf32>, %[[KR:.*]]: tensor<?x8xf32>, %{{.*}}: index
  // CHECK: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[QR]], %[[BR]]
  // CHECK: gf.row_scores %[[SCALED]], %[[KR]]
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q, %b : tensor<?x8xf32>, tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %br: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %ek = tensor.empty(%n) : tensor<?x8xf32>
    %kb = linalg.generic {indexing_maps = [#keys, #of_row, #keys], iterator_types = ["parallel", "parallel"]}
        ins(%kr, %br : tensor<?x8xf32>, tensor<8xf32>) outs(%ek : tensor<?x8xf32>) {
    ^bb0(%x: f32, %f: f32, %o: f32):
      %m = arith.mulf %x, %f : f32
      linalg.yield %m : f32
    } -> tensor<?x8xf32>
    %s = gf.row_scores %qr, %kb : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %r = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

#keys = affine_map<(d0, d1) -> (d0, d1)>
#of_row = affine_map<(d0, d1) -> (d1)>
#along = affine_map<(d0, d1) -> (d0)>

// REMARK: remark: {{.*}}scale of the keys stays: it is another one for each key
// REMARK: remark: {{.*}}scale of the keys stays: the scaled keys are read elsewhere too
// CHECK-LABEL: func @left
func.func @left(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %each: tensor<?xf32>, %b: tensor<8xf32>)
    -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK: %[[OUTSIDE:.*]] = linalg.generic
  // CHECK: gf.attention {{.*}} keys(%[[OUTSIDE]] :
  // CHECK: ^row(%[[QR:.*]]: tensor<8xf32>, %[[KR:.*]]: tensor<?x8xf32>, %[[B:.*]]: tensor<8xf32>
  // CHECK: %[[KB:.*]] = linalg.generic {{.*}} ins(%[[KR]], %[[B]]
  // CHECK: %[[S1:.*]] = gf.row_scores %[[QR]], %[[KR]]
  // CHECK: gf.row_scores %[[QR]], %[[KB]]
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %scaled = linalg.generic {indexing_maps = [#keys, #along, #keys], iterator_types = ["parallel", "parallel"]}
      ins(%k, %each : tensor<?x8xf32>, tensor<?xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%x: f32, %f: f32, %o: f32):
    %m = arith.mulf %x, %f : f32
    linalg.yield %m : f32
  } -> tensor<?x8xf32>
  %y:2 = gf.attention queries(%q : tensor<?x8xf32>) keys(%scaled : tensor<?x8xf32>) captures(%b : tensor<8xf32>)
      -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %br: tensor<8xf32>, %row: index, %position: index):
    %ek = tensor.empty(%n) : tensor<?x8xf32>
    %kb = linalg.generic {indexing_maps = [#keys, #of_row, #keys], iterator_types = ["parallel", "parallel"]}
        ins(%kr, %br : tensor<?x8xf32>, tensor<8xf32>) outs(%ek : tensor<?x8xf32>) {
    ^bb0(%x: f32, %f: f32, %o: f32):
      %m = arith.mulf %x, %f : f32
      linalg.yield %m : f32
    } -> tensor<?x8xf32>
    %s1 = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p1 = gf.row_softmax %s1 : tensor<?xf32>
    %r1 = gf.row_values %p1, %kb : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    %s2 = gf.row_scores %qr, %kb : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p2 = gf.row_softmax %s2 : tensor<?xf32>
    %r2 = gf.row_values %p2, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r1, %r2 : tensor<8xf32>, tensor<8xf32>
  }
  return %y#0, %y#1 : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

#whole = affine_map<(d0, d1) -> (d0, d1)>
#of_row = affine_map<(d0, d1) -> (d1)>
#row = affine_map<(d0) -> (d0)>

// Maps that differed by the place of one scale are one map, which is computed once.
// REMARK: remark: {{.*}}scale of the keys, before the attention, moved to the query
// CHECK-LABEL: func @one
func.func @one(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %b: tensor<8xf32>) -> tensor<?x8xf32> {
  // CHECK: gf.row_softmax
  // CHECK-NOT: gf.row_softmax
  // CHECK: gf.row_values
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%n) : tensor<?x8xf32>
  %kb = linalg.generic {indexing_maps = [#whole, #of_row, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%k, %b : tensor<?x8xf32>, tensor<8xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%x: f32, %f: f32, %o: f32):
    %m = arith.mulf %x, %f : f32
    linalg.yield %m : f32
  } -> tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k, %kb : tensor<?x8xf32>, tensor<?x8xf32>)
      captures(%b : tensor<8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %kbr: tensor<?x8xf32>, %br: tensor<8xf32>, %i: index, %position: index):
    %eq = tensor.empty() : tensor<8xf32>
    %qb = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%qr, %br : tensor<8xf32>, tensor<8xf32>) outs(%eq : tensor<8xf32>) {
    ^bb0(%x: f32, %f: f32, %o: f32):
      %m = arith.mulf %x, %f : f32
      linalg.yield %m : f32
    } -> tensor<8xf32>
    %s1 = gf.row_scores %qb, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p1 = gf.row_softmax %s1 : tensor<?xf32>
    %s2 = gf.row_scores %qr, %kbr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p2 = gf.row_softmax %s2 : tensor<?xf32>
    %es = tensor.empty(%n) : tensor<?xf32>
    %d = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%p1, %p2 : tensor<?xf32>, tensor<?xf32>) outs(%es : tensor<?xf32>) {
    ^bb0(%x: f32, %z: f32, %o: f32):
      %m = arith.subf %x, %z : f32
      linalg.yield %m : f32
    } -> tensor<?xf32>
    %r = gf.row_values %d, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

#whole = affine_map<(d0, d1) -> (d0, d1)>

// A single key times itself: both factors are the key.
// CHECK-LABEL: func @square
func.func @square(%q: tensor<?x8xf32>, %k: tensor<1x8xf32>) -> tensor<?x8xf32> {
  // CHECK: arith.mulf
  // CHECK: gf.attention queries(%{{.*}}) keys(%{{.*}}, %{{.*}}) -> tensor<?x8xf32> {
  // CHECK: gf.row_scores %query, %key_0
  %e = tensor.empty() : tensor<1x8xf32>
  %kk = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%k, %k : tensor<1x8xf32>, tensor<1x8xf32>) outs(%e : tensor<1x8xf32>) {
  ^bb0(%x: f32, %f: f32, %o: f32):
    %m = arith.mulf %x, %f : f32
    linalg.yield %m : f32
  } -> tensor<1x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k, %kk : tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<1x8xf32>, %kkr: tensor<1x8xf32>, %i: index, %position: index):
    %s = gf.row_scores %qr, %kkr : tensor<8xf32>, tensor<1x8xf32> -> tensor<1xf32>
    %p = gf.row_softmax %s : tensor<1xf32>
    %r = gf.row_values %p, %kr : tensor<1xf32>, tensor<1x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}
