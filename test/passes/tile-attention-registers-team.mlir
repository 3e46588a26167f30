// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-schedule=target=sm_80 --gf-tile --gf-split --gf-bufferize --split-input-file | FileCheck %s

// Heads and blocks of queries are dealt to the ranks together, and nothing but the inputs and
// the result is in memory: vectors read the inputs and write the result.

// CHECK: module attributes {gf.arena_formula = "0"
// CHECK-LABEL: func @gatefold_run_entry
// CHECK-NOT: memref.alloc
// CHECK: %[[HEADS:.*]] = memref.dim %arg0, %c0
// CHECK: %[[BLOCKS:.*]] = arith.divsi
// CHECK: %[[TOTAL:.*]] = arith.muli
// CHECK: %[[RANK:.*]] = gf.team_rank
// CHECK: %[[RANKS:.*]] = gf.team_size
// CHECK: scf.for %{{.*}} = %[[RANK]] to %[[TOTAL]] step %[[RANKS]] {
// CHECK-NOT: scf.for
// CHECK: vector.transfer_read {{.*}} : memref<?x8xf32, strided<[?, 1], offset: ?>>, vector<128x16xf32>
// CHECK: scf.for {{.*}} -> (vector<128x1xf32>, vector<128x1xf32>, vector<128x16xf32>)
// CHECK: vector.transfer_write {{.*}} : vector<128x16xf32>, memref<?x8xf32, strided<[?, 1], offset: ?>>
// CHECK-NOT: gf.team_barrier
// CHECK: return
func.func @main(%q: tensor<?x?x8xf32> {gf.name = "q", gf.shape = affine_map<()[h, t, s] -> (h, t, 8)>},
                %k: tensor<?x?x8xf32> {gf.name = "k", gf.shape = affine_map<()[h, t, s] -> (h, s, 8)>})
    -> (tensor<?x?x8xf32> {gf.name = "y", gf.shape = affine_map<()[h, t, s] -> (h, t, 8)>})
    attributes {gf.dimensions = ["H", "T", "S"], gf.entry} {
  %y = gf.attention queries(%q : tensor<?x?x8xf32>) keys(%k : tensor<?x?x8xf32>) -> tensor<?x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x?x8xf32>
}

// -----

// One block of queries in all, whose loop is none, is one rank's.

// CHECK-LABEL: func @gatefold_run_entry
// CHECK: %[[RANK:.*]] = gf.team_rank
// CHECK: scf.for %{{.*}} = %[[RANK]] to %c1
// CHECK: vector.transfer_read {{.*}}vector<16x16xf32>
// CHECK: scf.for {{.*}} -> (vector<16x1xf32>, vector<16x1xf32>, vector<16x16xf32>)
// CHECK: vector.transfer_write {{.*}} : vector<16x16xf32>, memref<3x8xf32
// CHECK: return
func.func @main(%q: tensor<3x8xf32> {gf.name = "q", gf.shape = affine_map<() -> (3, 8)>},
                %k: tensor<100x8xf32> {gf.name = "k", gf.shape = affine_map<() -> (100, 8)>})
    -> (tensor<3x8xf32> {gf.name = "y", gf.shape = affine_map<() -> (3, 8)>})
    attributes {gf.dimensions = [], gf.entry} {
  %y = gf.attention queries(%q : tensor<3x8xf32>) keys(%k : tensor<100x8xf32>) -> tensor<3x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<100x8xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<100x8xf32> -> tensor<100xf32>
    %p = gf.row_softmax %s : tensor<100xf32>
    %y = gf.row_values %p, %kr : tensor<100xf32>, tensor<100x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<3x8xf32>
}
