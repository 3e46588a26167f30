// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-choose-algorithms=naive --gf-lower-attention --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

// Rows in the innermost loop; what no query reaches is cut off before the values.
// CHECK-LABEL: func @causal
// CHECK-SAME: %[[Q:.*]]: tensor<2x?x8xf32>, %[[K:.*]]: tensor<2x?x8xf32>, %[[V:.*]]: tensor<2x?x8xf32>
func.func @causal(%q: tensor<2x?x8xf32>, %k: tensor<2x?x8xf32>, %v: tensor<2x?x8xf32>)
    -> tensor<2x?x8xf32> {
  // CHECK: %[[T:.*]] = tensor.dim %[[Q]], %{{.*}}
  // CHECK: %[[S:.*]] = tensor.dim %[[K]], %{{.*}}
  // CHECK: scf.for %[[HEAD:.*]] = %{{.*}} to %{{.*}} step
  // CHECK: scf.for %[[ROW:.*]] = %{{.*}} to %[[T]] step
  // CHECK: %[[OFFSET:.*]] = arith.subi %[[S]], %[[T]]
  // CHECK: arith.maxsi %[[OFFSET]], %c-2305843009213693952
  // CHECK: arith.minsi %{{.*}}, %c2305843009213693952
  // CHECK: %[[VISIBLE:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<?xi1>)
  // CHECK: %[[QUERY:.*]] = tensor.extract_slice %[[Q]][%[[HEAD]], %[[ROW]], 0] [1, 1, 8]
  // CHECK: %[[KEYS:.*]] = tensor.extract_slice %[[K]][%[[HEAD]], 0, 0]
  // CHECK: %[[VALUES:.*]] = tensor.extract_slice %[[V]][%[[HEAD]], 0, 0]
  // CHECK: %[[SCORES:.*]] = linalg.generic {{.*}}"parallel", "reduction"]} ins(%[[QUERY]], %[[KEYS]]
  // CHECK: linalg.generic {{.*}} ins(%[[SCORES]], %[[VISIBLE]]
  // CHECK: arith.maximumf
  // CHECK: math.exp
  // CHECK: arith.divf
  // CHECK: tensor.extract_slice %[[VALUES]][{{.*}}] [{{.*}}, 8]
  // CHECK: %[[Y:.*]] = linalg.generic {{.*}}"parallel", "reduction"]}
  // CHECK: tensor.insert_slice %[[Y]] into %{{.*}}[%[[HEAD]], %[[ROW]], 0]
  %y = gf.attention queries(%q : tensor<2x?x8xf32>)
      keys(%k, %v : tensor<2x?x8xf32>, tensor<2x?x8xf32>) causal -> tensor<2x?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %vr: tensor<?x8xf32>, %row: index,
       %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %y = gf.row_values %p, %vr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<2x?x8xf32>
}

// -----

// Without a restriction all values are read; the one key head serves both heads.
// CHECK-LABEL: func @unrestricted
// CHECK-SAME: %{{.*}}: tensor<2x3x8xf32>, %[[K:.*]]: tensor<1x5x8xf32>, %[[V:.*]]: tensor<1x5x4xf32>
func.func @unrestricted(%q: tensor<2x3x8xf32>, %k: tensor<1x5x8xf32>, %v: tensor<1x5x4xf32>)
    -> tensor<2x3x4xf32> {
  // CHECK: tensor.extract_slice %[[K]][0, 0, 0] [1, 5, 8]
  // CHECK: %[[VALUES:.*]] = tensor.extract_slice %[[V]][0, 0, 0] [1, 5, 4]
  // CHECK-NOT: tensor.extract_slice %[[VALUES]]
  %y = gf.attention queries(%q : tensor<2x3x8xf32>)
      keys(%k, %v : tensor<1x5x8xf32>, tensor<1x5x4xf32>) -> tensor<2x3x4xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %vr: tensor<5x4xf32>, %row: index,
       %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<5x8xf32> -> tensor<5xf32>
    %p = gf.row_softmax %s : tensor<5xf32>
    %y = gf.row_values %p, %vr : tensor<5xf32>, tensor<5x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<2x3x4xf32>
}

// -----

