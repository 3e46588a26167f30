// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-attach-target=target=x86-64-v4 --gf-tile-attention --canonicalize --cse | FileCheck %s
// RUN: sed 's/gf.algorithm = "[a-z]*", //' %s | gatefold-opt - --gf-attach-target=target=x86-64-v4 --gf-choose-algorithms | FileCheck %s --check-prefix=CHOSEN

#id = affine_map<(d0) -> (d0)>

// The first four keys and a window: a block of keys that is behind the fourth and before the
// window of the first query is not looked at, and a block's ends that are hidden are left out.
// CHECK-LABEL: func @sinks
// CHOSEN-LABEL: func @sinks
// CHOSEN: gf.algorithm = "online"
func.func @sinks(%q: tensor<4096x8xf32>, %k: tensor<4096x8xf32>) -> tensor<4096x8xf32> {
  // CHECK: %[[ROW:.*]] = arith.muli
  // CHECK: scf.for %[[START:.*]] = %c0 to %{{.*}} step %c512
  // CHECK: %[[FIRST:.*]] = arith.maxsi %[[START]], %c0
  // CHECK: %[[END:.*]] = arith.minsi
  // CHECK: %[[LAST:.*]] = arith.subi %[[END]], %c1
  // CHECK: %[[FEW:.*]] = arith.cmpi slt, %[[FIRST]], %c4 : index
  // CHECK: %[[LEAST:.*]] = arith.subi %[[ROW]], %[[LAST]] : index
  // CHECK: %[[NEAR:.*]] = arith.cmpi slt, %[[LEAST]], %c128 : index
  // CHECK: %[[MAY:.*]] = arith.ori %[[FEW]], %[[NEAR]] : i1
  // CHECK: %[[STATE:.*]]:3 = scf.if %[[MAY]]
  // CHECK:   %[[SEEN:.*]]:2 = scf.for {{.*}} = %[[FIRST]] to %[[END]] step %c64
  // CHECK:   arith.divui %[[SEEN]]#0, %c64
  // CHECK:   gf.linear
  // CHECK:   gf.linear
  // CHECK: else
  // CHECK-NEXT: scf.yield %{{.*}}, %{{.*}}, %{{.*}} : tensor
  // CHECK: scf.yield %[[STATE]]#0, %[[STATE]]#1, %[[STATE]]#2
  %e = tensor.empty() : tensor<4096xi1>
  %y = gf.attention queries(%q : tensor<4096x8xf32>) keys(%k : tensor<4096x8xf32>) causal attributes {gf.algorithm = "online", gf.query_block = 24 : i64, gf.key_block = 512 : i64} -> tensor<4096x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<4096x8xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<4096x8xf32> -> tensor<4096xf32>
    %where = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%e : tensor<4096xi1>) {
    ^bb0(%o: i1):
      %c4 = arith.constant 4 : index
      %c128 = arith.constant 128 : index
      %col = linalg.index 0 : index
      %few = arith.cmpi slt, %col, %c4 : index
      %distance = arith.subi %r, %col : index
      %near = arith.cmpi slt, %distance, %c128 : index
      %shown = arith.ori %few, %near : i1
      linalg.yield %shown : i1
    } -> tensor<4096xi1>
    %p = gf.row_softmax %s where(%where : tensor<4096xi1>) : tensor<4096xf32>
    %y = gf.row_values %p, %kr : tensor<4096xf32>, tensor<4096x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<4096x8xf32>
}

// A number of a head: blocks of queries look at keys from the first to the last one that may
// be seen, by large steps and by small ones at the ends. One part alone is seen, so that
// going through blocks of keys spares nothing.
// CHECK-LABEL: func @prefix
// CHECK-SAME: %[[Q:.*]]: tensor<?x8xf32>, %[[K:.*]]: tensor<?x8xf32>, %[[N:.*]]: tensor<i64>
// CHOSEN-LABEL: func @prefix
// CHOSEN: gf.algorithm = "resident"
func.func @prefix(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %n: tensor<i64>) -> tensor<?x8xf32> {
  // CHECK: scf.for {{.*}} step %c1024 iter_args
  // CHECK:   tensor.extract %[[N]][]
  // CHECK:   arith.cmpi slt
  // CHECK: scf.for {{.*}} step %c64 iter_args
  // CHECK: scf.for {{.*}} step %c64 iter_args
  // CHECK: gf.linear
  %c0 = arith.constant 0 : index
  %size = tensor.dim %k, %c0 : tensor<?x8xf32>
  %e = tensor.empty(%size) : tensor<?xi1>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) captures(%n : tensor<i64>) attributes {gf.algorithm = "resident", gf.query_block = 24 : i64} -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %number: tensor<i64>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %where = linalg.generic {indexing_maps = [affine_map<(d0) -> ()>, #id], iterator_types = ["parallel"]} ins(%number : tensor<i64>) outs(%e : tensor<?xi1>) {
    ^bb0(%i: i64, %o: i1):
      %col = linalg.index 0 : index
      %col64 = arith.index_cast %col : index to i64
      %shown = arith.cmpi slt, %col64, %i : i64
      linalg.yield %shown : i1
    } -> tensor<?xi1>
    %p = gf.row_softmax %s where(%where : tensor<?xi1>) : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// What cannot be followed may be anything: all keys are looked at.
// CHECK-LABEL: func @given
func.func @given(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %m: tensor<?xi1>) -> tensor<?x8xf32> {
  // CHECK-NOT: scf.if
  // CHECK-NOT: step %c64
  // CHECK: gf.linear
  // CHECK: return
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k, %m : tensor<?x8xf32>, tensor<?xi1>) attributes {gf.algorithm = "resident", gf.query_block = 24 : i64} -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %mr: tensor<?xi1>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s where(%mr : tensor<?xi1>) : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}
