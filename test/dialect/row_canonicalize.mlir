// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --canonicalize --split-input-file | FileCheck %s

// A softmax where everything counts.
// CHECK-LABEL: func @splat
func.func @splat(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %n: index, %s: tensor<?xf32>) -> tensor<?x8xf32> {
  %true = arith.constant true
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    // CHECK: gf.row_softmax %{{.*}} : tensor<?xf32>
    %w = tensor.splat %true[%n] : tensor<?xi1>
    %p = gf.row_softmax %s where(%w : tensor<?xi1>) : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

// A log-sum-exp that nothing reads.
// CHECK-LABEL: func @log_sum_exp
func.func @log_sum_exp(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %s: tensor<?xf32>, %z: f32) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    // CHECK: %[[P:.*]] = gf.row_softmax %{{.*}} sink(%{{.*}} : f32) {note} : tensor<?xf32>{{$}}
    // CHECK-NEXT: gf.row_values %[[P]]
    %p, %l = gf.row_softmax %s sink(%z : f32) {note} : tensor<?xf32>, tensor<f32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

// The same, as linalg spells it.
// CHECK-LABEL: func @filled
func.func @filled(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %n: index, %s: tensor<?xf32>) -> tensor<?x8xf32> {
  %true = arith.constant true
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    // CHECK: gf.row_softmax %{{.*}} : tensor<?xf32>
    %e = tensor.empty(%n) : tensor<?xi1>
    %w = linalg.fill ins(%true : i1) outs(%e : tensor<?xi1>) -> tensor<?xi1>
    %p = gf.row_softmax %s where(%w : tensor<?xi1>) : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

// A softmax is over visible keys anyway.
// CHECK-LABEL: func @visible
func.func @visible(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %n: index, %s: tensor<?xf32>) -> tensor<?x8xf32> {
  %true = arith.constant true
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    // CHECK-NOT: gf.row_visible
    // CHECK: gf.row_softmax %{{.*}} : tensor<?xf32>
    %w = gf.row_visible : tensor<?xi1>
    %p = gf.row_softmax %s where(%w : tensor<?xi1>) : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

// The largest of all are all visible ones.
// CHECK-LABEL: func @all_kept
func.func @all_kept(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %n: index, %s: tensor<?xf32>) -> tensor<?x8xf32> {
  %true = arith.constant true
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    // CHECK-NOT: gf.row_top_k
    // CHECK: gf.row_softmax %{{.*}} : tensor<?xf32>
    %w = gf.row_top_k %s fraction 1.0 : tensor<?xf32> -> tensor<?xi1>
    %p = gf.row_softmax %s where(%w : tensor<?xi1>) : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

// These do restrict.
// CHECK-LABEL: func @some_kept
func.func @some_kept(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %n: index, %s: tensor<?xf32>) -> tensor<?x8xf32> {
  %true = arith.constant true
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    // CHECK: gf.row_top_k
    // CHECK: gf.row_softmax %{{.*}} where(
    %w = gf.row_top_k %s fraction 0.99 : tensor<?xf32> -> tensor<?xi1>
    %p = gf.row_softmax %s where(%w : tensor<?xi1>) : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

// No neighbours, no difference.
// CHECK-LABEL: func @width_one
func.func @width_one(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %n: index, %s: tensor<?xf32>) -> tensor<?x8xf32> {
  %true = arith.constant true
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    // CHECK: %[[D:.*]] = linalg.fill
    // CHECK: gf.row_values %[[D]]
    %p = gf.row_neighbours %s width 1 scope all : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

// Neighbours stay.
// CHECK-LABEL: func @width_three
func.func @width_three(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %n: index, %s: tensor<?xf32>) -> tensor<?x8xf32> {
  %true = arith.constant true
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    // CHECK: gf.row_neighbours
    %p = gf.row_neighbours %s width 3 scope all : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

// A mask and an offset leave all keys to some query.
// CHECK-LABEL: func @all_reached
func.func @all_reached(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %s: tensor<?xf32>,
    %m: tensor<?x?xi1>, %n: tensor<i64>) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) mask(%m : tensor<?x?xi1>) offset(%n : tensor<i64>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    // CHECK: %[[S:.*]] = tensor.dim %{{.*}}, %{{.*}}
    // CHECK: %[[E:.*]] = tensor.empty(%[[S]]) : tensor<?xi1>
    // CHECK: %[[W:.*]] = linalg.fill ins(%true : i1) outs(%[[E]]
    // CHECK: arith.select %[[W]]
    %w = gf.row_visible any_query : tensor<?xi1>
    %z = arith.subf %s, %s : tensor<?xf32>
    %p = arith.select %w, %s, %z : tensor<?xi1>, tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

// The row may know better than the keys how many there are.
// CHECK-LABEL: func @all_reached_fixed
func.func @all_reached_fixed(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %s: tensor<5xf32>) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    // CHECK: %[[E:.*]] = tensor.empty() : tensor<5xi1>
    // CHECK: linalg.fill ins(%true : i1) outs(%[[E]]
    %w = gf.row_visible any_query : tensor<5xi1>
    %z = arith.subf %s, %s : tensor<5xf32>
    %p = arith.select %w, %s, %z : tensor<5xi1>, tensor<5xf32>
    %y = gf.row_values %p, %kr : tensor<5xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

// These may hide keys from every query.
// CHECK-LABEL: func @causal_reached
func.func @causal_reached(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %s: tensor<?xf32>) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) causal -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    // CHECK: gf.row_visible any_query
    %w = gf.row_visible any_query : tensor<?xi1>
    %z = arith.subf %s, %s : tensor<?xf32>
    %p = arith.select %w, %s, %z : tensor<?xi1>, tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

// These may hide keys from every query.
// CHECK-LABEL: func @window_reached
func.func @window_reached(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %s: tensor<?xf32>) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) window(3, -1) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    // CHECK: gf.row_visible any_query
    %w = gf.row_visible any_query : tensor<?xi1>
    %z = arith.subf %s, %s : tensor<?xf32>
    %p = arith.select %w, %s, %z : tensor<?xi1>, tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

// These may hide keys from every query.
// CHECK-LABEL: func @length_reached
func.func @length_reached(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %s: tensor<?xf32>, %n: tensor<i64>) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) lengths(%n : tensor<i64>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    // CHECK: gf.row_visible any_query
    %w = gf.row_visible any_query : tensor<?xi1>
    %z = arith.subf %s, %s : tensor<?xf32>
    %p = arith.select %w, %s, %z : tensor<?xi1>, tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

// What the query sees is among what some query reaches.
// CHECK-LABEL: func @softmax_of_reached
func.func @softmax_of_reached(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %s: tensor<?xf32>) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) causal -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    // CHECK-NOT: gf.row_visible
    // CHECK: gf.row_softmax %{{.*}} : tensor<?xf32>
    %w = gf.row_visible any_query : tensor<?xi1>
    %p = gf.row_softmax %s where(%w : tensor<?xi1>) : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}
