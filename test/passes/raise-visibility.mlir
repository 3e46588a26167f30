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

// Lengths and documents of each head, and of the second leading dimension alone.
// REMARK: looked at: lengths segments"
// CHECK-LABEL: func @of_heads
// CHECK-SAME: %[[A:[^:]*]]: tensor<3x2x?xi64>, %[[B:[^:]*]]: tensor<2x1x?xi64>, %[[N:[^:]*]]: tensor<3x2xi32>
func.func @of_heads(%q: tensor<3x2x?x4xf32>, %k: tensor<3x2x?x4xf32>, %a: tensor<3x2x?xi64>, %b: tensor<2x1x?xi64>, %n: tensor<3x2xi32>) -> tensor<3x2x?x4xf32> {
  // CHECK: %[[LENGTHS:.*]] = linalg.generic {{.*}} ins(%[[N]] : tensor<3x2xi32>)
  // CHECK: %[[KEYS:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0, 1], [2]] output_shape [1, 2, %{{.*}}] : tensor<2x?xi64> into tensor<1x2x?xi64>
  // CHECK: gf.attention {{.*}} lengths(%[[LENGTHS]] : tensor<3x2xi64>) query_segments(%[[A]] : tensor<3x2x?xi64>) key_segments(%[[KEYS]] : tensor<1x2x?xi64>) ->
  // CHECK-NOT: arith.cmpi
  // CHECK: return
  %c2 = arith.constant 2 : index
  %count = tensor.dim %b, %c2 : tensor<2x1x?xi64>
  %y = gf.attention queries(%q, %a : tensor<3x2x?x4xf32>, tensor<3x2x?xi64>) keys(%k : tensor<3x2x?x4xf32>)
      pairs(%b : tensor<2x1x?xi64>) captures(%n : tensor<3x2xi32>) -> tensor<3x2x?x4xf32> {
  ^row(%qr: tensor<4xf32>, %ar: tensor<i64>, %kr: tensor<?x4xf32>, %br: tensor<?xi64>, %nr: tensor<i32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    %e = tensor.empty(%count) : tensor<?xi1>
    %w = linalg.generic {indexing_maps = [#key, #one, #one, #key], iterator_types = ["parallel"]}
        ins(%br, %ar, %nr : tensor<?xi64>, tensor<i64>, tensor<i32>) outs(%e : tensor<?xi1>) {
    ^bb0(%x: i64, %z: i64, %l: i32, %o: i1):
      %same = arith.cmpi eq, %x, %z : i64
      %j = linalg.index 0 : index
      %length = arith.index_cast %l : i32 to index
      %before = arith.cmpi slt, %j, %length : index
      %both = arith.andi %same, %before : i1
      linalg.yield %both : i1
    } -> tensor<?xi1>
    %p = gf.row_softmax %s where(%w : tensor<?xi1>) : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<3x2x?x4xf32>
}

// Documents, of the keys of all sequences alike.
// REMARK: looked at: segments"
// CHECK-LABEL: func @documents
// CHECK-SAME: %[[A:[^:]*]]: tensor<3x1x?xi64>, %[[B:[^:]*]]: tensor<?xi64>
func.func @documents(%q: tensor<3x2x?x4xf32>, %k: tensor<3x2x?x4xf32>, %a: tensor<3x1x?xi64>, %b: tensor<?xi64>) -> tensor<3x2x?x4xf32> {
  // CHECK: %[[QUERIES:.*]] = tensor.collapse_shape %[[A]] {{\[\[}}0], [1, 2]] : tensor<3x1x?xi64> into tensor<3x?xi64>
  // CHECK: %[[KEYS:.*]] = tensor.expand_shape %{{.*}} {{\[\[}}0, 1]] output_shape [1, %{{.*}}] : tensor<?xi64> into tensor<1x?xi64>
  // CHECK: gf.attention {{.*}} query_segments(%[[QUERIES]] : tensor<3x?xi64>) key_segments(%[[KEYS]] : tensor<1x?xi64>) ->
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

// The distance is 1 to 3: that it is 3 at most is a window, and the rest a comparison.
// REMARK: looked at: causal window"
// CHECK-LABEL: func @ring
func.func @ring(%q: tensor<?x4xf32>, %k: tensor<8x4xf32>) -> tensor<?x4xf32> {
  // CHECK: gf.attention {{.*}} window(6, -1) ->
  // CHECK: math.absi
  // CHECK: arith.cmpi
  // CHECK: gf.row_softmax
  %least = arith.constant 0xFF800000 : f32
  %c2 = arith.constant 2 : index
  %e = tensor.empty() : tensor<8xf32>
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<8x4xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<8x4xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<8x4xf32> -> tensor<8xf32>
    %h = linalg.generic {indexing_maps = [#key, #key], iterator_types = ["parallel"]}
        ins(%s : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %j = linalg.index 0 : index
      %difference = arith.subi %row, %j : index
      %distance = math.absi %difference : index
      %more = arith.subi %distance, %c2 : index
      %ring = math.absi %more : index
      %seen = arith.cmpi slt, %ring, %c2 : index
      %r = arith.select %seen, %a, %least : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    %p = gf.row_softmax %h : tensor<8xf32>
    %y = gf.row_values %p, %kr : tensor<8xf32>, tensor<8x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
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

// A number of a whole tensor that is no operand: nothing of its computation may be used outside of it.
// CHECK-LABEL: func @computed_outside
func.func @computed_outside(%q: tensor<?x4xf32>, %k: tensor<8x4xf32>, %n: tensor<index>) -> tensor<?x4xf32> {
  // CHECK: gf.attention queries(%{{.*}}) keys(%{{.*}}) -> tensor<?x4xf32> {
  // CHECK: arith.cmpi
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8xf32>
  %e0 = tensor.empty() : tensor<index>
  %m = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>], iterator_types = []}
      ins(%n : tensor<index>) outs(%e0 : tensor<index>) {
  ^bb0(%a: index, %o: index):
    %r = arith.addi %a, %a : index
    linalg.yield %r : index
  } -> tensor<index>
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<8x4xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<8x4xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<8x4xf32> -> tensor<8xf32>
    %h = linalg.generic {indexing_maps = [#key, #one, #key], iterator_types = ["parallel"]}
        ins(%s, %m : tensor<8xf32>, tensor<index>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %last: index, %o: f32):
      %j = linalg.index 0 : index
      %seen = arith.cmpi sle, %j, %last : index
      %r = arith.select %seen, %a, %least : f32
      linalg.yield %r : f32
    } -> tensor<8xf32>
    %p = gf.row_softmax %h : tensor<8xf32>
    %y = gf.row_values %p, %kr : tensor<8xf32>, tensor<8x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// Doubled numbers have more ways to them than can be followed.
// CHECK-LABEL: func @many_ways
func.func @many_ways(%q: tensor<?x4xf32>, %k: tensor<8x4xf32>) -> tensor<?x4xf32> {
  // CHECK: gf.attention queries(%{{.*}}) keys(%{{.*}}) -> tensor<?x4xf32> {
  // CHECK: arith.cmpi
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8xf32>
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<8x4xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<8x4xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<8x4xf32> -> tensor<8xf32>
    %h = linalg.generic {indexing_maps = [#key, #key], iterator_types = ["parallel"]}
        ins(%s : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a0: f32, %o: f32):
      %j0 = linalg.index 0 : index
      %j1 = arith.addi %j0, %j0 : index
      %j2 = arith.addi %j1, %j1 : index
      %j3 = arith.addi %j2, %j2 : index
      %j4 = arith.addi %j3, %j3 : index
      %j5 = arith.addi %j4, %j4 : index
      %j6 = arith.addi %j5, %j5 : index
      %j7 = arith.addi %j6, %j6 : index
      %j8 = arith.addi %j7, %j7 : index
      %j9 = arith.addi %j8, %j8 : index
      %j10 = arith.addi %j9, %j9 : index
      %j11 = arith.addi %j10, %j10 : index
      %j12 = arith.addi %j11, %j11 : index
      %j13 = arith.addi %j12, %j12 : index
      %j14 = arith.addi %j13, %j13 : index
      %j15 = arith.addi %j14, %j14 : index
      %j16 = arith.addi %j15, %j15 : index
      %j17 = arith.addi %j16, %j16 : index
      %j18 = arith.addi %j17, %j17 : index
      %j19 = arith.addi %j18, %j18 : index
      %j20 = arith.addi %j19, %j19 : index
      %j21 = arith.addi %j20, %j20 : index
      %j22 = arith.addi %j21, %j21 : index
      %j23 = arith.addi %j22, %j22 : index
      %j24 = arith.addi %j23, %j23 : index
      %j25 = arith.addi %j24, %j24 : index
      %j26 = arith.addi %j25, %j25 : index
      %j27 = arith.addi %j26, %j26 : index
      %j28 = arith.addi %j27, %j27 : index
      %j29 = arith.addi %j28, %j28 : index
      %j30 = arith.addi %j29, %j29 : index
      %j31 = arith.addi %j30, %j30 : index
      %j32 = arith.addi %j31, %j31 : index
      %j33 = arith.addi %j32, %j32 : index
      %j34 = arith.addi %j33, %j33 : index
      %j35 = arith.addi %j34, %j34 : index
      %j36 = arith.addi %j35, %j35 : index
      %j37 = arith.addi %j36, %j36 : index
      %j38 = arith.addi %j37, %j37 : index
      %j39 = arith.addi %j38, %j38 : index
      %j40 = arith.addi %j39, %j39 : index
      %a1 = arith.addf %a0, %a0 : f32
      %a2 = arith.addf %a1, %a1 : f32
      %a3 = arith.addf %a2, %a2 : f32
      %a4 = arith.addf %a3, %a3 : f32
      %a5 = arith.addf %a4, %a4 : f32
      %a6 = arith.addf %a5, %a5 : f32
      %a7 = arith.addf %a6, %a6 : f32
      %a8 = arith.addf %a7, %a7 : f32
      %a9 = arith.addf %a8, %a8 : f32
      %a10 = arith.addf %a9, %a9 : f32
      %a11 = arith.addf %a10, %a10 : f32
      %a12 = arith.addf %a11, %a11 : f32
      %a13 = arith.addf %a12, %a12 : f32
      %a14 = arith.addf %a13, %a13 : f32
      %a15 = arith.addf %a14, %a14 : f32
      %a16 = arith.addf %a15, %a15 : f32
      %a17 = arith.addf %a16, %a16 : f32
      %a18 = arith.addf %a17, %a17 : f32
      %a19 = arith.addf %a18, %a18 : f32
      %a20 = arith.addf %a19, %a19 : f32
      %a21 = arith.addf %a20, %a20 : f32
      %a22 = arith.addf %a21, %a21 : f32
      %a23 = arith.addf %a22, %a22 : f32
      %a24 = arith.addf %a23, %a23 : f32
      %a25 = arith.addf %a24, %a24 : f32
      %a26 = arith.addf %a25, %a25 : f32
      %a27 = arith.addf %a26, %a26 : f32
      %a28 = arith.addf %a27, %a27 : f32
      %a29 = arith.addf %a28, %a28 : f32
      %a30 = arith.addf %a29, %a29 : f32
      %a31 = arith.addf %a30, %a30 : f32
      %a32 = arith.addf %a31, %a31 : f32
      %a33 = arith.addf %a32, %a32 : f32
      %a34 = arith.addf %a33, %a33 : f32
      %a35 = arith.addf %a34, %a34 : f32
      %a36 = arith.addf %a35, %a35 : f32
      %a37 = arith.addf %a36, %a36 : f32
      %a38 = arith.addf %a37, %a37 : f32
      %a39 = arith.addf %a38, %a38 : f32
      %a40 = arith.addf %a39, %a39 : f32
      %seen = arith.cmpi sle, %j40, %row : index
      %a = arith.select %seen, %a40, %least : f32
      linalg.yield %a : f32
    } -> tensor<8xf32>
    %p = gf.row_softmax %h : tensor<8xf32>
    %y = gf.row_values %p, %kr : tensor<8xf32>, tensor<8x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}
