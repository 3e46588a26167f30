// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --pass-pipeline="builtin.module(gf-attach-target{target=x86-64-v4},func.func(gf-choose-algorithms{schedule=attention.algorithm=online},gf-tile-attention))" --verify-diagnostics --split-input-file

// What a block of keys cannot pass on to the next one.

func.func @largest(%q: tensor<?x4xf32>, %k: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{attention cannot be scheduled as online: its top_k needs the scores of all keys at once}}
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

func.func @neighbours(%q: tensor<?x4xf32>, %k: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{its neighbour_difference needs scores of keys in other blocks}}
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x4xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    // expected-note @+1 {{this neighbour_difference}}
    %d = gf.row_neighbours %s width 3 scope visible : tensor<?xf32>
    %p = gf.row_softmax %d : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// -----

func.func @nested(%q: tensor<?x4xf32>, %k: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{its softmax needs the sum of another softmax}}
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x4xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    // expected-note @+1 {{this softmax}}
    %w = gf.row_softmax %p : tensor<?xf32>
    %y = gf.row_values %w, %kr : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// A square is not a sum of softmaxes.
func.func @squared(%q: tensor<?x4xf32>, %k: tensor<5x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{its arithmetic needs the sum of a softmax before its values}}
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<5x4xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<5x4xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<5x4xf32> -> tensor<5xf32>
    %p = gf.row_softmax %s : tensor<5xf32>
    %e = tensor.empty() : tensor<5xf32>
    // expected-note @+1 {{this arithmetic}}
    %w = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel"]}
        ins(%p : tensor<5xf32>) outs(%e : tensor<5xf32>) {
    ^bb0(%a: f32, %o: f32):
      %x = arith.mulf %a, %a : f32
      linalg.yield %x : f32
    } -> tensor<5xf32>
    %y = gf.row_values %w, %kr : tensor<5xf32>, tensor<5x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>

// A factor for each key is none for the result.
func.func @factors(%q: tensor<?x4xf32>, %k: tensor<5x4xf32>, %f: tensor<5xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{its arithmetic needs the sum of a softmax before its values}}
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k, %f : tensor<5x4xf32>, tensor<5xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<5x4xf32>, %fr: tensor<5xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<5x4xf32> -> tensor<5xf32>
    %p = gf.row_softmax %s : tensor<5xf32>
    %e = tensor.empty() : tensor<5xf32>
    // expected-note @+1 {{this arithmetic}}
    %w = linalg.generic {indexing_maps = [#row, #row, #row], iterator_types = ["parallel"]}
        ins(%p, %fr : tensor<5xf32>, tensor<5xf32>) outs(%e : tensor<5xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %x = arith.mulf %a, %b : f32
      linalg.yield %x : f32
    } -> tensor<5xf32>
    %y = gf.row_values %w, %kr : tensor<5xf32>, tensor<5x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// -----

// Weights that are the same for all queries are no tile.
func.func @equal_weights(%q: tensor<?x4xf32>, %k: tensor<?x4xf32>, %w: tensor<?xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{its product with the values needs weights that are made of each key as it passes}}
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k, %w : tensor<?x4xf32>, tensor<?xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x4xf32>, %wr: tensor<?xf32>, %r: index, %position: index):
    // expected-note @+1 {{this product with the values}}
    %y = gf.row_values %wr, %kr : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// -----

#row = affine_map<(d0) -> (d0)>
#sum = affine_map<(d0) -> ()>

func.func @reduced(%q: tensor<?x4xf32>, %k: tensor<5x4xf32>) -> tensor<?xf32> {
  %zero = arith.constant 0.0 : f32
  // expected-error @+1 {{its arithmetic needs a running form of what it makes of all keys}}
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<5x4xf32>) -> tensor<?xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<5x4xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<5x4xf32> -> tensor<5xf32>
    %start = tensor.from_elements %zero : tensor<f32>
    // expected-note @+1 {{this arithmetic}}
    %t = linalg.generic {indexing_maps = [#row, #sum], iterator_types = ["reduction"]}
        ins(%s : tensor<5xf32>) outs(%start : tensor<f32>) {
    ^bb0(%a: f32, %o: f32):
      %x = arith.addf %o, %a : f32
      linalg.yield %x : f32
    } -> tensor<f32>
    gf.yield %t : tensor<f32>
  }
  return %y : tensor<?xf32>
}

// -----

// Scores from the result of another pass over the keys.
func.func @twice(%q: tensor<?x4xf32>, %k: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{its product with the keys needs a second pass over the keys}}
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x4xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %y = gf.row_values %p, %kr : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
    // expected-note @+1 {{this product with the keys}}
    %t = gf.row_scores %y, %kr : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    %w = gf.row_softmax %t : tensor<?xf32>
    %z = gf.row_values %w, %kr : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
    gf.yield %z : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// -----

func.func @yielded(%q: tensor<?x4xf32>, %k: tensor<?x4xf32>) -> tensor<?x?xf32> {
  // expected-error @+1 {{its result needs all keys of a row at once}}
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<?x4xf32>) -> tensor<?x?xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x4xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    // expected-note @+1 {{this result}}
    gf.yield %p : tensor<?xf32>
  }
  return %y : tensor<?x?xf32>
}

// -----

// Blocks begin where sums along the keys do.
func.func @block(%q: tensor<?x4xf32>, %k: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{gf.key_block is 100, expected a multiple of 64, the keys that this target adds up side by side}}
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<?x4xf32>)
      attributes {gf.key_block = 100 : i64} -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x4xf32>, %r: index, %position: index):
    gf.yield %qr : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// -----

func.func @own_values(%q: tensor<?x4xf32>, %k: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{its product with the values needs values that are the same for all queries}}
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%k : tensor<?x4xf32>) -> tensor<?x4xf32> {
  ^row(%qr: tensor<4xf32>, %kr: tensor<?x4xf32>, %r: index, %position: index):
    %s = gf.row_scores %qr, %kr : tensor<4xf32>, tensor<?x4xf32> -> tensor<?xf32>
    %p = gf.row_softmax %s : tensor<?xf32>
    %zero = arith.constant 0 : index
    %n = tensor.dim %kr, %zero : tensor<?x4xf32>
    %e = tensor.empty(%n) : tensor<?x4xf32>
    %v = linalg.generic {indexing_maps = [affine_map<(j, d) -> (j, d)>, affine_map<(j, d) -> (d)>, affine_map<(j, d) -> (j, d)>], iterator_types = ["parallel", "parallel"]}
        ins(%kr, %qr : tensor<?x4xf32>, tensor<4xf32>) outs(%e : tensor<?x4xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %m = arith.mulf %a, %b : f32
      linalg.yield %m : f32
    } -> tensor<?x4xf32>
    // expected-note @+1 {{this product with the values}}
    %y = gf.row_values %p, %v : tensor<?xf32>, tensor<?x4xf32> -> tensor<4xf32>
    gf.yield %y : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}
