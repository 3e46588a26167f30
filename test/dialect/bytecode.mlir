// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Bytecode of an earlier version says what this text says. Inputs/version_M_N.mlirbc
// is this file as version M.N wrote it (--emit-bytecode), and is never written
// again: where an operation changes, the reader upgrades it and this text follows.
// RUN: gatefold-opt %s -o %t.text
// RUN: gatefold-opt %S/Inputs/version_0_1.mlirbc -o %t.frozen
// RUN: diff %t.text %t.frozen
// RUN: FileCheck %s < %t.frozen

// A newer version, as 9.9 would write it, is refused.
// RUN: not gatefold-opt %S/Inputs/version_9_9.mlirbc 2>&1 | FileCheck %s --check-prefix=NEWER
// NEWER: error: bytecode of the gf dialect has version 9.9, this Gatefold reads up to 0.1

// What is cut off is an error, never a crash.
// RUN: head -c 200 %S/Inputs/version_0_1.mlirbc > %t.cut
// RUN: not gatefold-opt %t.cut 2>&1 | FileCheck %s --check-prefix=CUT
// CUT: error:

// CHECK: func.func @entry
func.func @entry(
    %x: tensor<?x?x40xf32> {gf.name = "x", gf.shape = affine_map<()[s0, s1] -> (s0, s1, 40)>},
    %n: tensor<?xi64> {gf.name = "n", gf.shape = affine_map<()[s0, s1] -> (s0)>,
                       gf.at_most = affine_map<()[s0, s1] -> (s1)>},
    %r: tensor<?x?xi1> {gf.name = "r", gf.shape = affine_map<()[s0, s1] -> (s0, s1)>},
    %h: tensor<?x40xf32> {gf.name = "h", gf.shape = affine_map<()[s0, s1] -> (s0, 40)>, gf.state,
                          gf.initial = 0.0 : f32})
    -> (tensor<?x?x40xf32> {gf.name = "output", gf.shape = affine_map<()[s0, s1] -> (s0, s1, 40)>},
        tensor<?x40xf32> {gf.name = "h", gf.shape = affine_map<()[s0, s1] -> (s0, 40)>, gf.state})
    attributes {gf.entry, gf.dimensions = ["B", "T"],
                gf.equal = [affine_map<()[s0, s1] -> (s0, s1)>], gf.equal_messages = ["B is T"]} {
  // CHECK: gf.parameter "gain" initial 1.000000e+00
  %gain = gf.parameter "gain" initial 1.0 : tensor<40xf32>
  // CHECK: gf.recurrence sequences({{.*}}) states({{.*}}) lengths({{.*}}) resets({{.*}}) reset_states({{.*}}) time_axis 1 reverse
  %y, %last = gf.recurrence sequences(%x : tensor<?x?x40xf32>) states(%h : tensor<?x40xf32>)
      lengths(%n : tensor<?xi64>) resets(%r : tensor<?x?xi1>) reset_states(%h : tensor<?x40xf32>)
      time_axis 1 reverse -> (tensor<?x?x40xf32>) {
  ^step(%x_t: tensor<?x40xf32>, %s: tensor<?x40xf32>):
    %next = arith.mulf %x_t, %s : tensor<?x40xf32>
    gf.yield %next, %next : tensor<?x40xf32>, tensor<?x40xf32>
  }
  return %y, %last : tensor<?x?x40xf32>, tensor<?x40xf32>
}

// CHECK: func.func @steps
func.func @steps(%h: tensor<8xf32>, %steps: index) -> tensor<?x8xf32> {
  // CHECK: gf.recurrence states({{.*}}) steps({{.*}}) time_axis 0
  %y, %last = gf.recurrence states(%h : tensor<8xf32>) steps(%steps) time_axis 0 -> (tensor<?x8xf32>) {
  ^step(%s: tensor<8xf32>):
    %next = math.tanh %s : tensor<8xf32>
    gf.yield %next, %next : tensor<8xf32>, tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// CHECK: func.func @attention
func.func @attention(%q: tensor<?x2x3x?x8xf16>, %k: tensor<?x2x1x?x8xf16>, %pair: tensor<3x1x?xf32>,
                     %c: tensor<2x1xf32>, %n: tensor<?xi64>, %mask: tensor<1x2x3x?x?xi1>,
                     %bias: tensor<?x?xf32>, %offset: tensor<?xi32>, %qs: tensor<?x?xi64>,
                     %ks: tensor<?x?xi64>) -> tensor<?x2x3x?x8xf16> {
  // CHECK: gf.attention queries({{.*}}) keys({{.*}}) pairs({{.*}}) captures({{.*}}) lengths({{.*}}) mask({{.*}}) bias({{.*}}) offset({{.*}}) query_segments({{.*}}) key_segments({{.*}}) causal window(64, -1)
  %o = gf.attention queries(%q : tensor<?x2x3x?x8xf16>) keys(%k : tensor<?x2x1x?x8xf16>)
      pairs(%pair : tensor<3x1x?xf32>) captures(%c : tensor<2x1xf32>) lengths(%n : tensor<?xi64>)
      mask(%mask : tensor<1x2x3x?x?xi1>) bias(%bias : tensor<?x?xf32>) offset(%offset : tensor<?xi32>)
      query_segments(%qs : tensor<?x?xi64>) key_segments(%ks : tensor<?x?xi64>) causal window(64, -1)
      -> tensor<?x2x3x?x8xf16> {
  ^row(%qr: tensor<8xf16>, %kr: tensor<?x8xf16>, %pr: tensor<?xf32>, %cr: tensor<f32>,
       %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf16>, tensor<?x8xf16> -> tensor<?xf32>
    %d = gf.row_neighbours %s width 3 scope visible : tensor<?xf32>
    %e = gf.row_neighbours %s width 5 scope all : tensor<?xf32>
    %f = gf.row_top_k %d fraction 0.5 : tensor<?xf32> -> tensor<?xi1>
    %g = gf.row_top_k %e count 3 : tensor<?xf32> -> tensor<?xi1>
    %v = gf.row_visible : tensor<?xi1>
    %sink = tensor.extract %cr[] : tensor<f32>
    %a = gf.row_softmax %d where(%f : tensor<?xi1>) sink(%sink : f32) : tensor<?xf32>
    %b = gf.row_softmax %e where(%g : tensor<?xi1>) : tensor<?xf32>
    %w = arith.select %v, %a, %b : tensor<?xi1>, tensor<?xf32>
    %y = gf.row_values %w, %kr : tensor<?xf32>, tensor<?x8xf16> -> tensor<8xf16>
    gf.yield %y : tensor<8xf16>
  }
  return %o : tensor<?x2x3x?x8xf16>
}
