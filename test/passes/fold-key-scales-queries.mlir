// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-fold-key-scales --canonicalize --cse --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-fold-key-scales --split-input-file --remark-format=emitRemark --remarks-filter=gf-fold-key-scales -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark:

#whole = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#column = affine_map<(d0, d1, d2) -> (d2)>
#row = affine_map<(d0, d1, d2) -> (d0, d1)>

// Before heads are split: a row for all of them is one for each, and a number of the queries is
// done in the row, where it meets the scale of the keys.
// REMARK: remark: {{.*}}scale of the queries, before the attention, done in its rows
// REMARK: remark: {{.*}}scale of the keys, before the attention, moved to the query
// CHECK-LABEL: func @before_heads
// CHECK-SAME: %[[Q:.*]]: tensor<?x?x16xf32>, %[[K:.*]]: tensor<?x?x16xf32>, %[[B:.*]]: tensor<16xf32>
func.func @before_heads(%q: tensor<?x?x16xf32>, %k: tensor<?x?x16xf32>, %b: tensor<16xf32>) -> tensor<?x2x?x8xf32> {
  // CHECK-DAG: %[[QS:.*]] = tensor.expand_shape %[[Q]]
  // CHECK-DAG: %[[QT:.*]] = linalg.transpose ins(%[[QS]]
  // CHECK-DAG: %[[KS:.*]] = tensor.expand_shape %[[K]]
  // CHECK-DAG: %[[KT:.*]] = linalg.transpose ins(%[[KS]]
  // CHECK-DAG: %[[BS:.*]] = tensor.expand_shape %[[B]] {{.*}} : tensor<16xf32> into tensor<2x8xf32>
  // CHECK: gf.attention queries(%[[QT]] : {{.*}}) keys(%[[KT]] : {{.*}}) captures(%[[BS]] : tensor<2x8xf32>)
  // CHECK: ^row(%[[QR:.*]]: tensor<8xf32>, %[[KR:.*]]: tensor<?x8xf32>, %[[BR:.*]]: tensor<8xf32>, %{{.*}}: index
  // CHECK: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[QR]] :
  // CHECK: arith.mulf
  // CHECK: %[[BOTH:.*]] = linalg.generic {{.*}} ins(%[[SCALED]], %[[BR]]
  // CHECK: gf.row_scores %[[BOTH]], %[[KR]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %eighth = arith.constant 0.125 : f32
  %batch = tensor.dim %q, %c0 : tensor<?x?x16xf32>
  %t = tensor.dim %q, %c1 : tensor<?x?x16xf32>
  %n = tensor.dim %k, %c1 : tensor<?x?x16xf32>
  %eq = tensor.empty(%batch, %t) : tensor<?x?x16xf32>
  %ek = tensor.empty(%batch, %n) : tensor<?x?x16xf32>
  %qa = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%q : tensor<?x?x16xf32>) outs(%eq : tensor<?x?x16xf32>) {
  ^bb0(%x: f32, %o: f32):
    %m = arith.mulf %x, %eighth : f32
    linalg.yield %m : f32
  } -> tensor<?x?x16xf32>
  %kb = linalg.generic {indexing_maps = [#whole, #column, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%k, %b : tensor<?x?x16xf32>, tensor<16xf32>) outs(%ek : tensor<?x?x16xf32>) {
  ^bb0(%x: f32, %f: f32, %o: f32):
    %m = arith.mulf %x, %f : f32
    linalg.yield %m : f32
  } -> tensor<?x?x16xf32>
  %qs = tensor.expand_shape %qa [[0], [1], [2, 3]] output_shape [%batch, %t, 2, 8] : tensor<?x?x16xf32> into tensor<?x?x2x8xf32>
  %ks = tensor.expand_shape %kb [[0], [1], [2, 3]] output_shape [%batch, %n, 2, 8] : tensor<?x?x16xf32> into tensor<?x?x2x8xf32>
  %eqt = tensor.empty(%batch, %t) : tensor<?x2x?x8xf32>
  %ekt = tensor.empty(%batch, %n) : tensor<?x2x?x8xf32>
  %qt = linalg.transpose ins(%qs : tensor<?x?x2x8xf32>) outs(%eqt : tensor<?x2x?x8xf32>) permutation = [0, 2, 1, 3]
  %kt = linalg.transpose ins(%ks : tensor<?x?x2x8xf32>) outs(%ekt : tensor<?x2x?x8xf32>) permutation = [0, 2, 1, 3]
  %y = gf.attention queries(%qt : tensor<?x2x?x8xf32>) keys(%kt : tensor<?x2x?x8xf32>) -> tensor<?x2x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %i: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %v = tensor.empty(%n) : tensor<?x8xf32>
    %one = arith.constant 1.0 : f32
    %ones = linalg.fill ins(%one : f32) outs(%v : tensor<?x8xf32>) -> tensor<?x8xf32>
    %r = gf.row_values %p, %ones : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  return %y : tensor<?x2x?x8xf32>
}

// -----

#whole = affine_map<(d0, d1) -> (d0, d1)>
#of_query = affine_map<(d0, d1) -> (d0)>

