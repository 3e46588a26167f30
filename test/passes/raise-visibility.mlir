// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-raise-visibility --canonicalize --cse | FileCheck %s
// RUN: gatefold-opt %s --gf-raise-visibility --remark-format=emitRemark --remarks-filter=gf-raise-visibility -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#key = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> ()>

// Through -inf: the comparison goes, and queries stand where it says.
// REMARK: remark: {{.*}}keys that comparisons hide are not looked at: causal"
// CHECK-LABEL: func @causal
// CHECK-SAME: %[[N:[^:]*]]: index
func.func @causal(%q: tensor<2x?x4xf32>, %k: tensor<2x?x4xf32>, %n: index) -> tensor<2x?x4xf32> {
  // CHECK: %[[NUMBER:.*]] = arith.index_cast %[[N]] : index to i64
  // CHECK: %[[OFFSET:.*]] = linalg.generic
  // CHECK: linalg.yield %[[NUMBER]] : i64
  // CHECK: gf.attention {{.*}} offset(%[[OFFSET]] : tensor<i64>) causal ->
  // CHECK-NOT: arith.cmpi
  // CHECK: %[[S:.*]] = gf.row_scores
  // CHECK: gf.row_softmax %[[S]] :
  %least = arith.constant 0xFF800000 : f32
  %c1 = arith.constant 1 : index
  %count = tensor.dim %k, %c1 : tensor<2x?x4xf32>
  %y = gf.attention queries(%q : tensor<2x?x4xf32>) keys(%k : tensor<2x?x4xf32>) -> tensor<2x?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x4xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    %e = tensor.empty(%count) : tensor<?xf32>
    %h = linalg.generic {indexing_maps = [#key, #key], iterator_types = ["parallel"]}
        ins(%s : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %o: f32):
      %j = linalg.index 0 : index
      %last = arith.addi %row, %n : index
      %seen = arith.cmpi sle, %j, %last : index
      %r = arith.select %seen, %a, %least : f32
      linalg.yield %r : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %h : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<2x?x4xf32>
}

// A window around the position, which has to keep its meaning, and what is left of a conjunction.
// REMARK: looked at: lengths window"
// CHECK-LABEL: func @window
func.func @window(%q: tensor<2x?x4xf32>, %k: tensor<2x?x4xf32>, %n: tensor<2xi32>) -> tensor<2x?x4xf32> {
  // CHECK: %[[LENGTHS:.*]] = linalg.generic
  // CHECK: arith.extsi
  // CHECK: arith.maxsi
  // CHECK: arith.minsi
  // CHECK: gf.attention {{.*}} lengths(%[[LENGTHS]] : tensor<2xi64>) window(3, 3) ->
  // CHECK: arith.remui
  // CHECK-NOT: math.absi
  // CHECK: gf.row_softmax %{{.*}} where(
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : i64
  %count = tensor.dim %k, %c1 : tensor<2x?x4xf32>
  %y = gf.attention queries(%q : tensor<2x?x4xf32>) keys(%k : tensor<2x?x4xf32>) captures(%n : tensor<2xi32>) -> tensor<2x?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x4xf32>, %length: tensor<i32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    %e = tensor.empty(%count) : tensor<?xi1>
    %w = linalg.generic {indexing_maps = [#one, #key], iterator_types = ["parallel"]}
        ins(%length : tensor<i32>) outs(%e : tensor<?xi1>) {
    ^bb0(%l: i32, %o: i1):
      %j = linalg.index 0 : index
      %far = arith.subi %position, %j : index
      %far_i = arith.index_cast %far : index to i64
      %near = math.absi %far_i : i64
      %in = arith.cmpi sle, %near, %c3 : i64
      %j_i = arith.index_cast %j : index to i32
      %before = arith.cmpi slt, %j_i, %l : i32
      %rest = arith.remui %j, %c2 : index
      %even = arith.cmpi eq, %rest, %position : index
      %both = arith.andi %in, %before : i1
      %all = arith.andi %both, %even : i1
      linalg.yield %all : i1
    } -> tensor<?xi1>
    %p = gf.row_softmax %s where(%w : tensor<?xi1>) : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<2x?x4xf32>
}

// Documents, of the keys of all sequences alike.
// REMARK: looked at: segments"
// CHECK-LABEL: func @documents
// CHECK-SAME: %[[A:[^:]*]]: tensor<3x1x?xi64>, %[[B:[^:]*]]: tensor<?xi64>
func.func @documents(%q: tensor<3x2x?x4xf32>, %k: tensor<3x2x?x4xf32>, %a: tensor<3x1x?xi64>, %b: tensor<?xi64>) -> tensor<3x2x?x4xf32> {
  // CHECK: %[[QUERIES:.*]] = tensor.collapse_shape %[[A]] {{\[\[}}0], [1, 2]] : tensor<3x1x?xi64> into tensor<3x?xi64>
  // CHECK: %[[KEYS:.*]] = linalg.broadcast ins(%{{.*}} : tensor<?xi64>) outs(%{{.*}} : tensor<3x?xi64>) dimensions = [0]
  // CHECK: gf.attention {{.*}} query_segments(%[[QUERIES]] : tensor<3x?xi64>) key_segments(%[[KEYS]] : tensor<3x?xi64>) ->
  // CHECK-NOT: arith.cmpi
  %c0 = arith.constant 0 : index
  %count = tensor.dim %b, %c0 : tensor<?xi64>
  %one = tensor.expand_shape %b [[0, 1]] output_shape [1, %count] : tensor<?xi64> into tensor<1x?xi64>
  %y = gf.attention queries(%q, %a : tensor<3x2x?x4xf32>, tensor<3x1x?xi64>) keys(%k : tensor<3x2x?x4xf32>)
      pairs(%one : tensor<1x?xi64>) -> tensor<3x2x?x4xf32> {
  ^row(%qr: tensor<4xf32>, %ar: tensor<i64>, %kr: tensor<?x4xf32>, %br: tensor<?xi64>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    %e = tensor.empty(%count) : tensor<?xi1>
    %w = linalg.generic {indexing_maps = [#key, #one, #key], iterator_types = ["parallel"]}
        ins(%br, %ar : tensor<?xi64>, tensor<i64>) outs(%e : tensor<?xi1>) {
    ^bb0(%x: i64, %z: i64, %o: i1):
      %same = arith.cmpi eq, %x, %z : i64
      linalg.yield %same : i1
    } -> tensor<?xi1>
    %p = gf.row_softmax %s where(%w : tensor<?xi1>) : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<3x2x?x4xf32>
}

// What hides from one softmax of two, hides by a number that is not -inf, or hides from weights
// of other kinds, stays a comparison.
// REMARK-NOT: looked at
// CHECK-LABEL: func @not_from_all
func.func @not_from_all(%q: tensor<?x4xf32>, %k: tensor<8x4xf32>) -> tensor<?x4xf32> {
  // CHECK: gf.attention queries(%{{.*}}) keys(%{{.*}}) -> tensor<?x4xf32> {
  // CHECK: arith.cmpi
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8xf32>
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<8x4xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<8x4xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<8x4xf32> -> tensor<8xf32>
    %h = linalg.generic {indexing_maps = [#key, #key], iterator_types = ["parallel"]}
        ins(%s : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %j = linalg.index 0 : index
      %seen = arith.cmpi sle, %j, %row : index
      %r = arith.select %seen, %a, %least : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    %p = gf.row_softmax %h : tensor<8xf32>
    %all = gf.row_softmax %s : tensor<8xf32>
    %w = linalg.generic {indexing_maps = [#key, #key, #key], iterator_types = ["parallel"]}
        ins(%p, %all : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %r = arith.subf %a, %b : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    %y = gf.row_values %w, %kr : tensor<8xf32>, tensor<8x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// CHECK-LABEL: func @finite
func.func @finite(%q: tensor<?x4xf32>, %k: tensor<8x4xf32>) -> tensor<?x4xf32> {
  // CHECK: gf.attention queries(%{{.*}}) keys(%{{.*}}) -> tensor<?x4xf32> {
  // CHECK: arith.cmpi
  %low = arith.constant -1.0e9 : f32
  %e = tensor.empty() : tensor<8xf32>
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<8x4xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<8x4xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<8x4xf32> -> tensor<8xf32>
    %h = linalg.generic {indexing_maps = [#key, #key], iterator_types = ["parallel"]}
        ins(%s : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %j = linalg.index 0 : index
      %seen = arith.cmpi sle, %j, %row : index
      %r = arith.select %seen, %a, %low : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    %p = gf.row_softmax %h : tensor<8xf32>
    %y = gf.row_values %p, %kr : tensor<8xf32>, tensor<8x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// CHECK-LABEL: func @other_weights
func.func @other_weights(%q: tensor<?x4xf32>, %k: tensor<8x4xf32>) -> tensor<?x4xf32> {
  // CHECK: gf.attention queries(%{{.*}}) keys(%{{.*}}) -> tensor<?x4xf32> {
  // CHECK: arith.cmpi
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8xf32>
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<8x4xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<8x4xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<8x4xf32> -> tensor<8xf32>
    %h = linalg.generic {indexing_maps = [#key, #key], iterator_types = ["parallel"]}
        ins(%s : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %j = linalg.index 0 : index
      %seen = arith.cmpi sle, %j, %row : index
      %r = arith.select %seen, %a, %least : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    %p = gf.row_softmax %h : tensor<8xf32>
    %w = linalg.generic {indexing_maps = [#key, #key, #key], iterator_types = ["parallel"]}
        ins(%p, %s : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %r = arith.addf %a, %b : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    %y = gf.row_values %w, %kr : tensor<8xf32>, tensor<8x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}
