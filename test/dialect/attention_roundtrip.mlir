// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parse, print, parse again, in the custom and in the generic form.
// RUN: gatefold-opt %s | gatefold-opt | FileCheck %s
// RUN: gatefold-opt %s --emit-bytecode | gatefold-opt | FileCheck %s
// RUN: gatefold-opt %s --mlir-print-op-generic | gatefold-opt | FileCheck %s

// CHECK-LABEL: func @causal
// CHECK-SAME: %[[Q:.*]]: tensor<2x?x64xf32>, %[[K:.*]]: tensor<2x?x64xf32>, %[[V:.*]]: tensor<2x?x32xf32>
func.func @causal(%q: tensor<2x?x64xf32>, %k: tensor<2x?x64xf32>, %v: tensor<2x?x32xf32>)
    -> tensor<2x?x32xf32> {
  // CHECK: gf.attention queries(%[[Q]] : tensor<2x?x64xf32>) keys(%[[K]], %[[V]] : tensor<2x?x64xf32>, tensor<2x?x32xf32>) causal -> tensor<2x?x32xf32> {
  // CHECK-NEXT: ^row(%[[QR:.*]]: tensor<64xf32>, %[[KR:.*]]: tensor<?x64xf32>, %[[VR:.*]]: tensor<?x32xf32>, %[[ROW:.*]]: index, %[[POSITION:.*]]: index):
  // CHECK-NEXT:   %[[S:.*]] = gf.row_scores %[[QR]], %[[KR]] : tensor<64xf32>, tensor<?x64xf32> -> tensor<?xf32>
  // CHECK-NEXT:   %[[P:.*]] = gf.row_softmax %[[S]] : tensor<?xf32>
  // CHECK-NEXT:   %[[Y:.*]] = gf.row_values %[[P]], %[[VR]] : tensor<?xf32>, tensor<?x32xf32> -> tensor<32xf32>
  // CHECK-NEXT:   gf.yield %[[Y]] : tensor<32xf32>
  // CHECK-NEXT: }
  %o = gf.attention queries(%q : tensor<2x?x64xf32>)
      keys(%k, %v : tensor<2x?x64xf32>, tensor<2x?x32xf32>) causal
      -> tensor<2x?x32xf32> {
  ^row(%qr: tensor<64xf32>, %kr: tensor<?x64xf32>, %vr: tensor<?x32xf32>,
       %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<64xf32>, tensor<?x64xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %y = gf.row_values %p, %vr : tensor<?xf32>, tensor<?x32xf32> -> tensor<32xf32>
    gf.yield %y : tensor<32xf32>
  }
  return %o : tensor<2x?x32xf32>
}

// Every clause; grouped heads (batch, key head, group): the keys stretch along
// the group, the pair along the queries, the mask along the batch.
// CHECK-LABEL: func @everything
func.func @everything(%q: tensor<?x2x3x?x8xf16>, %k: tensor<?x2x1x?x8xf16>, %pair: tensor<3x1x?xf32>,
                      %lambda: tensor<2x1xf32>, %n: tensor<?xi64>, %mask: tensor<1x2x3x?x?xi1>,
                      %bias: tensor<?x?xf32>, %offset: tensor<?xi32>, %qs: tensor<?x?xi64>,
                      %ks: tensor<?x?xi64>) -> (tensor<?x2x3x?x8xf16>, tensor<?x2x3x?xf32>) {
  // CHECK: gf.attention queries(%{{.*}} : tensor<?x2x3x?x8xf16>) keys(%{{.*}} : tensor<?x2x1x?x8xf16>) pairs(%{{.*}} : tensor<3x1x?xf32>) captures(%{{.*}} : tensor<2x1xf32>) lengths(%{{.*}} : tensor<?xi64>) mask(%{{.*}} : tensor<1x2x3x?x?xi1>) bias(%{{.*}} : tensor<?x?xf32>) offset(%{{.*}} : tensor<?xi32>) query_segments(%{{.*}} : tensor<?x?xi64>) key_segments(%{{.*}} : tensor<?x?xi64>) causal window(64, -1) attributes {note = "kept"} -> (tensor<?x2x3x?x8xf16>, tensor<?x2x3x?xf32>) {
  // CHECK-NEXT: ^row(%[[QUERY:.*]]: tensor<8xf16>, %[[KEY:.*]]: tensor<?x8xf16>, %[[PAIR:.*]]: tensor<?xf32>, %[[LAMBDA:.*]]: tensor<f32>, %{{.*}}: index, %{{.*}}: index):
  %o:2 = gf.attention queries(%q : tensor<?x2x3x?x8xf16>) keys(%k : tensor<?x2x1x?x8xf16>)
      pairs(%pair : tensor<3x1x?xf32>) captures(%lambda : tensor<2x1xf32>)
      lengths(%n : tensor<?xi64>) mask(%mask : tensor<1x2x3x?x?xi1>) bias(%bias : tensor<?x?xf32>)
      offset(%offset : tensor<?xi32>) query_segments(%qs : tensor<?x?xi64>)
      key_segments(%ks : tensor<?x?xi64>) causal window(64, -1) attributes {note = "kept"}
      -> (tensor<?x2x3x?x8xf16>, tensor<?x2x3x?xf32>) {
  ^row(%qr: tensor<8xf16>, %kr: tensor<?x8xf16>, %pr: tensor<?xf32>, %l: tensor<f32>,
       %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf16>, tensor<?x8xf16> -> tensor<?xf32>
    %b = arith.addf %s, %pr : tensor<?xf32>
    %p = gf.row_softmax %b : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf16> -> tensor<8xf16>
    gf.yield %y, %l : tensor<8xf16>, tensor<f32>
  }
  return %o#0, %o#1 : tensor<?x2x3x?x8xf16>, tensor<?x2x3x?xf32>
}

// No leading dimension; restrictions without one too; several results of other
// shapes.
// CHECK-LABEL: func @one_head
func.func @one_head(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %n: tensor<i32>, %offset: tensor<i64>,
                    %qs: tensor<?xi32>, %ks: tensor<5xi32>) -> (tensor<?x5xf32>, tensor<?x2x3xf32>) {
  // CHECK: gf.attention queries(%{{.*}} : tensor<?x8xf32>) keys(%{{.*}} : tensor<5x8xf32>) lengths(%{{.*}} : tensor<i32>) offset(%{{.*}} : tensor<i64>) query_segments(%{{.*}} : tensor<?xi32>) key_segments(%{{.*}} : tensor<5xi32>) window(0, 0) -> (tensor<?x5xf32>, tensor<?x2x3xf32>) {
  %o:2 = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) lengths(%n : tensor<i32>)
      offset(%offset : tensor<i64>) query_segments(%qs : tensor<?xi32>)
      key_segments(%ks : tensor<5xi32>) window(0, 0) -> (tensor<?x5xf32>, tensor<?x2x3xf32>) {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<5x8xf32> -> tensor<5xf32>
    %z = arith.constant dense<0.0> : tensor<2x3xf32>
    gf.yield %s, %z : tensor<5xf32>, tensor<2x3xf32>
  }
  return %o#0, %o#1 : tensor<?x5xf32>, tensor<?x2x3xf32>
}

// Lengths, offsets and segments of each head.
// CHECK-LABEL: func @of_heads
func.func @of_heads(%q: tensor<3x6x4x8xf32>, %k: tensor<3x1x5x8xf32>, %n: tensor<3x6xi64>, %o: tensor<1x6xi64>, %qs: tensor<3x6x4xi64>, %ks: tensor<1x5xi64>) -> tensor<3x6x4x8xf32> {
  // CHECK: lengths(%{{.*}} : tensor<3x6xi64>) offset(%{{.*}} : tensor<1x6xi64>) query_segments(%{{.*}} : tensor<3x6x4xi64>) key_segments(%{{.*}} : tensor<1x5xi64>)
  %y = gf.attention queries(%q : tensor<3x6x4x8xf32>) keys(%k : tensor<3x1x5x8xf32>) lengths(%n : tensor<3x6xi64>) offset(%o : tensor<1x6xi64>)
      query_segments(%qs : tensor<3x6x4xi64>) key_segments(%ks : tensor<1x5xi64>) -> tensor<3x6x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<5x8xf32> -> tensor<5xf32>
    %p = gf.row_softmax %s : tensor<5xf32>
    %r = gf.row_values %p, %kr : tensor<5xf32>, tensor<5x8xf32> -> tensor<8xf32>
    gf.yield %r : tensor<8xf32>
  }
  return %y : tensor<3x6x4x8xf32>
}
