// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --canonicalize --split-input-file | FileCheck %s

// What the region does not read goes, and so does a result without a use.
// CHECK-LABEL: func @unused
// CHECK-SAME: %[[Q:.*]]: tensor<?x4x8xf32>, %[[R:.*]]: tensor<?x4x8xf32>, %[[K:.*]]: tensor<?x5x8xf32>, %[[V:.*]]: tensor<?x5x8xf32>, %[[P:.*]]: tensor<4x5xf32>, %[[C:.*]]: tensor<f32>, %[[N:.*]]: tensor<?xi64>
func.func @unused(%q: tensor<?x4x8xf32>, %r: tensor<?x4x8xf32>, %k: tensor<?x5x8xf32>, %v: tensor<?x5x8xf32>,
                  %p: tensor<4x5xf32>, %c: tensor<f32>, %n: tensor<?xi64>) -> tensor<?x4x5xf32> {
  // CHECK: %[[O:.*]] = gf.attention queries(%[[Q]] : tensor<?x4x8xf32>) keys(%[[K]] : tensor<?x5x8xf32>) lengths(%[[N]] : tensor<?xi64>) causal window(3, 0) attributes {note} -> tensor<?x4x5xf32> {
  // CHECK-NEXT: ^row(%[[QR:.*]]: tensor<8xf32>, %[[KR:.*]]: tensor<5x8xf32>, %{{.*}}: index, %{{.*}}: index):
  // CHECK-NEXT:   %[[S:.*]] = gf.row_scores %[[QR]], %[[KR]]
  // CHECK-NEXT:   gf.yield %[[S]] : tensor<5xf32>
  // CHECK: return %[[O]]
  %o:2 = gf.attention queries(%q, %r : tensor<?x4x8xf32>, tensor<?x4x8xf32>)
      keys(%k, %v : tensor<?x5x8xf32>, tensor<?x5x8xf32>) pairs(%p : tensor<4x5xf32>)
      captures(%c : tensor<f32>) lengths(%n : tensor<?xi64>) causal window(3, 0) attributes {note}
      -> (tensor<?x4x8xf32>, tensor<?x4x5xf32>) {
  ^row(%qr: tensor<8xf32>, %rr: tensor<8xf32>, %kr: tensor<5x8xf32>, %vr: tensor<5x8xf32>, %pr: tensor<5xf32>,
       %cr: tensor<f32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<5x8xf32> -> tensor<5xf32>
    gf.yield %rr, %s : tensor<8xf32>, tensor<5xf32>
  }
  return %o#1 : tensor<?x4x5xf32>
}

// -----

// The capture alone knows the open leading dimension, so it stays unread.
// CHECK-LABEL: func @carries_lead
func.func @carries_lead(%q: tensor<4x8xf32>, %k: tensor<1x5x8xf32>, %c: tensor<?xf32>) -> tensor<?x4x5xf32> {
  // CHECK: captures(%{{.*}} : tensor<?xf32>)
  %o = gf.attention queries(%q : tensor<4x8xf32>) keys(%k : tensor<1x5x8xf32>)
      captures(%c : tensor<?xf32>) -> tensor<?x4x5xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %cr: tensor<f32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<5x8xf32> -> tensor<5xf32>
    gf.yield %s : tensor<5xf32>
  }
  return %o : tensor<?x4x5xf32>
}

// -----

// The last query and the last key stay: they say how many there are.
// CHECK-LABEL: func @last_ones
func.func @last_ones(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %c: tensor<8xf32>) -> tensor<?x8xf32> {
  // CHECK: queries(%{{.*}} : tensor<?x8xf32>) keys(%{{.*}} : tensor<?x8xf32>) captures(
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      captures(%c : tensor<8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %cr: tensor<8xf32>, %row: index, %position: index):
    gf.yield %cr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

// What is given or yielded twice is one.
// CHECK-LABEL: func @twice
// CHECK-SAME: %[[Q:.*]]: tensor<?x8xf32>, %[[K:.*]]: tensor<?x8xf32>
func.func @twice(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  // CHECK: %[[O:.*]] = gf.attention queries(%[[Q]] : tensor<?x8xf32>) keys(%[[K]] : tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: ^row(%[[QR:.*]]: tensor<8xf32>, %[[KR:.*]]: tensor<?x8xf32>, %{{.*}}: index, %{{.*}}: index):
  // CHECK-NEXT:   %[[T:.*]] = gf.row_scores %[[QR]], %[[KR]]
  // CHECK-NEXT:   %[[Y:.*]] = gf.row_values %[[T]], %[[KR]]
  // CHECK-NEXT:   gf.yield %[[Y]] : tensor<8xf32>
  // CHECK: return %[[O]], %[[O]]
  %o:2 = gf.attention queries(%q, %q : tensor<?x8xf32>, tensor<?x8xf32>)
      keys(%k, %k : tensor<?x8xf32>, tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xf32>) {
  ^row(%q0: tensor<8xf32>, %q1: tensor<8xf32>, %k0: tensor<?x8xf32>, %k1: tensor<?x8xf32>, %row: index, %position: index):
    %t = gf.row_scores %q1, %k0 : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %y = gf.row_values %t, %k1 : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y, %y : tensor<8xf32>, tensor<8xf32>
  }
  return %o#0, %o#1 : tensor<?x8xf32>, tensor<?x8xf32>
}

// -----

// Restrictions that hide nothing; the others stay.
// CHECK-LABEL: func @restrictions
func.func @restrictions(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %n: tensor<i64>) -> (tensor<?x5xf32>, tensor<?x5xf32>) {
  %true = arith.constant dense<true> : tensor<5xi1>
  %zero = arith.constant dense<0.0> : tensor<5xf32>
  %false = arith.constant dense<false> : tensor<5xi1>
  %one = arith.constant dense<1.0> : tensor<5xf32>
  // CHECK: gf.attention queries(%{{.*}} : tensor<?x8xf32>) keys(%{{.*}} : tensor<5x8xf32>) lengths(%{{.*}} : tensor<i64>) -> tensor<?x5xf32> {
  %a = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) lengths(%n : tensor<i64>)
      mask(%true : tensor<5xi1>) bias(%zero : tensor<5xf32>) window(-1, -1) -> tensor<?x5xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<5x8xf32> -> tensor<5xf32>
    gf.yield %s : tensor<5xf32>
  }
  // CHECK: gf.attention {{.*}} mask(%{{.*}} : tensor<5xi1>) bias(%{{.*}} : tensor<5xf32>) window(-1, 0)
  %b = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>)
      mask(%false : tensor<5xi1>) bias(%one : tensor<5xf32>) window(-1, 0) -> tensor<?x5xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<5x8xf32> -> tensor<5xf32>
    gf.yield %s : tensor<5xf32>
  }
  return %a, %b : tensor<?x5xf32>, tensor<?x5xf32>
}
