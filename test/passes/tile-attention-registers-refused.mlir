// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --pass-pipeline="builtin.module(gf-attach-target{target=sm_80},func.func(gf-choose-algorithms{schedule=attention.algorithm=registers},gf-tile-attention))" --verify-diagnostics --split-input-file
// RUN: gatefold-opt %s --pass-pipeline="builtin.module(gf-attach-target{target=sm_80},func.func(gf-choose-algorithms))" --split-input-file --remark-format=emitRemark --remarks-filter=gf-choose-algorithms -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: gatefold-opt %s --pass-pipeline="builtin.module(gf-attach-target{target=sm_80},func.func(gf-choose-algorithms))" --split-input-file | FileCheck %s

// What has no form on vectors: a user who asks for it is refused, else it is another
// algorithm's, with a remark.

// REMARK: remark: {{.*}}attention: not in registers, for its arithmetic works on more than one row of each query
// CHECK-COUNT-6: gf.algorithm = "resident"
#query = affine_map<(d0, d1) -> (d1)>
#sum = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
func.func @additive(%q: tensor<?x4xf32>, %k: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %keys = tensor.dim %k, %c0 : tensor<?x4xf32>
  // expected-error @+1 {{attention cannot be scheduled as registers: its arithmetic works on more than one row of each query}}
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x4xf32>, %r: index, %position: index):
    %e = tensor.empty(%keys) : tensor<?x4xf32>
    %d = linalg.generic {indexing_maps = [#query, #all, #all], iterator_types = ["parallel", "parallel"]} ins(%qr, %kr : tensor<4xf32>, tensor<?x4xf32>) outs(%e : tensor<?x4xf32>) {
    ^bb0(%a: f32, %b: f32, %out: f32):
      %t = arith.addf %a, %b : f32
      linalg.yield %t : f32
    } -> tensor<?x4xf32>
    %e1 = tensor.empty(%keys) : tensor<?xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?xf32>) -> tensor<?xf32>
    // expected-note @+1 {{this arithmetic}}
    %s = linalg.generic {indexing_maps = [#all, #sum], iterator_types = ["parallel", "reduction"]} ins(%d : tensor<?x4xf32>) outs(%f : tensor<?xf32>) {
    ^bb0(%a: f32, %out: f32):
      %t = arith.addf %a, %out : f32
      linalg.yield %t : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// -----

// REMARK: remark: {{.*}}attention: not in registers, for its product with the keys is in f64, not in f32
func.func @wide(%q: tensor<?x4xf64>) -> tensor<?x4xf64> {
  // expected-error @+1 {{its product with the keys is in f64, not in f32}}
  %y = gf.attention queries(%q : tensor<?x4xf64>) keys(%q : tensor<?x4xf64>) -> tensor<?x4xf64> {
  ^row(%qr: tensor<4xf64>, %kr: tensor<?x4xf64>, %r: index, %position: index):
    // expected-note @+1 {{this product with the keys}}
    %s = gf.row_scores %qr, %kr : tensor<4xf64>, tensor<?x4xf64> -> tensor<?xf64>
    %p = gf.row_softmax %s : tensor<?xf64>
    %y = gf.row_values %p, %kr : tensor<?xf64>, tensor<?x4xf64> -> tensor<4xf64>
    gf.yield %y : tensor<4xf64>
  }
  return %y : tensor<?x4xf64>
}

// -----

// REMARK: remark: {{.*}}attention: not in registers, for its product with the values has rows of 300 elements, more than 256
func.func @long(%q: tensor<?x4xf32>, %v: tensor<?x300xf32>) -> tensor<?x300xf32> {
  // expected-error @+1 {{its product with the values has rows of 300 elements, more than 256}}
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%q, %v : tensor<?x4xf32>, tensor<?x300xf32>) -> tensor<?x300xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x4xf32>, %vr: tensor<?x300xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    // expected-note @+1 {{this product with the values}}
    %y = gf.row_values %p, %vr : tensor<?xf32>, tensor<?x300xf32> -> tensor<300xf32>
    gf.yield %y : tensor<300xf32>
  }
  return %y : tensor<?x300xf32>
}

// -----

// REMARK: remark: {{.*}}attention: not in registers, for its top_k needs the scores of all keys at once
func.func @largest(%q: tensor<?x4xf32>, %k: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{its top_k needs the scores of all keys at once}}
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x4xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    // expected-note @+1 {{this top_k}}
    %t = gf.row_top_k %s fraction 0.5 : tensor<?xf32> -> tensor<?xi1>
    %p = gf.row_softmax %s where(%t : tensor<?xi1>) : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// -----

// Sums of more columns than there are registers for.
// REMARK: remark: {{.*}}attention: not in registers, for it needs 539 registers of a thread and 35840 bytes of shared memory with the smallest blocks
func.func @many(%q: tensor<?x4xf32>, %v: tensor<?x256xf32>) -> (tensor<?x256xf32>, tensor<?x256xf32>, tensor<?x256xf32>) {
  // expected-error @+1 {{attention cannot be scheduled as registers: it needs 539 registers of a thread and 35840 bytes of shared memory with the smallest blocks}}
  %y:3 = gf.attention queries(%q : tensor<?x4xf32>) keys(%q, %v : tensor<?x4xf32>, tensor<?x256xf32>) -> (tensor<?x256xf32>, tensor<?x256xf32>, tensor<?x256xf32>) {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x4xf32>, %vr: tensor<?x256xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %y = gf.row_values %p, %vr : tensor<?xf32>, tensor<?x256xf32> -> tensor<256xf32>
    %p1 = gf.row_softmax %s : tensor<?xf32>
    %y1 = gf.row_values %p1, %vr : tensor<?xf32>, tensor<?x256xf32> -> tensor<256xf32>
    %p2 = gf.row_softmax %s : tensor<?xf32>
    %y2 = gf.row_values %p2, %vr : tensor<?xf32>, tensor<?x256xf32> -> tensor<256xf32>
    gf.yield %y, %y1, %y2 : tensor<256xf32>, tensor<256xf32>, tensor<256xf32>
  }
  return %y#0, %y#1, %y#2 : tensor<?x256xf32>, tensor<?x256xf32>, tensor<?x256xf32>
}

// -----

// Keys behind the end have no weight of their own: it has to be 0.
// REMARK: remark: {{.*}}attention: not in registers, for its product with the values weighs keys that are not seen
func.func @unseen(%q: tensor<?x4xf32>, %k: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{its product with the values weighs keys that are not seen}}
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x4xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    // expected-note @+1 {{this product with the values}}
    %y = gf.row_values %s, %kr : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}
