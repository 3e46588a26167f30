// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-attach-target=target=x86-64-v4 --gf-tile-attention --canonicalize --cse --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-attach-target=target=x86-64-v4 --gf-tile-attention --split-input-file --remark-format=emitRemark --remarks-filter=gf-tile-attention -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Blocks of keys begin at multiples of their size, from the block of the first key that some
// query sees on, and end with the last. Each takes the maximum, the sum and the product with
// the values on; there is no tile longer than a block of keys. What needs the query alone
// stands before the loop, what needs the result behind it.
// REMARK: remark: {{.*}}attention: online, 24 query rows, 128 keys at a time, 1 map, keys in panels of 64"
// CHECK-LABEL: func @window
// CHECK-SAME: %[[Q:.*]]: tensor<?x8xf32>, %[[K:.*]]: tensor<?x8xf32>
func.func @window(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x70xf32>) -> tensor<?x70xf32> {
  // CHECK-DAG: %[[SIZE:.*]] = arith.constant 128 : index
  // CHECK-DAG: %[[HIDDEN:.*]] = arith.constant 0xFF800000 : f32
  // CHECK: scf.for %[[BLOCK:.*]] =
  // CHECK: %[[STEPS:.*]] = arith.divui %{{.*}}, %c64
  // CHECK: %[[FIRST:.*]] = arith.muli %[[STEPS]], %c64
  // CHECK: %[[SCALED:.*]] = linalg.generic
  // CHECK: arith.mulf
  // CHECK: linalg.fill ins(%[[HIDDEN]]
  // CHECK: %[[BLOCKS:.*]] = arith.divui %[[FIRST]], %[[SIZE]]
  // CHECK: %[[BEGIN:.*]] = arith.muli %[[BLOCKS]], %[[SIZE]]
  // CHECK: %[[ALL:.*]]:3 = scf.for %[[KEY:.*]] = %[[BEGIN]] to %[[END:.*]] step %[[SIZE]] iter_args(%[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}, %[[A:.*]] = %{{.*}}) -> (tensor<?xf32>, tensor<?xf32>, tensor<?x70xf32>) {
  // CHECK: %[[FROM:.*]] = arith.maxsi %[[KEY]], %[[FIRST]]
  // CHECK: %[[BEHIND:.*]] = arith.addi %[[KEY]], %[[SIZE]]
  // CHECK: %[[TO:.*]] = arith.minsi %[[BEHIND]], %[[END]]
  // CHECK: bufferization.alloc_tensor(%{{.*}}) : tensor<?x144xf32>
  // CHECK: %[[SCORES:.*]] = gf.linear %[[SCALED]],
  // Both ends of a window, as far as they are in the block.
  // CHECK: arith.cmpi sge
  // CHECK: arith.cmpi sle
  // CHECK: arith.cmpi sge
  // CHECK: arith.cmpi sle
  // CHECK: %[[LARGEST:.*]] = linalg.generic {{.*}}"parallel", "reduction"]}
  // CHECK: arith.maximumf
  // CHECK: %[[NEXT:.*]]:4 = linalg.generic {{.*}} outs(%[[M]], %[[L]], %{{.*}}, %[[LARGEST]]
  // CHECK: arith.maximumf
  // CHECK: arith.cmpf oeq, %{{.*}}, %[[HIDDEN]]
  // CHECK: math.exp
  // CHECK: arith.mulf
  // CHECK: %[[POWERS:.*]]:2 = linalg.generic {{.*}} ins(%[[NEXT]]#3 {{.*}} outs(%{{.*}}, %[[NEXT]]#1
  // CHECK: math.exp
  // CHECK: arith.addf
  // CHECK: %[[REST:.*]] = linalg.generic {{.*}} ins(%[[NEXT]]#2 {{.*}} outs(%[[A]]
  // CHECK: arith.mulf
  // CHECK: %[[SUM:.*]] = gf.linear %{{.*}}, %{{.*}} initial(%[[REST]] : tensor<?x70xf32>) outs(%[[REST]]
  // CHECK: scf.yield %[[NEXT]]#0, %[[POWERS]]#1, %[[SUM]]
  // CHECK: }
  // CHECK-NOT: gf.linear
  // CHECK: linalg.generic {{.*}} outs(%[[ALL]]#1
  // CHECK: %[[INVERSE:.*]] = linalg.generic
  // CHECK: arith.divf
  // CHECK: linalg.generic {{.*}} ins(%[[INVERSE]] : tensor<?xf32>) outs(%[[ALL]]#2
  // CHECK: math.absf
  %scale = arith.constant 0.25 : f32
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k, %v : tensor<?x8xf32>, tensor<?x70xf32>)
      window(300, 0)
      attributes {gf.algorithm = "online", gf.query_block = 24, gf.key_block = 128} -> tensor<?x70xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %vr: tensor<?x70xf32>, %r: index, %position: index):
    %e = tensor.empty() : tensor<8xf32>
    %c = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
        iterator_types = ["parallel"]} ins(%qr : tensor<8xf32>) outs(%e : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %x = arith.mulf %a, %scale : f32
      linalg.yield %x : f32
    } -> tensor<8xf32>
    %s = gf.row_scores %c, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %y = gf.row_values %p, %vr : tensor<?xf32>, tensor<?x70xf32> -> tensor<70xf32>
    %z = math.absf %y : tensor<70xf32>
    gf.yield %z : tensor<70xf32>
  }
  return %y : tensor<?x70xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> (0)>

