// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-attach-target=target=x86-64-v4 --split-input-file --gf-tile-attention --canonicalize --cse | FileCheck %s

// Heads are split and merged without copies: queries and keys are read, and rows of the result are written,
// where they stand.
// CHECK-LABEL: func @heads
// CHECK-SAME: %[[Q:.*]]: tensor<?x2x8xf32>, %[[K:.*]]: tensor<?x2x8xf32>
func.func @heads(%q: tensor<?x2x8xf32>, %k: tensor<?x2x8xf32>) -> (tensor<?x2x8xf32>, index) {
  // CHECK-NOT: linalg.transpose
  // CHECK-DAG: %[[T:.*]] = tensor.dim %[[Q]], %c0
  // CHECK-DAG: %[[RESULT:.*]] = tensor.empty(%[[T]]) : tensor<?x2x8xf32>
  // CHECK: tensor.extract_slice %[[K]][0, %[[HEAD:.*]], 0] [%{{.*}}, 1, 8] [1, 1, 1] : tensor<?x2x8xf32> to tensor<?x8xf32>
  // CHECK: %[[Y:[0-9]+]] = scf.for %[[HEAD:.*]] = %{{.*}} iter_args(%[[OUTER:.*]] = %[[RESULT]])
  // CHECK: scf.for %{{.*}} iter_args(%[[MADE:.*]] = %[[OUTER]])
  // CHECK: tensor.extract_slice %[[Q]][%[[START:.*]], %[[HEAD]], 0] [%[[ROWS:.*]], 1, 8] [1, 1, 1] : tensor<?x2x8xf32> to tensor<?x8xf32>
  // CHECK: tensor.insert_slice %{{.*}} into %[[MADE]][%[[START]], %[[HEAD]], 0] [%[[ROWS]], 1, 8] [1, 1, 1]
  // CHECK-NOT: linalg.transpose
  // CHECK: %[[SIZE:.*]] = tensor.dim %[[Y]], %c0
  // CHECK: return %[[Y]], %[[SIZE]]
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %t = tensor.dim %q, %c0 : tensor<?x2x8xf32>
  %n = tensor.dim %k, %c0 : tensor<?x2x8xf32>
  %eq = tensor.empty(%t) : tensor<2x?x8xf32>
  %ek = tensor.empty(%n) : tensor<2x?x8xf32>
  %qt = linalg.transpose ins(%q : tensor<?x2x8xf32>) outs(%eq : tensor<2x?x8xf32>) permutation = [1, 0, 2]
  %kt = linalg.transpose ins(%k : tensor<?x2x8xf32>) outs(%ek : tensor<2x?x8xf32>) permutation = [1, 0, 2]
  %y = gf.attention queries(%qt : tensor<2x?x8xf32>) keys(%kt : tensor<2x?x8xf32>) attributes {gf.algorithm = "resident", gf.query_block = 24} -> tensor<2x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %r = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  %rows = tensor.dim %y, %c1 : tensor<2x?x8xf32>
  %e = tensor.empty(%t) : tensor<?x2x8xf32>
  %merged = linalg.transpose ins(%y : tensor<2x?x8xf32>) outs(%e : tensor<?x2x8xf32>) permutation = [1, 0, 2]
  return %merged, %rows : tensor<?x2x8xf32>, index
}

// -----

// Keys whose rows are columns are turned around once, as is a query that something else reads; a
// result that is returned as it is stays so.
// CHECK-LABEL: func @copies
// CHECK-SAME: %[[Q:.*]]: tensor<?x2x8xf32>, %[[K:.*]]: tensor<2x8x?xf32>
func.func @copies(%q: tensor<?x2x8xf32>, %k: tensor<2x8x?xf32>) -> (tensor<2x?x8xf32>, tensor<2x?x8xf32>, tensor<?x2x8xf32>) {
  // CHECK-DAG: linalg.transpose ins(%[[Q]]
  // CHECK-DAG: linalg.transpose ins(%[[K]]
  // CHECK: %[[Y:[0-9]+]] = scf.for
  // CHECK: linalg.transpose ins(%[[Y]]
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %t = tensor.dim %q, %c0 : tensor<?x2x8xf32>
  %n = tensor.dim %k, %c2 : tensor<2x8x?xf32>
  %eq = tensor.empty(%t) : tensor<2x?x8xf32>
  %ek = tensor.empty(%n) : tensor<2x?x8xf32>
  %qt = linalg.transpose ins(%q : tensor<?x2x8xf32>) outs(%eq : tensor<2x?x8xf32>) permutation = [1, 0, 2]
  %kt = linalg.transpose ins(%k : tensor<2x8x?xf32>) outs(%ek : tensor<2x?x8xf32>) permutation = [0, 2, 1]
  %y = gf.attention queries(%qt : tensor<2x?x8xf32>) keys(%kt : tensor<2x?x8xf32>) attributes {gf.algorithm = "resident", gf.query_block = 24} -> tensor<2x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %r = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  %e = tensor.empty(%t) : tensor<?x2x8xf32>
  %merged = linalg.transpose ins(%y : tensor<2x?x8xf32>) outs(%e : tensor<?x2x8xf32>) permutation = [1, 0, 2]
  return %y, %qt, %merged : tensor<2x?x8xf32>, tensor<2x?x8xf32>, tensor<?x2x8xf32>
}

// -----

// Numbers of queries would be written one by one.
// CHECK-LABEL: func @numbers
func.func @numbers(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>) -> tensor<?x2xf32> {
  // CHECK: %[[Y:[0-9]+]] = scf.for {{.*}} -> (tensor<2x?xf32>)
  // CHECK: linalg.transpose ins(%[[Y]] :
  %c1 = arith.constant 1 : index
  %t = tensor.dim %q, %c1 : tensor<2x?x8xf32>
  %y = gf.attention queries(%q : tensor<2x?x8xf32>) keys(%k : tensor<2x?x8xf32>) attributes {gf.algorithm = "resident", gf.query_block = 24} -> tensor<2x?xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p, %l = gf.row_softmax %s : tensor<?xf32>, tensor<f32>
    gf.yield %l : tensor<f32>
  }
  %e = tensor.empty(%t) : tensor<?x2xf32>
  %turned = linalg.transpose ins(%y : tensor<2x?xf32>) outs(%e : tensor<?x2xf32>) permutation = [1, 0]
  return %turned : tensor<?x2xf32>
}
