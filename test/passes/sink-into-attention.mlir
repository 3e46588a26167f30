// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-sink-into-attention --canonicalize --cse --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-sink-into-attention --split-input-file --remark-format=emitRemark --remarks-filter=gf-sink-into-attention -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark:

#whole = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#query = affine_map<(d0, d1, d2) -> (d0, d1)>
#one = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
#column = affine_map<(d0, d1, d2) -> (d2)>
#head = affine_map<(d0, d1, d2) -> (d0)>

// A norm with a gain, a factor of each head and a gate: all but the transposition, which puts
// rows of heads side by side.
// REMARK: remark: {{.*}}attention: 6 operations that follow it are done in its rows
// CHECK-LABEL: func @norm
// CHECK-SAME: %[[Q:.*]]: tensor<2x?x8xf32>, %[[K:.*]]: tensor<2x?x8xf32>, %[[GAIN:.*]]: tensor<8xf32>, %[[HEADS:.*]]: tensor<2xf32>, %[[GATE:.*]]: tensor<2x?x8xf32>
func.func @norm(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %gain: tensor<8xf32>, %heads: tensor<2xf32>,
                %gate: tensor<2x?x8xf32>) -> tensor<?x2x8xf32> {
  // CHECK: %[[Y:.*]] = gf.attention queries(%[[Q]], %[[GATE]] : {{.*}}) keys(%[[K]] : {{.*}}) captures(%[[GAIN]], %[[HEADS]] : tensor<8xf32>, tensor<2xf32>) causal
  // CHECK: ^row(%{{.*}}: tensor<8xf32>, %[[GATER:.*]]: tensor<8xf32>, %{{.*}}: tensor<?x8xf32>, %[[GAINR:.*]]: tensor<8xf32>, %[[HEADR:.*]]: tensor<f32>, %[[ROW:[a-z]*]]: index
  // CHECK: %[[R:.*]] = gf.row_values
  // CHECK: %[[SQUARES:.*]] = linalg.generic {{.*}}iterator_types = ["reduction"]} ins(%[[R]], %[[R]] : {{.*}}) outs(%{{.*}} : tensor<f32>)
  // CHECK: %[[ROOT:.*]] = linalg.generic {{.*}}iterator_types = []} ins(%[[SQUARES]] : tensor<f32>)
  // CHECK: math.sqrt
  // CHECK: %[[NORM:.*]] = linalg.generic {{.*}} ins(%[[R]], %[[ROOT]] : tensor<8xf32>, tensor<f32>)
  // CHECK: %[[GAINED:.*]] = linalg.generic {{.*}} ins(%[[NORM]], %[[GAINR]] :
  // CHECK: %[[SCALED:.*]] = linalg.generic {{.*}} ins(%[[GAINED]], %[[HEADR]] :
  // CHECK: arith.index_cast %[[ROW]]
  // CHECK: %[[GATED:.*]] = linalg.generic {{.*}} ins(%[[SCALED]], %[[GATER]] :
  // CHECK: gf.yield %[[GATED]]
  // CHECK: linalg.transpose ins(%[[Y]]
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %eps = arith.constant 1.0e-5 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %y = gf.attention queries(%q : tensor<2x?x8xf32>) keys(%k : tensor<2x?x8xf32>) causal -> tensor<2x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %r = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  %e2 = tensor.empty(%t) : tensor<2x?xf32>
  %e3 = tensor.empty(%t) : tensor<2x?x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x?xf32>) -> tensor<2x?xf32>
  %squares = linalg.generic {indexing_maps = [#whole, #whole, #query], iterator_types = ["parallel", "parallel", "reduction"]}
      ins(%y, %y : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%f : tensor<2x?xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    %n = arith.addf %o, %m : f32
    linalg.yield %n : f32
  } -> tensor<2x?xf32>
  %wide = tensor.expand_shape %squares [[0], [1, 2]] output_shape [2, %t, 1] : tensor<2x?xf32> into tensor<2x?x1xf32>
  %e1 = tensor.empty(%t) : tensor<2x?x1xf32>
  %root = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%wide : tensor<2x?x1xf32>) outs(%e1 : tensor<2x?x1xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.addf %a, %eps : f32
    %m = math.sqrt %n : f32
    linalg.yield %m : f32
  } -> tensor<2x?x1xf32>
  %norm = linalg.generic {indexing_maps = [#whole, #one, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%y, %root : tensor<2x?x8xf32>, tensor<2x?x1xf32>) outs(%e3 : tensor<2x?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.divf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<2x?x8xf32>
  %gained = linalg.generic {indexing_maps = [#whole, #column, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%norm, %gain : tensor<2x?x8xf32>, tensor<8xf32>) outs(%e3 : tensor<2x?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<2x?x8xf32>
  %scaled = linalg.generic {indexing_maps = [#whole, #head, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%gained, %heads : tensor<2x?x8xf32>, tensor<2xf32>) outs(%e3 : tensor<2x?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    %x = arith.sitofp %j : i64 to f32
    %c = arith.mulf %x, %b : f32
    %m = arith.mulf %a, %c : f32
    linalg.yield %m : f32
  } -> tensor<2x?x8xf32>
  %gated = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%scaled, %gate : tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%e3 : tensor<2x?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<2x?x8xf32>
  %narrow = tensor.expand_shape %gated [[0], [1], [2, 3]] output_shape [2, %t, 8, 1] : tensor<2x?x8xf32> into tensor<2x?x8x1xf32>
  %back = tensor.collapse_shape %narrow [[0], [1], [2, 3]] : tensor<2x?x8x1xf32> into tensor<2x?x8xf32>
  %et = tensor.empty(%t) : tensor<?x2x8xf32>
  %z = linalg.transpose ins(%back : tensor<2x?x8xf32>) outs(%et : tensor<?x2x8xf32>) permutation = [1, 0, 2]
  return %z : tensor<?x2x8xf32>
}

// -----

#whole = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Another result of the attention stays, and is read in the row; a sum over the queries ends the
// rows.
// REMARK: remark: {{.*}}attention: 1 operation that follows it is done in its rows
// CHECK-LABEL: func @results
func.func @results(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %m: tensor<?xf32>) -> (tensor<8xf32>, tensor<?xf32>, tensor<?x8xf32>) {
  // CHECK: %[[Y:.*]]:2 = gf.attention
  // CHECK: %[[W:.*]], %[[L:.*]] = gf.row_softmax
  // CHECK: %[[R:.*]] = gf.row_values
  // CHECK: linalg.generic {{.*}} ins(%[[R]], %[[L]] : tensor<8xf32>, tensor<f32>)
  // CHECK: gf.yield %[[L]], %{{.*}} : tensor<f32>, tensor<8xf32>
  // CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[Y]]#1
  // CHECK: return %[[SUM]], %[[Y]]#0, %[[Y]]#1
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c0 : tensor<?x8xf32>
  %y:2 = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?xf32>) {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %i: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p, %l = gf.row_softmax %s : tensor<?xf32>, tensor<f32>
    %r = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r, %l : tensor<8xf32>, tensor<f32>
  }
  %e = tensor.empty(%t) : tensor<?x8xf32>
  %scaled = linalg.generic {indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%y#0, %y#1 : tensor<?x8xf32>, tensor<?xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %x = arith.mulf %a, %b : f32
    linalg.yield %x : f32
  } -> tensor<?x8xf32>
  %e8 = tensor.empty() : tensor<8xf32>
  %f8 = linalg.fill ins(%zero : f32) outs(%e8 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#whole, #column], iterator_types = ["reduction", "parallel"]}
      ins(%scaled : tensor<?x8xf32>) outs(%f8 : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %x = arith.addf %a, %o : f32
    linalg.yield %x : f32
  } -> tensor<8xf32>
  return %sum, %y#1, %scaled : tensor<8xf32>, tensor<?xf32>, tensor<?x8xf32>
}

// -----

#whole = affine_map<(d0, d1) -> (d0, d1)>

// REMARK: remark: {{.*}}what follows the attention stays apart: the attention's result is read elsewhere too, or has other sizes
// CHECK-LABEL: func @read_twice
func.func @read_twice(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK: %[[Y:.*]] = gf.attention
  // CHECK: %[[Z:.*]] = linalg.generic {{.*}} ins(%[[Y]]
  // CHECK: return %[[Y]], %[[Z]]
  %c0 = arith.constant 0 : index
  %t = tensor.dim %q, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %i: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %r = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  %e = tensor.empty(%t) : tensor<?x8xf32>
  %z = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %x = math.tanh %a : f32
    linalg.yield %x : f32
  } -> tensor<?x8xf32>
  return %y, %z : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

#whole = affine_map<(d0, d1) -> (d0, d1)>

// An element at two computed places has no form on vectors, so that the attention would not be in
// registers.
// REMARK: remark: {{.*}}what follows the attention stays apart: it has no form in registers or in blocks of keys, and the attention has
// CHECK-LABEL: func @form
func.func @form(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %table: tensor<4x4xf32>) -> tensor<?x8xf32> {
  // CHECK: %[[Y:.*]] = gf.attention
  // CHECK: linalg.generic {{.*}} ins(%[[Y]]
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : i64
  %t = tensor.dim %q, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %i: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %r = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  %e = tensor.empty(%t) : tensor<?x8xf32>
  %z = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%y : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %n = arith.fptosi %a : f32 to i64
    %place = arith.andi %n, %c3 : i64
    %i = arith.index_cast %place : i64 to index
    %x = tensor.extract %table[%i, %i] : tensor<4x4xf32>
    linalg.yield %x : f32
  } -> tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}

// -----

#whole = affine_map<(d0, d1, d2) -> (d0, d1, d2)>
#head = affine_map<(d0, d1, d2) -> (d0)>

// Grouped heads that stand together behind the attention stand apart in it. The size that is asked of
// its result is asked of a query.
// REMARK: remark: {{.*}}attention: 1 operation that follows it is done in its rows
// CHECK-LABEL: func @groups
// CHECK-SAME: %[[Q:.*]]: tensor<2x3x?x8xf32>, %[[K:.*]]: tensor<2x1x?x8xf32>, %[[GATE:.*]]: tensor<6x?x8xf32>, %[[HEADS:.*]]: tensor<6xf32>
func.func @groups(%q: tensor<2x3x?x8xf32>, %k: tensor<2x1x?x8xf32>, %gate: tensor<6x?x8xf32>, %heads: tensor<6xf32>)
    -> (tensor<6x?x8xf32>, index) {
  // CHECK-DAG: %[[T:.*]] = tensor.dim %[[Q]], %c2
  // CHECK-DAG: %[[GATES:.*]] = tensor.expand_shape %[[GATE]] {{\[\[}}0, 1], [2], [3]] {{.*}} into tensor<2x3x?x8xf32>
  // CHECK-DAG: %[[NUMBERS:.*]] = tensor.expand_shape %[[HEADS]] {{.*}} into tensor<2x3xf32>
  // CHECK: %[[Y:.*]] = gf.attention queries(%[[Q]], %[[GATES]] : {{.*}}) keys(%[[K]] : {{.*}}) captures(%[[NUMBERS]] : tensor<2x3xf32>)
  // CHECK: %[[TOGETHER:.*]] = tensor.collapse_shape %[[Y]] {{\[\[}}0, 1], [2], [3]]
  // CHECK: return %[[TOGETHER]], %[[T]]
  %c1 = arith.constant 1 : index
  %y = gf.attention queries(%q : tensor<2x3x?x8xf32>) keys(%k : tensor<2x1x?x8xf32>) -> tensor<2x3x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %i: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %r = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  %together = tensor.collapse_shape %y [[0, 1], [2], [3]] : tensor<2x3x?x8xf32> into tensor<6x?x8xf32>
  %t = tensor.dim %together, %c1 : tensor<6x?x8xf32>
  %e = tensor.empty(%t) : tensor<6x?x8xf32>
  %z = linalg.generic {indexing_maps = [#whole, #whole, #head, #whole], iterator_types = ["parallel", "parallel", "parallel"]}
      ins(%together, %gate, %heads : tensor<6x?x8xf32>, tensor<6x?x8xf32>, tensor<6xf32>) outs(%e : tensor<6x?x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
    %x = arith.mulf %a, %b : f32
    %w = arith.mulf %x, %c : f32
    linalg.yield %w : f32
  } -> tensor<6x?x8xf32>
  return %z, %t : tensor<6x?x8xf32>, index
}

// -----

#whole = affine_map<(d0, d1) -> (d0, d1)>
#column = affine_map<(d0, d1) -> (d1)>

// Behind the merging of heads: the gate and the gain are looked at by heads, and heads are merged
// behind the rest. What makes the gate is done in the row, too.
// REMARK: remark: {{.*}}attention: 2 operations that follow it are done in its rows
// CHECK-LABEL: func @merged
// CHECK-SAME: %[[Q:.*]]: tensor<2x?x8xf32>, %[[K:.*]]: tensor<2x?x8xf32>, %[[GATE:.*]]: tensor<?x16xf32>, %[[GAIN:.*]]: tensor<16xf32>
func.func @merged(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %gate: tensor<?x16xf32>, %gain: tensor<16xf32>)
    -> (tensor<?x16xf32>, index) {
  // CHECK-DAG: %[[T:.*]] = tensor.dim %[[Q]], %c1
  // CHECK-DAG: %[[APART:.*]] = tensor.expand_shape %[[GATE]] {{\[\[}}0], [1, 2]] {{.*}} into tensor<?x2x8xf32>
  // CHECK-DAG: %[[GATES:.*]] = linalg.transpose ins(%[[APART]] : {{.*}} permutation = [1, 0, 2]
  // CHECK-DAG: %[[GAINS:.*]] = tensor.expand_shape %[[GAIN]] {{.*}} into tensor<2x8xf32>
  // CHECK: %[[Y:.*]] = gf.attention queries(%[[Q]], %[[GATES]] : {{.*}}) keys(%[[K]] : {{.*}}) captures(%[[GAINS]] : tensor<2x8xf32>)
  // CHECK: ^row(%{{.*}}: tensor<8xf32>, %[[GATER:.*]]: tensor<8xf32>, %{{.*}}: tensor<?x8xf32>, %[[GAINR:.*]]: tensor<8xf32>, %[[ROW:[a-z]*]]: index
  // CHECK: %[[R:.*]] = gf.row_values
  // CHECK: %[[GATED:.*]] = linalg.generic {{.*}} ins(%[[R]], %[[GATER]] :
  // CHECK: math.tanh
  // CHECK: arith.mulf
  // CHECK: %[[Z:.*]] = linalg.generic {{.*}} ins(%[[GATED]], %[[GAINR]] :
  // CHECK: arith.index_cast %[[ROW]]
  // CHECK: gf.yield %[[Z]]
  // CHECK: %[[BACK:.*]] = linalg.transpose ins(%[[Y]] : {{.*}} permutation = [1, 0, 2]
  // CHECK: %[[TOGETHER:.*]] = tensor.collapse_shape %[[BACK]] {{\[\[}}0], [1, 2]]
  // CHECK: return %[[TOGETHER]], %[[T]]
  %c0 = arith.constant 0 : index
  %y = gf.attention queries(%q : tensor<2x?x8xf32>) keys(%k : tensor<2x?x8xf32>) -> tensor<2x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %i: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %r = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  %t = tensor.dim %gate, %c0 : tensor<?x16xf32>
  %et = tensor.empty(%t) : tensor<?x2x8xf32>
  %turned = linalg.transpose ins(%y : tensor<2x?x8xf32>) outs(%et : tensor<?x2x8xf32>) permutation = [1, 0, 2]
  %merged = tensor.collapse_shape %turned [[0], [1, 2]] : tensor<?x2x8xf32> into tensor<?x16xf32>
  %rows = tensor.dim %merged, %c0 : tensor<?x16xf32>
  %e = tensor.empty(%t) : tensor<?x16xf32>
  %open = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%gate : tensor<?x16xf32>) outs(%e : tensor<?x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %x = math.tanh %a : f32
    linalg.yield %x : f32
  } -> tensor<?x16xf32>
  %gated = linalg.generic {indexing_maps = [#whole, #whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%merged, %open : tensor<?x16xf32>, tensor<?x16xf32>) outs(%e : tensor<?x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %x = arith.mulf %a, %b : f32
    linalg.yield %x : f32
  } -> tensor<?x16xf32>
  %z = linalg.generic {indexing_maps = [#whole, #column, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%gated, %gain : tensor<?x16xf32>, tensor<16xf32>) outs(%e : tensor<?x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    %n = arith.sitofp %j : i64 to f32
    %x = arith.mulf %a, %b : f32
    %w = arith.addf %x, %n : f32
    linalg.yield %w : f32
  } -> tensor<?x16xf32>
  return %z, %rows : tensor<?x16xf32>, index
}

// -----

#whole = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A norm over all heads is none of one row; the factor that it makes is read by each.
// REMARK: remark: {{.*}}what follows the attention stays apart: more than one result leaves the row
// CHECK-LABEL: func @norm_of_heads
func.func @norm_of_heads(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>) -> tensor<?x16xf32> {
  // CHECK: gf.yield
  // CHECK: %[[MERGED:.*]] = tensor.collapse_shape
  // CHECK: %[[SUM:.*]] = linalg.generic {{.*}} ins(%[[MERGED]] :
  // CHECK: linalg.generic {{.*}} ins(%[[MERGED]], %[[SUM]] :
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f32
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %y = gf.attention queries(%q : tensor<2x?x8xf32>) keys(%k : tensor<2x?x8xf32>) -> tensor<2x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %i: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %r = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  %et = tensor.empty(%t) : tensor<?x2x8xf32>
  %turned = linalg.transpose ins(%y : tensor<2x?x8xf32>) outs(%et : tensor<?x2x8xf32>) permutation = [1, 0, 2]
  %merged = tensor.collapse_shape %turned [[0], [1, 2]] : tensor<?x2x8xf32> into tensor<?x16xf32>
  %er = tensor.empty(%t) : tensor<?xf32>
  %fr = linalg.fill ins(%zero : f32) outs(%er : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.generic {indexing_maps = [#whole, #row], iterator_types = ["parallel", "reduction"]}
      ins(%merged : tensor<?x16xf32>) outs(%fr : tensor<?xf32>) {
  ^bb0(%a: f32, %o: f32):
    %x = arith.mulf %a, %a : f32
    %w = arith.addf %o, %x : f32
    linalg.yield %w : f32
  } -> tensor<?xf32>
  %e = tensor.empty(%t) : tensor<?x16xf32>
  %z = linalg.generic {indexing_maps = [#whole, #row, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%merged, %sum : tensor<?x16xf32>, tensor<?xf32>) outs(%e : tensor<?x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %x = arith.divf %a, %b : f32
    linalg.yield %x : f32
  } -> tensor<?x16xf32>
  return %z : tensor<?x16xf32>
}

// -----

#whole = affine_map<(d0, d1) -> (d0, d1)>

// A row does not know which head's it is.
// CHECK-LABEL: func @which_head
func.func @which_head(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>) -> tensor<?x16xf32> {
  // CHECK: gf.yield
  // CHECK: linalg.generic
  // CHECK: linalg.index 1
  %c1 = arith.constant 1 : index
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %y = gf.attention queries(%q : tensor<2x?x8xf32>) keys(%k : tensor<2x?x8xf32>) -> tensor<2x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %i: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %r = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  %et = tensor.empty(%t) : tensor<?x2x8xf32>
  %turned = linalg.transpose ins(%y : tensor<2x?x8xf32>) outs(%et : tensor<?x2x8xf32>) permutation = [1, 0, 2]
  %merged = tensor.collapse_shape %turned [[0], [1, 2]] : tensor<?x2x8xf32> into tensor<?x16xf32>
  %e = tensor.empty(%t) : tensor<?x16xf32>
  %z = linalg.generic {indexing_maps = [#whole, #whole], iterator_types = ["parallel", "parallel"]}
      ins(%merged : tensor<?x16xf32>) outs(%e : tensor<?x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %i = linalg.index 1 : index
    %j = arith.index_cast %i : index to i64
    %n = arith.sitofp %j : i64 to f32
    %x = arith.mulf %a, %n : f32
    linalg.yield %x : f32
  } -> tensor<?x16xf32>
  return %z : tensor<?x16xf32>
}
