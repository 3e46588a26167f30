// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-fold-diff-window --split-input-file --verify-diagnostics --remark-format=emitRemark --remarks-filter=gf-fold-diff-window | FileCheck %s

// What is not folded, and why; each is said where the differences are asked for.

// -----

#row = affine_map<(d0) -> (d0)>

// tanh of scores is not linear.
// CHECK-LABEL: func @tanh
func.func @tanh(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: gf.row_neighbours
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %e = tensor.empty(%n) : tensor<?xf32>
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    %c = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%s : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %o: f32):
      %r = math.tanh %a : f32
      linalg.yield %r : f32
    } -> tensor<?xf32>
    // expected-remark @+1 {{diff-window not folded into the keys: the scores are not linear in the keys}}
    %d = gf.row_neighbours %c width 3 scope visible : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%c, %d : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %t : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// Another use of the scores: their product would stay anyway.
// CHECK-LABEL: func @shared
func.func @shared(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: gf.row_neighbours
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %e = tensor.empty(%n) : tensor<?xf32>
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    // expected-remark @+1 {{diff-window not folded into the keys: the scores are needed themselves too}}
    %d = gf.row_neighbours %s width 3 scope visible : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%s, %d : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    } -> tensor<?xf32>
    %u = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%s, %t : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %greater = arith.maximumf %a, %b : f32
      linalg.yield %greater : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %u : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// The stencil is made of an operand of the attention.
