// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The row operations: parse, print, parse again.
// RUN: gatefold-opt %s | gatefold-opt | FileCheck %s
// RUN: gatefold-opt %s --emit-bytecode | gatefold-opt | FileCheck %s
// RUN: gatefold-opt %s --mlir-print-op-generic | gatefold-opt | FileCheck %s

// CHECK-LABEL: func @rows
func.func @rows(%q: tensor<?x8xbf16>, %k: tensor<?x8xbf16>, %v: tensor<?x4xbf16>, %sink: f32)
    -> (tensor<?x4xbf16>, tensor<?xf32>) {
  %o, %logs = gf.attention queries(%q : tensor<?x8xbf16>) keys(%k, %v : tensor<?x8xbf16>, tensor<?x4xbf16>)
      -> (tensor<?x4xbf16>, tensor<?xf32>) {
  ^row(%qr: tensor<8xbf16>, %kr: tensor<?x8xbf16>, %vr: tensor<?x4xbf16>, %row: index, %position: index):
    // CHECK: %[[S:.*]] = gf.row_scores %{{.*}}, %{{.*}} {note} : tensor<8xbf16>, tensor<?x8xbf16> -> tensor<?xf32>
    %s = gf.row_scores %qr, %kr {note} : tensor<8xbf16>, tensor<?x8xbf16> -> tensor<?xf32>
    // CHECK: %[[N:.*]] = gf.row_neighbours %[[S]] width 3 scope visible : tensor<?xf32>
    %n = gf.row_neighbours %s width 3 scope visible : tensor<?xf32>
    // CHECK: %[[M:.*]] = gf.row_neighbours %[[N]] width 7 scope all {note} : tensor<?xf32>
    %m = gf.row_neighbours %n width 7 scope all {note} : tensor<?xf32>
    // CHECK: %[[F:.*]] = gf.row_top_k %[[M]] fraction 5.000000e-01 : tensor<?xf32> -> tensor<?xi1>
    %f = gf.row_top_k %m fraction 0.5 : tensor<?xf32> -> tensor<?xi1>
    // CHECK: %[[C:.*]] = gf.row_top_k %[[M]] count 16 : tensor<?xf32> -> tensor<?xi1>
    %c = gf.row_top_k %m count 16 : tensor<?xf32> -> tensor<?xi1>
    // CHECK: %[[SEEN:.*]] = gf.row_visible : tensor<?xi1>
    %seen = gf.row_visible : tensor<?xi1>
    // CHECK: gf.row_visible any_query {note} : tensor<?xi1>
    %reached = gf.row_visible any_query {note} : tensor<?xi1>
    // CHECK: gf.row_softmax %[[M]] : tensor<?xf32>
    %p0 = gf.row_softmax %m : tensor<?xf32>
    // CHECK: gf.row_softmax %{{.*}} where(%[[F]] : tensor<?xi1>) : tensor<?xf32>
    %p1 = gf.row_softmax %p0 where(%f : tensor<?xi1>) : tensor<?xf32>
    // CHECK: gf.row_softmax %{{.*}} sink(%{{.*}} : f32) : tensor<?xf32>
    %p2 = gf.row_softmax %p1 sink(%sink : f32) : tensor<?xf32>
    // CHECK: %[[P:.*]] = gf.row_softmax %{{.*}} where(%[[C]] : tensor<?xi1>) sink(%{{.*}} : f32) {note} : tensor<?xf32>
    %p3 = gf.row_softmax %p2 where(%c : tensor<?xi1>) sink(%sink : f32) {note} : tensor<?xf32>
    // CHECK: %{{.*}}, %[[L:.*]] = gf.row_softmax %{{.*}} sink(%{{.*}} : f32) : tensor<?xf32>, tensor<f32>
    %p5, %l = gf.row_softmax %m sink(%sink : f32) : tensor<?xf32>, tensor<f32>
    %p4 = arith.select %seen, %p3, %p5 : tensor<?xi1>, tensor<?xf32>
    // CHECK: gf.row_values %{{.*}}, %{{.*}} : tensor<?xf32>, tensor<?x4xbf16> -> tensor<4xbf16>
    %y = gf.row_values %p4, %vr : tensor<?xf32>, tensor<?x4xbf16> -> tensor<4xbf16>
    // CHECK: gf.yield %{{.*}}, %[[L]] : tensor<4xbf16>, tensor<f32>
    gf.yield %y, %l : tensor<4xbf16>, tensor<f32>
  }
  return %o, %logs : tensor<?x4xbf16>, tensor<?xf32>
}
