// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-fold-diff-window --canonicalize --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-fold-diff-window --split-input-file --remark-format=emitRemark --remarks-filter=gf-fold-diff-window -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#row = affine_map<(d0) -> (d0)>

// One stencil on the keys of all heads; the neighbours are gone.
// REMARK: remark: {{.*}}diff-window of width 3 folded into the keys
// CHECK-LABEL: func @all
// CHECK-SAME: %[[Q:.*]]: tensor<2x?x8xf32>, %[[K:.*]]: tensor<2x?x8xf32>, %[[V:.*]]: tensor<2x?x8xf32>
func.func @all(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x8xf32>,
               %m: tensor<2x?x?xi1>) -> tensor<2x?x8xf32> {
  // CHECK: %[[FOLDED:.*]] = linalg.generic {{.*}}"parallel", "parallel", "parallel"]} outs
  // CHECK: linalg.index 1
  // CHECK-COUNT-3: tensor.extract %[[K]]
  // CHECK: arith.mulf
  // CHECK: arith.subf
  // CHECK: gf.attention queries(%[[Q]] {{.*}} keys(%[[V]], %[[FOLDED]] :
  // CHECK: ^row(%[[QR:.*]]: tensor<8xf32>, %{{.*}}: tensor<?x8xf32>, %[[FR:.*]]: tensor<?x8xf32>,
  // CHECK: gf.row_scores %[[QR]], %[[FR]]
  // CHECK-NOT: gf.row_neighbours
  %c1 = arith.constant 1 : index
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %y = gf.attention queries(%q : tensor<2x?x8xf32>)
      keys(%k, %v : tensor<2x?x8xf32>, tensor<2x?x8xf32>) mask(%m : tensor<2x?x?xi1>)
      -> tensor<2x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %vr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %d = gf.row_neighbours %s width 3 scope all : tensor<?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%s, %d : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %t : tensor<?xf32>
    %y = gf.row_values %p, %vr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<2x?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// The last key that a query sees lacks a neighbour: its score comes of those of the last two keys.
// The scale stays behind the scores.
// REMARK: remark: {{.*}}diff-window of width 3 folded into the keys, 1 score of each query by itself
// CHECK-LABEL: func @causal
func.func @causal(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %lengths: tensor<i64>) -> tensor<?x8xf32> {
  // CHECK: gf.attention {{.*}} captures(%{{.*}} : tensor<i64>) lengths
  // CHECK: ^row(%[[QR:.*]]: tensor<8xf32>, %[[KR:.*]]: tensor<?x8xf32>, %{{.*}}: tensor<?x8xf32>, %{{.*}}: tensor<i64>, %{{.*}}: index, %[[POSITION:.*]]: index)
  // CHECK: %[[T:.*]] = gf.row_scores
  // CHECK: arith.addi %[[POSITION]], %c1
  // CHECK: %[[LAST:.*]] = linalg.generic {{.*}}"reduction"]} ins(%{{.*}}) outs(%{{.*}} : tensor<f32>)
  // CHECK: tensor.extract %[[KR]]
  // CHECK: %[[BEFORE:.*]] = linalg.generic {{.*}}"reduction"]} ins(%{{.*}}) outs(%{{.*}} : tensor<f32>)
  // CHECK: tensor.extract %[[KR]]
  // CHECK: %[[EXISTS:.*]] = arith.cmpi sge
  // CHECK: %[[EDGE:.*]] = linalg.generic {{.*}} ins(%[[LAST]], %[[BEFORE]] :
  // CHECK: arith.select %[[EXISTS]]
  // CHECK: arith.mulf
  // CHECK: arith.subf
  // CHECK: linalg.generic {{.*}} ins(%[[T]], %[[EDGE]]
  // CHECK: arith.cmpi eq
  // CHECK: arith.divf
  // CHECK: gf.row_softmax
  %c0 = arith.constant 0 : index
  %eight = arith.constant 8.0 : f32
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      lengths(%lengths : tensor<i64>) causal -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %c = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%s : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %o: f32):
      %less = arith.divf %a, %eight : f32
      linalg.yield %less : f32
    } -> tensor<?xf32>
    %d = gf.row_neighbours %c width 3 scope visible : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%d, %c : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %t : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// A window leaves the first key and the last one that a query sees without a neighbour. Both
