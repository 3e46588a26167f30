// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-attach-target=target=sm_80 --gf-hoist-queries --canonicalize --split-input-file | FileCheck %s
// RUN: gatefold-opt %s --gf-attach-target=target=x86-64-v4 --gf-hoist-queries --split-input-file | FileCheck %s --check-prefix=CPU
// RUN: gatefold-opt %s --gf-attach-target=target=sm_80 --gf-hoist-queries --split-input-file --remark-format=emitRemark --remarks-filter=gf-hoist-queries -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK --implicit-check-not=remark:

#row = affine_map<(d0) -> (d0)>
#one = affine_map<(d0) -> (0)>

// Two queries of 64 numbers that are computed leave no registers for a block of keys: each becomes
// a tensor, and so does what it is made of. What scales them is another one for each head, one for
// all heads, or a number for each query.
// CPU-LABEL: func @scaled
// CPU: gf.attention queries(%{{.*}}, %{{.*}} : tensor<4x?x64xf32>, tensor<4x?x1xf32>)
// REMARK: :[[# @LINE + 29]]:11: remark: {{.*}}query computed before the attention, which lacks registers for it
// REMARK: :[[# @LINE + 34]]:11: remark: {{.*}}query computed before the attention, which lacks registers for it
// CHECK-DAG: #[[HEADS:.*]] = affine_map<(d0, d1, d2) -> (d0, d2)>
// CHECK-DAG: #[[QUERIES:.*]] = affine_map<(d0, d1, d2) -> (d0, d1, 0)>
// CHECK-DAG: #[[ALL:.*]] = affine_map<(d0, d1, d2) -> (d2)>
// CHECK-LABEL: func @scaled
// CHECK-SAME: %[[Q:[a-z0-9]*]]: tensor<4x?x64xf32>, %[[K:[a-z0-9]*]]: tensor<4x?x64xf32>, %[[A:[a-z0-9]*]]: tensor<4x64xf32>, %[[B:[a-z0-9]*]]: tensor<64xf32>, %[[C:[a-z0-9]*]]: tensor<4x?x1xf32>
func.func @scaled(%q: tensor<4x?x64xf32>, %k: tensor<4x?x64xf32>, %a: tensor<4x64xf32>, %b: tensor<64xf32>,
                  %c: tensor<4x?x1xf32>) -> tensor<4x?x64xf32> {
  // CHECK: %[[TWICE:.*]] = linalg.generic {{.*}}"parallel"]} ins(%[[A]] : tensor<4x64xf32>)
  // CHECK: arith.addf
  // CHECK: %[[FIRST:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #[[HEADS]], #{{.*}}], iterator_types = ["parallel", "parallel", "parallel"]} ins(%[[Q]], %[[TWICE]] :
  // CHECK: arith.mulf
  // CHECK: %[[SECOND:.*]] = linalg.generic {indexing_maps = [#{{.*}}, #[[ALL]], #[[QUERIES]], #{{.*}}], {{.*}} ins(%[[Q]], %[[B]], %[[C]] :
  // CHECK: gf.attention queries(%[[FIRST]], %[[SECOND]] : tensor<4x?x64xf32>, tensor<4x?x64xf32>) keys(%[[K]]
  // CHECK: ^row(%[[FIRST_ROW:[^:]*]]: tensor<64xf32>, %[[SECOND_ROW:[^:]*]]: tensor<64xf32>, %[[KR:[^:]*]]: tensor<?x64xf32>,
  // CHECK: gf.row_scores %[[FIRST_ROW]], %[[KR]]
  // CHECK: gf.row_scores %[[SECOND_ROW]], %[[KR]]
  %y = gf.attention queries(%q, %c : tensor<4x?x64xf32>, tensor<4x?x1xf32>) keys(%k : tensor<4x?x64xf32>)
      captures(%a, %b : tensor<4x64xf32>, tensor<64xf32>) -> tensor<4x?x64xf32> {
  ^row(%qr: tensor<64xf32>, %cr: tensor<1xf32>, %kr: tensor<?x64xf32>, %ar: tensor<64xf32>, %br: tensor<64xf32>,
       %row: index, %position: index):
    %e = tensor.empty() : tensor<64xf32>
    %twice = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%ar : tensor<64xf32>) outs(%e : tensor<64xf32>) {
    ^bb0(%f: f32, %o: f32):
      %m = arith.addf %f, %f : f32
      linalg.yield %m : f32
    } -> tensor<64xf32>
    %qa = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%qr, %twice : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
    ^bb0(%x: f32, %f: f32, %o: f32):
      %m = arith.mulf %x, %f : f32
      linalg.yield %m : f32
    } -> tensor<64xf32>
    %qb = linalg.generic {indexing_maps = [#row, #row, #one, #row], iterator_types = ["parallel"]}
        ins(%qr, %br, %cr : tensor<64xf32>, tensor<64xf32>, tensor<1xf32>) outs(%e : tensor<64xf32>) {
    ^bb0(%x: f32, %f: f32, %g: f32, %o: f32):
      %m = arith.mulf %x, %f : f32
      %n = arith.subf %m, %g : f32
      linalg.yield %n : f32
    } -> tensor<64xf32>
    %s1 = gf.row_scores %qa, %kr : tensor<64xf32>, tensor<?x64xf32> -> tensor<?xf32>
    %s2 = gf.row_scores %qb, %kr : tensor<64xf32>, tensor<?x64xf32> -> tensor<?xf32>
    %p1 = gf.row_softmax %s1 : tensor<?xf32>
    %p2 = gf.row_softmax %s2 : tensor<?xf32>
    %r1 = gf.row_values %p1, %kr : tensor<?xf32>, tensor<?x64xf32> -> tensor<64xf32>
    %r2 = gf.row_values %p2, %kr : tensor<?xf32>, tensor<?x64xf32> -> tensor<64xf32>
    %r = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%r1, %r2 : tensor<64xf32>, tensor<64xf32>) outs(%e : tensor<64xf32>) {
    ^bb0(%x: f32, %z: f32, %o: f32):
      %m = arith.subf %x, %z : f32
      linalg.yield %m : f32
    } -> tensor<64xf32>
    gf.yield %r : tensor<64xf32>
  }
  return %y : tensor<4x?x64xf32>
}

