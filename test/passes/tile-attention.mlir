// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-attach-target=target=x86-64-v4 --gf-tile-attention --canonicalize --cse --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-attach-target=target=x86-64-v4 --gf-tile-attention --split-input-file --remark-format=emitRemark --remarks-filter=gf-tile-attention -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

#row = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> (0)>

// Keys and values are packed once per head; then blocks of queries look at the keys that
// they see. The scale is the query's, the division by the sum the result's.
// REMARK: remark: {{.*}}attention: resident, 24 query rows, 1 map, keys in panels of 64
// CHECK-LABEL: func @causal
// CHECK-SAME: %[[Q:.*]]: tensor<2x?x8xf32>, %[[K:.*]]: tensor<2x?x8xf32>, %[[V:.*]]: tensor<2x?x70xf32>
func.func @causal(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x70xf32>)
    -> tensor<2x?x70xf32> {
  // CHECK: %[[PACKED:.*]]:2 = scf.for %[[HEAD:.*]] = %{{.*}} iter_args
  // CHECK: gf.pack %{{.*}} along 0 {{.*}} into tensor<?x8x64xf32>
  // CHECK: gf.pack %{{.*}} along 1 {{.*}} into tensor<2x?x64xf32>
  // CHECK: } {gf.parallel}
  // CHECK: scf.for %[[HEAD:.*]] = %{{.*}} iter_args
  // CHECK: scf.for %[[BLOCK:.*]] = %{{.*}} iter_args(%[[RESULT:.*]] =
  // CHECK: %[[START:.*]] = arith.muli %[[BLOCK]]
  // CHECK: %[[PLACE:.*]] = tensor.extract_slice %[[RESULT]][%[[HEAD]], %[[START]], 0]
  // CHECK: tensor.extract_slice %[[Q]][%[[HEAD]], %[[START]], 0]
  // CHECK: %[[SCALED:.*]] = linalg.generic
  // CHECK: arith.mulf
  // CHECK: %[[SCORES:.*]] = gf.linear %[[SCALED]], %{{.*}} outs(%{{.*}})
  // Hidden at the end of the block's keys alone.
  // CHECK: %[[EDGE:.*]] = tensor.extract_slice %[[SCORES]][0, %[[FROM:.*]]]
  // CHECK: linalg.generic {{.*}} outs(%[[EDGE]]
  // CHECK: arith.cmpi sle
  // CHECK: arith.select
  // CHECK: %[[HIDDEN:.*]] = tensor.insert_slice %{{.*}} into %[[SCORES]][0, %[[FROM]]]
  // CHECK: linalg.generic {{.*}}"parallel", "reduction"]} ins(%[[HIDDEN]]
  // CHECK: arith.maximumf
  // CHECK: %[[POWERS:.*]]:2 = linalg.generic {{.*}}"parallel", "reduction"]} {{.*}} outs(%[[HIDDEN]],
  // CHECK: math.exp
  // CHECK: arith.addf
  // CHECK-NOT: arith.divf
  // CHECK: gf.linear %{{.*}}, %{{.*}} outs
  // CHECK: arith.divf
  // CHECK: %[[DIVIDED:.*]] = linalg.generic {{.*}} outs(%[[PLACE]]
  // CHECK: tensor.insert_slice %[[DIVIDED]] into %[[RESULT]][%[[HEAD]], %[[START]], 0]
  // CHECK: } {gf.parallel}
  %c1 = arith.constant 1 : index
  %scale = arith.constant 0.25 : f32
  %n = tensor.dim %k, %c1 : tensor<2x?x8xf32>
  %y = gf.attention queries(%q : tensor<2x?x8xf32>)
      keys(%k, %v : tensor<2x?x8xf32>, tensor<2x?x70xf32>) causal
      attributes {gf.algorithm = "resident", gf.query_block = 24} -> tensor<2x?x70xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %vr: tensor<?x70xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %c = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%s : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %o: f32):
      %x = arith.mulf %a, %scale : f32
      linalg.yield %x : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %c : tensor<?xf32>
    %y = gf.row_values %p, %vr : tensor<?xf32>, tensor<?x70xf32> -> tensor<70xf32>
    gf.yield %y : tensor<70xf32>
  }
  return %y : tensor<2x?x70xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> (0)>