func.func @half(%q: tensor<3x8xf16>, %k: tensor<5x8xf16>) -> tensor<3x5xf16> {
  %y = gf.attention queries(%q : tensor<3x8xf16>) keys(%k : tensor<5x8xf16>) -> tensor<3x5xf16> {
  ^row(%qr: tensor<8xf16>, %kr: tensor<5x8xf16>, %row: index, %position: index):
    // expected-error @+1 {{not compiled yet: a row of 'f16'}}
    %s = gf.row_scores %qr, %kr : tensor<8xf16>, tensor<5x8xf16> -> tensor<5xf16>
    gf.yield %s : tensor<5xf16>
  }
  return %y : tensor<3x5xf16>
}

// -----

// Which keys some query reaches: by the lengths, of all queries the same.
// CHECK-LABEL: func @reached
// CHECK-SAME: %{{.*}}: tensor<?x8xf32>, %{{.*}}: tensor<?x8xf32>, %[[N:.*]]: tensor<i64>
func.func @reached(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %n: tensor<i64>) -> tensor<?xf32> {
  // CHECK: scf.for %[[ROW:.*]] =
  // CHECK: %[[LENGTH:.*]] = tensor.extract %[[N]][]
  // CHECK: %[[INDEX:.*]] = arith.index_cast %[[LENGTH]] : i64 to index
  // CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[INDEX]]
  // CHECK: %[[NOT_BELOW_FIRST:.*]] = arith.maxsi %[[END]], %{{.*}}
  // CHECK: %[[REACHED:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<?xi1>)
  // CHECK: %[[KEY:.*]] = linalg.index 0
  // CHECK: arith.cmpi slt, %[[KEY]], %[[NOT_BELOW_FIRST]]
  // CHECK: arith.select
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      lengths(%n : tensor<i64>) -> tensor<?xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %seen = gf.row_visible any_query : tensor<?xi1>
    %zero = arith.constant 0.0 : f32
    %start = tensor.from_elements %zero : tensor<f32>
    %y = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>],
        iterator_types = ["reduction"]} ins(%s, %seen : tensor<?xf32>, tensor<?xi1>) outs(%start : tensor<f32>) {
    ^bb0(%x: f32, %counts: i1, %sum: f32):
      %kept = arith.select %counts, %x, %zero : f32
      %next = arith.addf %sum, %kept : f32
      linalg.yield %next : f32
    } -> tensor<f32>
    gf.yield %y : tensor<f32>
  }
  return %y : tensor<?xf32>
}

// -----

// The log-sum-exp of a row: its largest score and the logarithm of the sum of powers; -inf
// where that is 0.
// CHECK-LABEL: func @log_sum_exp
func.func @log_sum_exp(%q: tensor<3x8xf32>, %k: tensor<5x8xf32>) -> (tensor<3x8xf32>, tensor<3xf32>) {
  // CHECK: %[[LARGEST:.*]] = tensor.extract %{{.*}}[] : tensor<f32>
  // CHECK: %[[SUM:.*]] = tensor.extract %{{.*}}[] : tensor<f32>
  // CHECK: %[[NONE:.*]] = arith.cmpf oeq, %[[SUM]], %cst
  // CHECK: %[[LOG:.*]] = math.log %[[SUM]] : f32
  // CHECK: %[[ALL:.*]] = arith.addf %[[LARGEST]], %[[LOG]]
  // CHECK: %[[RESULT:.*]] = arith.select %[[NONE]], %{{.*}}, %[[ALL]]
  // CHECK: %[[ROW:.*]] = tensor.from_elements %[[RESULT]] : tensor<f32>
  // CHECK: tensor.insert_slice %[[ROW]] into %{{.*}} : tensor<f32> into tensor<3xf32>
  %y, %l = gf.attention queries(%q : tensor<3x8xf32>) keys(%k : tensor<5x8xf32>)
      -> (tensor<3x8xf32>, tensor<3xf32>) {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<5x8xf32> -> tensor<5xf32>
    %p, %l = gf.row_softmax %s : tensor<5xf32>, tensor<f32>
    %y = gf.row_values %p, %kr : tensor<5xf32>, tensor<5x8xf32> -> tensor<8xf32>
    gf.yield %y, %l : tensor<8xf32>, tensor<f32>
  }
  return %y, %l : tensor<3x8xf32>, tensor<3xf32>
}