// -----

// One query of 32 numbers has its registers.
#row = affine_map<(d0) -> (d0)>
// CHECK-LABEL: func @fits
func.func @fits(%q: tensor<?x32xf32>, %k: tensor<?x32xf32>, %a: tensor<32xf32>) -> tensor<?x32xf32> {
  // CHECK-NOT: linalg.generic
  // CHECK: gf.attention queries(%arg0
  // CHECK: linalg.generic
  %y = gf.attention queries(%q : tensor<?x32xf32>) keys(%k : tensor<?x32xf32>) captures(%a : tensor<32xf32>)
      -> tensor<?x32xf32> {
  ^row(%qr: tensor<32xf32>, %kr: tensor<?x32xf32>, %ar: tensor<32xf32>, %row: index, %position: index):
    %e = tensor.empty() : tensor<32xf32>
    %qa = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%qr, %ar : tensor<32xf32>, tensor<32xf32>) outs(%e : tensor<32xf32>) {
    ^bb0(%x: f32, %f: f32, %o: f32):
      %m = arith.mulf %x, %f : f32
      linalg.yield %m : f32
    } -> tensor<32xf32>
    %s = gf.row_scores %qa, %kr : tensor<32xf32>, tensor<?x32xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %r = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x32xf32> -> tensor<32xf32>
    gf.yield %r : tensor<32xf32>
  }
  return %y : tensor<?x32xf32>
}

// -----

// A query that needs all numbers of its row first is no elementwise operation, and stays.
#row = affine_map<(d0) -> (d0)>
#none = affine_map<(d0) -> ()>
// CHECK-LABEL: func @of_sums
func.func @of_sums(%q: tensor<?x256xf32>, %k: tensor<?x256xf32>) -> tensor<?x256xf32> {
  // CHECK-NOT: linalg.generic
  // CHECK: gf.attention queries(%arg0
  // REMARK: :[[# @LINE + 13]]:10: remark: {{.*}}computed query takes registers as long as keys pass: it is made of more than numbers that are given before the attention
  %y = gf.attention queries(%q : tensor<?x256xf32>) keys(%k : tensor<?x256xf32>)
      -> tensor<?x256xf32> {
  ^row(%qr: tensor<256xf32>, %kr: tensor<?x256xf32>, %row: index, %position: index):
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<256xf32>
    %z = tensor.from_elements %zero : tensor<f32>
    %sum = linalg.generic {indexing_maps = [#row, #none], iterator_types = ["reduction"]}
        ins(%qr : tensor<256xf32>) outs(%z : tensor<f32>) {
    ^bb0(%x: f32, %o: f32):
      %m = arith.addf %x, %o : f32
      linalg.yield %m : f32
    } -> tensor<f32>
    %a = linalg.generic {indexing_maps = [#row, #none, #row], iterator_types = ["parallel"]}
        ins(%qr, %sum : tensor<256xf32>, tensor<f32>) outs(%e : tensor<256xf32>) {
    ^bb0(%x: f32, %all: f32, %o: f32):
      %m = arith.divf %x, %all : f32
      linalg.yield %m : f32
    } -> tensor<256xf32>
    %s = gf.row_scores %a, %kr : tensor<256xf32>, tensor<?x256xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %r = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x256xf32> -> tensor<256xf32>
    gf.yield %r : tensor<256xf32>
  }
  return %y : tensor<?x256xf32>
}