// Two maps, one product with the values: e1 - l e2 s1/s2, divided by s1 at the end. The
// heads that share keys share their panels. Of keys that a query does not see, 0 - l * 0 is 0,
// so that they are left out.
// REMARK: remark: {{.*}}attention: resident, 12 query rows, 2 maps, keys in panels of 64"
// CHECK-LABEL: func @differential
// CHECK-SAME: %{{.*}}: tensor<3x?x8xf32>, %{{.*}}: tensor<3x?x8xf32>, %[[K:.*]]: tensor<1x?x8xf32>
func.func @differential(%q1: tensor<3x?x8xf32>, %q2: tensor<3x?x8xf32>, %k: tensor<1x?x8xf32>,
                        %l: tensor<3x?x1xf32>) -> tensor<3x?x8xf32> {
  // CHECK-NOT: scf.for
  // CHECK: gf.pack {{.*}} along 0
  // CHECK: gf.pack {{.*}} along 1
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: gf.linear
  // CHECK: %[[FIRST:.*]]:2 = linalg.generic
  // CHECK: math.exp
  // CHECK: gf.linear
  // CHECK: %[[SECOND:.*]]:2 = linalg.generic
  // CHECK: math.exp
  // CHECK: %[[FACTOR:.*]] = linalg.generic
  // CHECK: arith.divf
  // CHECK: %[[COMBINED:.*]] = linalg.generic {{.*}}outs(%[[FIRST]]#0
  // CHECK: arith.mulf
  // CHECK: arith.mulf
  // CHECK: arith.subf
  // CHECK: gf.linear
  // CHECK-NOT: gf.linear
  %c1 = arith.constant 1 : index
  %n = tensor.dim %k, %c1 : tensor<1x?x8xf32>
  %y = gf.attention queries(%q1, %q2, %l : tensor<3x?x8xf32>, tensor<3x?x8xf32>, tensor<3x?x1xf32>)
      keys(%k : tensor<1x?x8xf32>) causal
      attributes {gf.algorithm = "resident", gf.query_block = 12} -> tensor<3x?x8xf32> {
  ^row(%q1r: tensor<8xf32>, %q2r: tensor<8xf32>, %lr: tensor<1xf32>, %kr: tensor<?x8xf32>,
       %r: index, %position: index):
    %s1 = gf.row_scores %q1r, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p1 = gf.row_softmax %s1 : tensor<?xf32>
    %s2 = gf.row_scores %q2r, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p2 = gf.row_softmax %s2 : tensor<?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %w = linalg.generic {indexing_maps = [#row, #row, #one, #row], iterator_types = ["parallel"]}
        ins(%p1, %p2, %lr : tensor<?xf32>, tensor<?xf32>, tensor<1xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32, %o: f32):
      %x = arith.mulf %c, %b : f32
      %z = arith.subf %a, %x : f32
      linalg.yield %z : f32
    } -> tensor<?xf32>
    %y = gf.row_values %w, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<3x?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>
#sum = affine_map<(d0) -> ()>

// A sum over the scores of all keys: none may be left out for a block.
// REMARK: remark: {{.*}}attention: resident, 6 query rows, 1 map, keys in panels of 64, no key left out for its arithmetic
// CHECK-LABEL: func @sum
func.func @sum(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> tensor<?xf32> {
  // CHECK: %[[KEYS:.*]] = tensor.dim %arg1, %c0
  // CHECK: scf.for
  // CHECK: tensor.extract_slice %{{.*}}[0, 0] [%{{.*}}, %[[KEYS]]] [1, 1]
  %zero = arith.constant 0.0 : f32
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) causal
      attributes {gf.algorithm = "resident", gf.query_block = 6} -> tensor<?xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    %start = tensor.from_elements %zero : tensor<f32>
    %t = linalg.generic {indexing_maps = [#row, #sum], iterator_types = ["reduction"]}
        ins(%s : tensor<?xf32>) outs(%start : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %x = arith.addf %o, %a : f32
      linalg.yield %x : f32
    } -> tensor<f32>
    %first = tensor.extract_slice %y[0] [1] [1] : tensor<8xf32> to tensor<f32>
    %u = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>, affine_map<() -> ()>],
        iterator_types = []} ins(%t, %first : tensor<f32>, tensor<f32>) outs(%start : tensor<f32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %x = arith.addf %a, %b : f32
      linalg.yield %x : f32
    } -> tensor<f32>
    gf.yield %u : tensor<f32>
  }
  return %y : tensor<?xf32>
}

// -----

// One query does not pay for packing.
// CHECK-LABEL: func @step
func.func @step(%q: tensor<2x1x8xf32>, %k: tensor<2x?x8xf32>) -> tensor<2x1x8xf32> {
  // CHECK-NOT: gf.pack
  // CHECK: linalg.generic {{.*}}"parallel", "parallel", "reduction"]} ins(%{{.*}}, %{{.*}} : tensor<1x8xf32>, tensor<?x8xf32>)
  // CHECK-NOT: gf.linear
  %y = gf.attention queries(%q : tensor<2x1x8xf32>) keys(%k : tensor<2x?x8xf32>)
      attributes {gf.algorithm = "resident", gf.query_block = 24} -> tensor<2x1x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<2x1x8xf32>
}

// -----

// Rows of halves are to be summed in f32: left to another lowering.
// REMARK: remark: {{.*}}attention: not in blocks of queries, for its product with the keys
// CHECK-LABEL: func @half
func.func @half(%q: tensor<3x8xf16>, %k: tensor<5x8xf16>) -> tensor<3x5xf16> {
  // CHECK: gf.attention {{.*}}gf.algorithm = "naive"
  %y = gf.attention queries(%q : tensor<3x8xf16>) keys(%k : tensor<5x8xf16>)
      attributes {gf.algorithm = "resident", gf.query_block = 6} -> tensor<3x5xf16> {
  ^row(%qr: tensor<8xf16>, %kr: tensor<5x8xf16>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf16>, tensor<5x8xf16> -> tensor<5xf16>
    gf.yield %s : tensor<5xf16>
  }
  return %y : tensor<3x5xf16>
}

// -----

// The log-sum-exp comes of the largest scores and the sums of powers, before the division. A
// row of weights is a result as others are; then all keys are looked at.
// REMARK: remark: {{.*}}attention: resident, 24 query rows, 1 map, keys in panels of 64, no key left out for its result"
// CHECK-LABEL: func @statistics
func.func @statistics(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?xf32>, tensor<?x?xf32>) {
  // CHECK: %[[LARGEST:.*]] = linalg.generic {{.*}}"parallel", "reduction"]}
  // CHECK: arith.maximumf
  // CHECK: %[[BASE:.*]] = linalg.generic {{.*}} outs(%[[LARGEST]]
  // CHECK: %[[POWERS:.*]]:2 = linalg.generic {{.*}} ins(%[[BASE]]
  // CHECK: math.exp
  // CHECK: %[[LOG:.*]] = linalg.generic {{.*}} ins(%[[BASE]], %[[POWERS]]#1
  // CHECK: math.log
  // CHECK: arith.cmpf oeq
  // CHECK: %[[SUM:.*]] = linalg.generic {{.*}} outs(%[[POWERS]]#1
  // CHECK: %[[INVERSE:.*]] = linalg.generic {{.*}} ins(%[[SUM]]
  // CHECK: arith.divf
  // CHECK: tensor.insert_slice %[[LOG]] into
  // CHECK: %[[WEIGHTS:.*]] = linalg.generic {{.*}} ins(%[[POWERS]]#0, %[[INVERSE]]
  // CHECK: tensor.insert_slice %[[WEIGHTS]] into
  %y, %l, %w = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      causal attributes {gf.algorithm = "resident"} -> (tensor<?x8xf32>, tensor<?xf32>, tensor<?x?xf32>) {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p, %l = gf.row_softmax %s : tensor<?xf32>, tensor<f32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y, %l, %p : tensor<8xf32>, tensor<f32>, tensor<?xf32>
  }
  return %y, %l, %w : tensor<?x8xf32>, tensor<?xf32>, tensor<?x?xf32>
}

// -----

// Of one sequence a cache is packed as far as it is reached, although its offset stands in a tensor.
// CHECK-LABEL: func @one_sequence
// CHECK-SAME: %{{.*}}: tensor<1x?x8xf32>, %[[K:.*]]: tensor<9x8xf32>, %[[O:.*]]: tensor<1xi64>
func.func @one_sequence(%q: tensor<1x?x8xf32>, %k: tensor<9x8xf32>, %o: tensor<1xi64>) -> tensor<1x?x8xf32> {
  // CHECK: %[[AT:.*]] = tensor.extract %[[O]][%c0]
  // CHECK: %[[OFFSET:.*]] = arith.index_cast %[[AT]]
  // CHECK: %[[REACHED:.*]] = tensor.extract_slice %[[K]][0, 0] [%{{.*}}, 8] [1, 1] : tensor<9x8xf32> to tensor<?x8xf32>
  // CHECK: gf.pack %[[REACHED]] along 0
  %y = gf.attention queries(%q : tensor<1x?x8xf32>) keys(%k : tensor<9x8xf32>) offset(%o : tensor<1xi64>)
      causal attributes {gf.algorithm = "resident"} -> tensor<1x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<9x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<9x8xf32> -> tensor<9xf32>
    %p = gf.row_softmax %s : tensor<9xf32>
    %y = gf.row_values %p, %kr : tensor<9xf32>, tensor<9x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<1x?x8xf32>
}

// -----

// Queries of an open number that look at a state into which rows are written: one block of
// them, as a step is, packs keys where it meets them; several have panels before them.
// CHECK-LABEL: func @step_of_cache
// CHECK-SAME: %[[Q:.*]]: tensor<?x8xf32>, %[[ROWS:.*]]: tensor<1x8xf32>, %[[CACHE:.*]]: tensor<512x8xf32>
func.func @step_of_cache(%q: tensor<?x8xf32>, %rows: tensor<1x8xf32>, %cache: tensor<512x8xf32> {gf.name = "c", gf.state}) -> tensor<?x8xf32> {
  // CHECK: %[[KEYS:.*]] = tensor.insert_slice %[[ROWS]] into %[[CACHE]]
  %k = tensor.insert_slice %rows into %cache[7, 0] [1, 8] [1, 1] : tensor<1x8xf32> into tensor<512x8xf32>
  // CHECK: %[[ONE:.*]] = arith.cmpi sle, %{{.*}}, %c24
  // CHECK: %[[KEYS_BEFORE:.*]] = arith.select %[[ONE]], %c0, %c512
  // CHECK: tensor.extract_slice %[[KEYS]][0, 0] [%[[KEYS_BEFORE]], 8]
  // CHECK: gf.pack
  // CHECK: scf.for
  // CHECK: scf.if %[[ONE]]
  // CHECK-NEXT: scf.for %[[FROM:.*]] = %c0 to %c512 step %c256 iter_args(%[[SCORES:.*]] =
  // CHECK: %[[SOME:.*]] = tensor.extract_slice %[[KEYS]][%[[FROM]], 0]
  // CHECK: bufferization.alloc_tensor() : tensor<4x8x64xf32>
  // CHECK: %[[PACKED:.*]] = gf.pack %[[SOME]] along 0
  // CHECK: %[[PLACE:.*]] = tensor.extract_slice %[[SCORES]][0, %[[FROM]]]
  // CHECK: gf.linear %{{.*}}, %[[PACKED]] outs(%[[PLACE]]
  // CHECK: } else {
  // CHECK-NEXT: gf.linear
  // CHECK: scf.if %[[ONE]]
  // CHECK: scf.for {{.*}} iter_args(%[[SUM:.*]] =
  // CHECK: gf.pack %{{.*}} along 1
  // CHECK: gf.linear %{{.*}} initial(%[[SUM]] : tensor<?x8xf32>) outs(%[[SUM]] : tensor<?x8xf32>)
  // CHECK: } else {
  // CHECK-NEXT: gf.linear
  // CHECK: return
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<512x8xf32>) attributes {gf.algorithm = "resident", gf.query_block = 24 : i64} -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<512x8xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<512x8xf32> -> tensor<512xf32>
    %p = gf.row_softmax %s : tensor<512xf32>
    %y = gf.row_values %p, %kr : tensor<512xf32>, tensor<512x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

// With an open number of keys a run finds how many queries a block has: whole tiles of 6, as many
// as leave the elements of their scores few.
// CHECK-LABEL: func @many_keys
// CHECK-SAME: %{{.*}}: tensor<?x8xf32>, %[[K:.*]]: tensor<?x8xf32>
func.func @many_keys(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-DAG: %[[MOST:.*]] = arith.constant 48 : index
  // CHECK-DAG: %[[SCORES:.*]] = arith.constant 153600 : index
  // CHECK-DAG: %[[TILE:.*]] = arith.constant 6 : index
  // CHECK-DAG: %[[ONE:.*]] = arith.constant 1 : index
  // CHECK: %[[KEYS:.*]] = tensor.dim %[[K]]
  // CHECK: %[[SOME:.*]] = arith.maxsi %[[KEYS]], %[[ONE]]
  // CHECK: %[[FIT:.*]] = arith.divsi %[[SCORES]], %[[SOME]]
  // CHECK: %[[TILES:.*]] = arith.divui %[[FIT]], %[[TILE]]
  // CHECK: %[[WHOLE:.*]] = arith.muli %[[TILES]], %[[TILE]]
  // CHECK: %[[LEAST:.*]] = arith.maxsi %[[WHOLE]], %[[TILE]]
  // CHECK: %[[ROWS:.*]] = arith.minsi %[[LEAST]], %[[MOST]]
  // CHECK: scf.for
  // CHECK: arith.minsi %{{.*}}, %[[ROWS]]
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      attributes {gf.algorithm = "resident", gf.query_block = 48, gf.block_scores = 153600} -> tensor<?x8xf32> {
  ^row(%query: tensor<8xf32>, %key: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %query, %key : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %o = gf.row_values %p, %key : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %o : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}
