// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-attach-target=target=x86-64-v4 --gf-tile-attention --canonicalize --cse | FileCheck %s

// A block of queries looks at keys from the first to the last one whose segment lies between
// the least and the greatest of its own; the segments of both are still compared by element.
// CHECK-LABEL: func @packed
// CHECK-SAME: %[[Q:.*]]: tensor<?x8xf32>, %[[K:.*]]: tensor<?x8xf32>, %[[OF_Q:.*]]: tensor<?xi64>, %[[OF_K:.*]]: tensor<?xi64>
func.func @packed(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %of_q: tensor<?xi64>, %of_k: tensor<?xi64>) -> tensor<?x8xf32> {
  // CHECK: scf.for {{.*}} iter_args
  // CHECK: tensor.extract_slice %[[OF_Q]]
  // CHECK: %[[RANGE:.*]]:2 = linalg.generic {{.*}}iterator_types = ["reduction"]
  // CHECK: arith.minsi
  // CHECK: arith.maxsi
  // CHECK: %[[LEAST:.*]] = tensor.extract %[[RANGE]]#0
  // CHECK: %[[GREATEST:.*]] = tensor.extract %[[RANGE]]#1
  // CHECK: %[[PLACES:.*]]:2 = linalg.generic {{.*}}iterator_types = ["reduction"]
  // CHECK-DAG: arith.cmpi sge, %{{.*}}, %[[LEAST]]
  // CHECK-DAG: arith.cmpi sle, %{{.*}}, %[[GREATEST]]
  // CHECK: %[[FIRST:.*]] = tensor.extract %[[PLACES]]#0
  // CHECK: %[[END:.*]] = tensor.extract %[[PLACES]]#1
  // CHECK: gf.linear
  // CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel"]
  // CHECK: arith.cmpi eq
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) query_segments(%of_q : tensor<?xi64>) key_segments(%of_k : tensor<?xi64>) attributes {gf.algorithm = "resident", gf.query_block = 24 : i64} -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// Of each head, with keys that all sequences have alike.
// CHECK-LABEL: func @of_heads
// CHECK-SAME: %[[Q:.*]]: tensor<?x2x?x8xf32>, %[[K:.*]]: tensor<?x2x?x8xf32>, %[[OF_Q:.*]]: tensor<?x2x?xi64>, %[[OF_K:.*]]: tensor<1x2x?xi64>
func.func @of_heads(%q: tensor<?x2x?x8xf32>, %k: tensor<?x2x?x8xf32>, %of_q: tensor<?x2x?xi64>, %of_k: tensor<1x2x?xi64>) -> tensor<?x2x?x8xf32> {
  // CHECK: tensor.extract_slice %[[OF_Q]][%[[B:[^,]*]], %[[H:[^,]*]], %{{[^,]*}}] [1, 1, %
  // CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]
  // CHECK: tensor.extract_slice %[[OF_K]][0, %[[H]], 0] [1, 1, %
  // CHECK: linalg.generic {{.*}}iterator_types = ["reduction"]
  // CHECK: gf.linear
  // CHECK: arith.cmpi eq
  %y = gf.attention queries(%q : tensor<?x2x?x8xf32>) keys(%k : tensor<?x2x?x8xf32>) query_segments(%of_q : tensor<?x2x?xi64>) key_segments(%of_k : tensor<1x2x?xi64>) attributes {gf.algorithm = "resident", gf.query_block = 24 : i64} -> tensor<?x2x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x2x?x8xf32>
}
