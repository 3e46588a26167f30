// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-attach-target=target=x86-64-v4 --gf-tile-attention --canonicalize --cse | FileCheck %s

#row = affine_map<(d0) -> (d0)>

// Keys within the radius from an end of the row lack neighbours: each loops over those that it
// has. All others, keys [2, S - 2), loop over the same five places, so that they are vectors.
// CHECK-LABEL: func.func @masked
// CHECK: %[[SCORES:.*]] = gf.linear
// CHECK: %[[FIRST:.*]] = arith.minsi %[[KEYS:.*]], %c2
// CHECK: %[[BEFORE:.*]] = arith.subi %[[KEYS]], %c2
// CHECK: %[[END:.*]] = arith.maxsi %[[BEFORE]], %[[FIRST]]
// CHECK: linalg.generic
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c1 iter_args
// CHECK: %[[COUNT:.*]] = arith.subi %[[END]], %[[FIRST]]
// CHECK: %[[OWN:.*]] = tensor.extract_slice %[[SCORES]][0, %[[FIRST]]] [%{{.*}}, %[[COUNT]]] [1, 1]
// CHECK: linalg.generic {{.*}}"parallel", "parallel"]} ins(%[[OWN]],
// CHECK-NEXT: ^bb0(%[[SCORE:.*]]: f32, %[[SEEN:.*]]: i1,
// CHECK: %[[KEY:.*]] = linalg.index 1
// CHECK-NEXT: %[[SUM:.*]] = scf.for %[[STEP:.*]] = %c0 to %c5 step %c1 iter_args
// CHECK-NEXT: %[[PLACE:.*]] = arith.addi %[[KEY]], %[[STEP]]
// CHECK-NEXT: tensor.extract %[[SCORES]][%{{.*}}, %[[PLACE]]]
// CHECK-NEXT: arith.cmpi ne, %[[STEP]], %c2
// CHECK: arith.select %[[SEEN]], %[[SUM]],
// CHECK: linalg.generic
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c1 iter_args
func.func @masked(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %m: tensor<?x?xi1>) -> tensor<?x8xf32> {
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      mask(%m : tensor<?x?xi1>) attributes {gf.algorithm = "resident", gf.query_block = 24 : i64} -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %d = gf.row_neighbours %s width 5 scope visible : tensor<?xf32>
    %p = gf.row_softmax %d : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}