// CHECK-LABEL: func @computed_keys
func.func @computed_keys(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: gf.row_neighbours
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %e = tensor.empty(%n) : tensor<?xf32>
    %ek = tensor.empty(%n) : tensor<?x8xf32>
    %kt = linalg.tanh ins(%kr : tensor<?x8xf32>) outs(%ek : tensor<?x8xf32>) -> tensor<?x8xf32>
    %s = gf.row_scores %qr, %kt : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    // expected-remark @+1 {{diff-window not folded into the keys: the keys are computed in the row}}
    %d = gf.row_neighbours %s width 3 scope visible : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%s, %d : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %t : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// The stencil is written out.
// CHECK-LABEL: func @wide
func.func @wide(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: gf.row_neighbours
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %e = tensor.empty(%n) : tensor<?xf32>
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    // expected-remark @+1 {{diff-window not folded into the keys: the window is wide}}
    %d = gf.row_neighbours %s width 35 scope visible : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%s, %d : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %t : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// Differences of keys of 16 bits would be rounded to 16 bits.
// CHECK-LABEL: func @half
func.func @half(%q: tensor<?x8xf16>, %k: tensor<?x8xf16>) -> tensor<?x8xf16> {
  // CHECK: gf.row_neighbours
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf16>
  %y = gf.attention queries(%q : tensor<?x8xf16>) keys(%k : tensor<?x8xf16>)
      -> tensor<?x8xf16> {
  ^row(%qr: tensor<8xf16>, %kr: tensor<?x8xf16>, %row: index, %position: index):
    %e = tensor.empty(%n) : tensor<?xf16>
    %s = gf.row_scores %qr, %kr : tensor<8xf16>, tensor<?x8xf16> -> tensor<?xf16>
    // expected-remark @+1 {{diff-window not folded into the keys: the keys have too few bits for their differences}}
    %d = gf.row_neighbours %s width 3 scope visible : tensor<?xf16>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%s, %d : tensor<?xf16>, tensor<?xf16>) outs(%e : tensor<?xf16>) {
    ^bb0(%a: f16, %b: f16, %o: f16):
      %sum = arith.addf %a, %b : f16
      linalg.yield %sum : f16
    } -> tensor<?xf16>
    %p = gf.row_softmax %t : tensor<?xf16>
    %y = gf.row_values %p, %kr : tensor<?xf16>, tensor<?x8xf16> -> tensor<8xf16>
    gf.yield %y : tensor<8xf16>
  }
  return %y : tensor<?x8xf16>
}

// -----

#row = affine_map<(d0) -> (d0)>

// All keys would be read and written for it.
// CHECK-LABEL: func @one_query
func.func @one_query(%q: tensor<1x8xf32>, %k: tensor<?x8xf32>) -> tensor<1x8xf32> {
  // CHECK: gf.row_neighbours
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<1x8xf32>) keys(%k : tensor<?x8xf32>)
      -> tensor<1x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %e = tensor.empty(%n) : tensor<?xf32>
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    // expected-remark @+1 {{diff-window not folded into the keys: one query alone costs less than folded keys}}
    %d = gf.row_neighbours %s width 3 scope visible : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%s, %d : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %t : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<1x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// Where a segment ends nobody knows.
// CHECK-LABEL: func @segments
func.func @segments(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %qs: tensor<?xi64>, %ks: tensor<?xi64>) -> tensor<?x8xf32> {
  // CHECK: gf.row_neighbours
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      query_segments(%qs : tensor<?xi64>) key_segments(%ks : tensor<?xi64>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %e = tensor.empty(%n) : tensor<?xf32>
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    // expected-remark @+1 {{diff-window not folded into the keys: segments end anywhere}}
    %d = gf.row_neighbours %s width 3 scope visible : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%s, %d : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %t : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// The scores of keys that are not seen, whose differences are 0, are used beside the softmax.
// CHECK-LABEL: func @needed
func.func @needed(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: gf.row_neighbours
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      causal -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %e = tensor.empty(%n) : tensor<?xf32>
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    // expected-remark @+1 {{diff-window not folded into the keys: scores of keys that are not seen are needed}}
    %d = gf.row_neighbours %s width 3 scope visible : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%s, %d : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    } -> tensor<?xf32>
    %u = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%t : tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %o: f32):
      %r = math.exp %a : f32
      linalg.yield %r : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %u : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// 17 keys for each of 9 columns, of each query.
// CHECK-LABEL: func @wide_edges
func.func @wide_edges(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: gf.row_neighbours
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      causal -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %e = tensor.empty(%n) : tensor<?xf32>
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    // expected-remark @+1 {{diff-window not folded into the keys: the window is wide, and what is visible begins or ends at another key for each query}}
    %d = gf.row_neighbours %s width 19 scope visible : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%s, %d : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %t : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// Both ends of a window: three columns at each.
// CHECK-LABEL: func @wide_window
func.func @wide_window(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: gf.row_neighbours
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      window(1, 1) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %e = tensor.empty(%n) : tensor<?xf32>
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    // expected-remark @+1 {{diff-window not folded into the keys: the window is wide, and what is visible begins or ends at another key for each query}}
    %d = gf.row_neighbours %s width 7 scope visible : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%s, %d : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %t : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// Which neighbours a key has, each query says of its own.
// CHECK-LABEL: func @masked
func.func @masked(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>, %m: tensor<?x?xi1>) -> tensor<?x8xf32> {
  // CHECK: gf.row_neighbours
  %c0 = arith.constant 0 : index
  %n = tensor.dim %k, %c0 : tensor<?x8xf32>
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>)
      mask(%m : tensor<?x?xi1>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    // expected-remark @+1 {{diff-window not folded into the keys: the mask is per element}}
    %d = gf.row_neighbours %s width 3 scope visible : tensor<?xf32>
    %e = tensor.empty(%n) : tensor<?xf32>
    %t = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%s, %d : tensor<?xf32>, tensor<?xf32>) outs(%e : tensor<?xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %sum = arith.addf %a, %b : f32
      linalg.yield %sum : f32
    } -> tensor<?xf32>
    %p = gf.row_softmax %t : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}

// -----

// Differences alone.
// CHECK-LABEL: func @differences
func.func @differences(%q: tensor<?x8xf32>, %k: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: gf.row_neighbours
  %y = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<?x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<?x8xf32>, %row: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<8xf32>, tensor<?x8xf32> -> tensor<?xf32>
    // expected-remark @+1 {{diff-window not folded into the keys: the differences are not added to the scores alone}}
    %d = gf.row_neighbours %s width 3 scope visible : tensor<?xf32>
    %p = gf.row_softmax %d : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x8xf32> -> tensor<8xf32>
    gf.yield %y : tensor<8xf32>
  }
  return %y : tensor<?x8xf32>
}