// A number of each query is done in the row. What is as large as the queries is no scale of them, and
// scaled queries that are returned are stored anyway.
// REMARK: remark: {{.*}}scale of the queries, before the attention, done in its rows
// REMARK: remark: {{.*}}scale of the queries stays: the scaled queries are read elsewhere too
// CHECK-LABEL: func @of_queries
// CHECK-SAME: %[[A:[a-z0-9]*]]: tensor<?x8xf32>, %[[B:[a-z0-9]*]]: tensor<?x8xf32>, %[[C:[a-z0-9]*]]: tensor<?x8xf32>, %[[K:.*]]: tensor<?x8xf32>, %[[EACH:.*]]: tensor<?xf32>
func.func @of_queries(%a: tensor<?x8xf32>, %b: tensor<?x8xf32>, %c: tensor<?x8xf32>, %k: tensor<?x8xf32>, %each: tensor<?xf32>)
    -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK: %[[GATED:.*]] = linalg.generic {{.*}} ins(%[[B]], %[[A]]
  // CHECK: %[[KEPT:.*]] = linalg.generic {{.*}} ins(%[[C]], %[[EACH]]
  // CHECK: gf.attention queries(%[[A]], %[[GATED]], %[[KEPT]], %[[EACH]] : {{.*}}tensor<?xf32>)
  %c0 = arith.constant 0 : index
  %t = tensor.dim %a, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%t) : tensor<?x8xf32>
  %scaled = linalg.generic {indexing_maps = [#whole, #of_query, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%a, %each : tensor<?x8xf32>, tensor<?xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%x: f32, %f: f32, %o: f32):
    %m = arith.divf %x, %f : f32
    linalg.yield %m : f32
  } -> tensor<?x8xf32>
  %gated = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%b, %a : tensor<?x8xf32>, tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%x: f32, %f: f32, %o: f32):
    %m = arith.mulf %x, %f : f32
    linalg.yield %m : f32
  } -> tensor<?x8xf32>
  %kept = linalg.generic {indexing_maps = [#whole, #of_query, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%c, %each : tensor<?x8xf32>, tensor<?xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%x: f32, %f: f32, %o: f32):
    %m = arith.mulf %x, %f : f32
    linalg.yield %m : f32
  } -> tensor<?x8xf32>
  %y = gf.attention queries(%scaled, %gated, %kept : tensor<?x8xf32>, tensor<?x8xf32>, tensor<?x8xf32>)
      keys(%k : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^row(%ar: tensor<8xf32>, %br: tensor<8xf32>, %cr: tensor<8xf32>, %kr: tensor<?x8xf32>, %i: index, %position: index):
    %s = gf.row_scores %ar, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %s2 = gf.row_scores %br, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p2 = gf.row_softmax %s2 : tensor<?xf32>
    %s3 = gf.row_scores %cr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p3 = gf.row_softmax %s3 : tensor<?xf32>
    %sum = arith.addf %p, %p2 : tensor<?xf32>
    %all = arith.addf %sum, %p3 : tensor<?xf32>
    %r = gf.row_values %all, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  return %y, %kept : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

#whole = affine_map<(d0, d1) -> (d0, d1)>

// Queries that are the same at every step are scaled before the steps, once.
// CHECK-LABEL: func @of_all_steps
// CHECK-SAME: %[[Q:.*]]: tensor<3x8xf32>
func.func @of_all_steps(%q: tensor<3x8xf32>, %x: tensor<?x1x8xf32>, %s: tensor<1x8xf32>) -> tensor<1x8xf32> {
  // CHECK: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[Q]] :
  // CHECK: gf.recurrence
  // CHECK: gf.attention queries(%[[SCALED]] :
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<3x8xf32>
  %scaled = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%q : tensor<3x8xf32>) outs(%e : tensor<3x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.mulf %a, %half : f32
    linalg.yield %m : f32
  } -> tensor<3x8xf32>
  %last = gf.recurrence sequences(%x : tensor<?x1x8xf32>) states(%s : tensor<1x8xf32>) time_axis 0 {
  ^step(%step: tensor<1x8xf32>, %state: tensor<1x8xf32>):
    %y = gf.attention queries(%scaled : tensor<3x8xf32>) keys(%step : tensor<1x8xf32>) -> tensor<3x8xf32> {
    ^row(%qr: tensor<8xf32>, %kr: tensor<1x8xf32>, %i: index, %position: index):
      %p = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<1x8xf32> -> tensor<1xf32>
      %w = gf.row_softmax %p : tensor<1xf32>
      %r = gf.row_values %w, %kr : tensor<1xf32>, tensor<1x8xf32> -> tensor<8xf32>
      gf.yield %r : tensor<8xf32>
    }
    %first = tensor.extract_slice %y[0, 0] [1, 8] [1, 1] : tensor<3x8xf32> to tensor<1x8xf32>
    %next = arith.addf %state, %first : tensor<1x8xf32>
    gf.yield %next : tensor<1x8xf32>
  }
  return %last : tensor<1x8xf32>
}