// Two maps: each has its maximum, its sum and its product, with the same values of the block
// of keys; what made one row of weights makes one result of two, behind the loop:
// (a1 - l * (l1 / l2) a2) / l1.
// REMARK: remark: {{.*}}attention: online, 12 query rows, 128 keys at a time, 2 maps, keys in panels of 64"
// CHECK-LABEL: func @differential
func.func @differential(%q1: tensor<3x?x8xf32>, %q2: tensor<3x?x8xf32>, %k: tensor<1x?x8xf32>,
                        %l: tensor<3x?x1xf32>) -> tensor<3x?x8xf32> {
  // CHECK: gf.pack
  // CHECK: gf.pack
  // CHECK-NOT: gf.pack
  // CHECK: scf.for
  // CHECK: scf.for
  // CHECK: %[[ALL:.*]]:6 = scf.for {{.*}} -> (tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?xf32>, tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK: gf.linear %{{.*}}, %[[KEYS:.*]] outs
  // CHECK: math.exp
  // CHECK: gf.linear %{{.*}}, %[[KEYS]] outs
  // CHECK: math.exp
  // CHECK: gf.linear %{{.*}}, %[[VALUES:.*]] initial(
  // CHECK: gf.linear %{{.*}}, %[[VALUES]] initial(
  // CHECK: scf.yield
  // CHECK-NOT: gf.linear
  // CHECK: %[[FACTOR:.*]] = linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<?xf32>, tensor<?xf32>)
  // CHECK: arith.divf
  // CHECK: %[[COMBINED:.*]] = linalg.generic {{.*}} ins(%[[ALL]]#4, %[[ALL]]#5, %{{.*}}, %[[FACTOR]]
  // CHECK: arith.mulf
  // CHECK: arith.mulf
  // CHECK: arith.subf
  %c1 = arith.constant 1 : index
  %n = tensor.dim %k, %c1 : tensor<1x?x8xf32>
  %y = gf.attention queries(%q1, %q2, %l : tensor<3x?x8xf32>, tensor<3x?x8xf32>, tensor<3x?x1xf32>)
      keys(%k : tensor<1x?x8xf32>)
      attributes {gf.algorithm = "online", gf.query_block = 12, gf.key_block = 128} -> tensor<3x?x8xf32> {
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

// What a module asks for and cannot be is left to the naive lowering.
// REMARK: remark: {{.*}}attention: not in blocks of keys, for its top_k
// CHECK-LABEL: func @largest
// CHECK: gf.attention {{.*}}gf.algorithm = "naive"
func.func @largest(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> tensor<?x8xf32> {
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      attributes {gf.algorithm = "online"} -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %t = gf.row_top_k %s fraction 0.5 : tensor<?xf32> -> tensor<?xi1>
    %p = gf.row_softmax %s where(%t : tensor<?xi1>) : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

// The log-sum-exp is known when all keys have passed.
// CHECK-LABEL: func @log_sum_exp
func.func @log_sum_exp(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?xf32>) {
  // CHECK: %[[ALL:.*]]:3 = scf.for
  // CHECK: scf.yield
  // CHECK: %[[BASE:.*]] = linalg.generic {{.*}} outs(%[[ALL]]#0
  // CHECK: %[[LOG:.*]] = linalg.generic {{.*}} ins(%[[BASE]], %[[ALL]]#1
  // CHECK: math.log
  // CHECK: linalg.generic {{.*}} outs(%[[ALL]]#1
  // CHECK: tensor.insert_slice %[[LOG]] into
  %y, %l = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      attributes {gf.algorithm = "online", gf.query_block = 24, gf.key_block = 128}
      -> (tensor<?x8xf32>, tensor<?xf32>) {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p, %l = gf.row_softmax %s : tensor<?xf32>, tensor<f32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y, %l : tensor<8xf32>, tensor<f32>
  }
  return %y, %l : tensor<?x8xf32>, tensor<?xf32>
}

// -----

// Weights that are no softmax are added up as they are: the loop carries their product alone. That
// a softmax is added to 0 makes it no other sum of softmaxes.
// CHECK-LABEL: func @added_up
func.func @added_up(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %v: tensor<?x6xf32>) -> tensor<?x6xf32> {
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %{{.*}} = %{{.*}}, %[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}) -> (tensor<?xf32>, tensor<?xf32>, tensor<?x6xf32>, tensor<?x6xf32>)
  // CHECK: %[[TANH:.*]] = linalg.generic
  // CHECK: math.tanh
  // CHECK: %[[PART:.*]] = tensor.extract_slice %[[TANH]]
  // CHECK: gf.linear %[[PART]], {{.*}} initial(%[[A]] :
  // CHECK: math.exp
  %zero = arith.constant 0.0 : f32
  %c0 = arith.constant 0 : index
  %count = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k, %v : tensor<?x8xf32>, tensor<?x6xf32>)
      attributes {gf.algorithm = "online", gf.query_block = 24, gf.key_block = 128} -> tensor<?x6xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %vr: tensor<?x6xf32>, %r: index, %position: index):
    %e = tensor.empty(%count) : tensor<?xf32>
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %t = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        ins(%s : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %o: f32):
      %x = math.tanh %a : f32
      linalg.yield %x : f32
    } -> tensor<?xf32>
    %a = gf.row_values %t, %vr : tensor<?xf32>, tensor<?x6xf32> -> tensor<6xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %w = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        ins(%p : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%b: f32, %o: f32):
      %x = arith.addf %b, %zero : f32
      linalg.yield %x : f32
    } -> tensor<?xf32>
    %b = gf.row_values %w, %vr : tensor<?xf32>, tensor<?x6xf32> -> tensor<6xf32>
    %f = tensor.empty() : tensor<6xf32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["parallel"]}
        ins(%a, %b : tensor<6xf32>, tensor<6xf32>) outs(%f : tensor<6xf32>) {
    ^bb0(%c: f32, %d: f32, %o: f32):
      %x = arith.subf %c, %d : f32
      linalg.yield %x : f32
    } -> tensor<6xf32>
    gf.yield %y : tensor<6xf32>
  }
  return %y : tensor<?x6xf32>
}