// look at scores of keys in [first, end) alone.
// REMARK: remark: {{.*}}diff-window of width 3 folded into the keys, 2 scores of each query by themselves
// CHECK-LABEL: func @window
func.func @window(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: ^row(%[[QR:.*]]: tensor<8xf32>, %[[KR:.*]]: tensor<?x8xf32>, %{{.*}}: tensor<?x8xf32>, %{{.*}}: index, %[[POSITION:.*]]: index)
  // CHECK: %[[T:.*]] = gf.row_scores
  // CHECK: %[[AFTER:.*]] = arith.addi %[[POSITION]], %c3
  // CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[AFTER]]
  // CHECK: %[[BEFORE:.*]] = arith.subi %[[POSITION]], %c5
  // CHECK: %[[FIRST:.*]] = arith.maxsi %[[BEFORE]], %c0
  // CHECK: %[[FIRST_SCORE:.*]] = linalg.generic {{.*}}"reduction"]} ins(%{{.*}}) outs(%{{.*}} : tensor<f32>)
  // CHECK: %[[SECOND:.*]] = arith.addi %[[FIRST]], %c1
  // CHECK: %[[SECOND_SCORE:.*]] = linalg.generic {{.*}}"reduction"]} ins(%{{.*}}) outs(%{{.*}} : tensor<f32>)
  // CHECK: arith.cmpi slt, %[[SECOND]], %[[END]]
  // CHECK: %[[FIRST_EDGE:.*]] = linalg.generic {{.*}} ins(%[[FIRST_SCORE]], %[[SECOND_SCORE]] :
  // CHECK: %[[LAST:.*]] = arith.subi %[[END]], %c1
  // CHECK: %[[LAST_SCORE:.*]] = linalg.generic {{.*}}"reduction"]} ins(%{{.*}}) outs(%{{.*}} : tensor<f32>)
  // CHECK: %[[BEFORE_LAST:.*]] = arith.subi %[[END]], %c2
  // CHECK: %[[BEFORE_SCORE:.*]] = linalg.generic {{.*}}"reduction"]} ins(%{{.*}}) outs(%{{.*}} : tensor<f32>)
  // CHECK: arith.cmpi sge, %[[BEFORE_LAST]], %[[FIRST]]
  // CHECK: %[[LAST_EDGE:.*]] = linalg.generic {{.*}} ins(%[[LAST_SCORE]], %[[BEFORE_SCORE]] :
  // CHECK: linalg.generic {{.*}} ins(%[[T]], %[[FIRST_EDGE]], %[[LAST_EDGE]]
  // CHECK: arith.cmpi eq, %{{.*}}, %[[FIRST]]
  // CHECK: arith.cmpi eq, %{{.*}}, %[[LAST]]
  // CHECK: gf.row_softmax
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) window(5, 2)
      -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %d = gf.row_neighbours %s width 3 scope visible : tensor<?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%s, %d : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %t : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// All queries of a sequence end at the same key, which the stencil knows: no score stands by itself.
// REMARK: remark: {{.*}}diff-window of width 3 folded into the keys"
// CHECK-LABEL: func @lengths
// CHECK-SAME: %[[Q:.*]]: tensor<2x?x8xf32>, %[[K:.*]]: tensor<2x?x8xf32>, %[[LENGTHS:.*]]: tensor<2xi64>
func.func @lengths(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %lengths: tensor<2xi64>) -> tensor<2x?x8xf32> {
  // CHECK: %[[FOLDED:.*]] = linalg.generic {{.*}}"parallel", "parallel", "parallel"]} outs
  // CHECK: %[[B:.*]] = linalg.index 0
  // CHECK: tensor.extract %[[LENGTHS]][%[[B]]]
  // CHECK: %[[END:.*]] = arith.minsi
  // CHECK: arith.cmpi slt, %{{.*}}, %[[END]]
  // CHECK: gf.attention {{.*}} lengths(%[[LENGTHS]]
  // CHECK: %[[T:.*]] = gf.row_scores
  // CHECK-NEXT: gf.row_softmax %[[T]]
  %c1 = arith.constant 1 : index
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %y = gf.attention queries(%q : tensor<2x?x8xf32>) keys(%k : tensor<2x?x8xf32>)
      lengths(%lengths : tensor<2xi64>) -> tensor<2x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %d = gf.row_neighbours %s width 3 scope visible : tensor<?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%s, %d : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %t : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<2x?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// Keys that belong to several lengths have no end of their own.
// REMARK: remark: {{.*}}diff-window of width 3 folded into the keys, 1 score of each query by itself
// CHECK-LABEL: func @shared_keys
func.func @shared_keys(%q: tensor<2x?x8xf32>, %k: tensor<?x8xf32>, %lengths: tensor<2xi64>) -> tensor<2x?x8xf32> {
  // CHECK: gf.attention {{.*}} captures(%{{.*}} : tensor<2xi64>) lengths
  // CHECK: linalg.generic {{.*}}"reduction"]} ins(%{{.*}}) outs(%{{.*}} : tensor<f32>)
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<2x?x8xf32>) keys(%k : tensor<?x8xf32>)
      lengths(%lengths : tensor<2xi64>) -> tensor<2x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %d = gf.row_neighbours %s width 3 scope visible : tensor<?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%s, %d : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %t : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<2x?x8xf32>
}
