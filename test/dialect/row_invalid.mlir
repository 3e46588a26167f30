// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --verify-diagnostics --split-input-file -o /dev/null

func.func @outside(%s: tensor<4xf32>) {
  // expected-error @+1 {{stands outside of a gf.attention}}
  %p = gf.row_softmax %s : tensor<4xf32>
  return
}

// -----

func.func @visible_outside() {
  // expected-error @+1 {{stands outside of a gf.attention}}
  %p = gf.row_visible : tensor<4xi1>
  return
}

// -----

func.func @reached_outside() {
  // expected-error @+1 {{stands outside of a gf.attention}}
  %p = gf.row_visible any_query : tensor<4xi1>
  return
}

// -----

func.func @reached_size(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) causal -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{has a row of 6 elements in an attention over 5 keys}}
    %s = gf.row_visible any_query : tensor<6xi1>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @scores_width(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{the query has 8 elements, each key 9}}
    %s = gf.row_scores %qr, %x : tensor<8xf32>, tensor<5x9xf32> -> tensor<5xf32>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @scores_count(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{gives 5 scores for 6 keys}}
    %s = gf.row_scores %qr, %y : tensor<8xf32>, tensor<6x8xf32> -> tensor<5xf32>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @scores_of_other_keys(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{has a row of 6 elements in an attention over 5 keys}}
    %s = gf.row_scores %qr, %y : tensor<8xf32>, tensor<6x8xf32> -> tensor<6xf32>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @values_count(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{has 5 weights for 6 values}}
    %s = gf.row_values %z, %y : tensor<5xf32>, tensor<6x8xf32> -> tensor<8xf32>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @values_width(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{gives 7 elements from values of 8}}
    %s = gf.row_values %z, %kr : tensor<5xf32>, tensor<5x8xf32> -> tensor<7xf32>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @values_of_other_keys(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{has a row of 8 elements in an attention over 5 keys}}
    %s = gf.row_values %qr, %kr : tensor<8xf32>, tensor<5x8xf32> -> tensor<8xf32>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @softmax_of_other_row(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{has a row of 8 elements in an attention over 5 keys}}
    %s = gf.row_softmax %qr : tensor<8xf32>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @softmax_where(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{has 6 elements of 'where' for 5 scores}}
    %s = gf.row_softmax %z where(%w : tensor<6xi1>) : tensor<5xf32>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @softmax_sink(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{has a sink of type 'f64', scores of type 'f32'}}
    %s = gf.row_softmax %z sink(%d : f64) : tensor<5xf32>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @log_sum_exp(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %z: tensor<5xf32>) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{has a log-sum-exp of type 'tensor<f64>', expected 'tensor<f32>' with scores of type 'f32'}}
    %s, %l = gf.row_softmax %z : tensor<5xf32>, tensor<f64>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @neighbours_even(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{needs an odd width of at least 1, found 2}}
    %s = gf.row_neighbours %z width 2 scope all : tensor<5xf32>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @neighbours_negative(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{needs an odd width of at least 1, found -1}}
    %s = gf.row_neighbours %z width -1 scope all : tensor<5xf32>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @neighbours_scope(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{one of the following enum values for attribute 'scope' [visible, all]}}
    %s = gf.row_neighbours %z width 3 scope near : tensor<5xf32>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @top_k_without(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{needs either a count or a fraction}}
    %s = gf.row_top_k %z : tensor<5xf32> -> tensor<5xi1>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @top_k_with_both(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{needs either a count or a fraction}}
    %s = gf.row_top_k %z count 2 fraction 0.5 : tensor<5xf32> -> tensor<5xi1>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @top_k_of_none(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{needs a count of at least 1, found 0}}
    %s = gf.row_top_k %z count 0 : tensor<5xf32> -> tensor<5xi1>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @top_k_fraction(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{needs a fraction from 0 to 1, found 1.500000e+00}}
    %s = gf.row_top_k %z fraction 1.5 : tensor<5xf32> -> tensor<5xi1>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @top_k_not_a_number(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{needs a fraction from 0 to 1}}
    %s = gf.row_top_k %z fraction 0x7FF8000000000000 : tensor<5xf32> -> tensor<5xi1>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @top_k_size(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{gives 5 elements for 8 scores}}
    %s = gf.row_top_k %qr count 2 : tensor<8xf32> -> tensor<5xi1>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}

// -----

func.func @visible_size(%q: tensor<?x8xf32>, %k: tensor<5x8xf32>, %x: tensor<5x9xf32>, %y: tensor<6x8xf32>,
    %z: tensor<5xf32>, %w: tensor<6xi1>, %d: f64) -> tensor<?x8xf32> {
  %o = gf.attention queries(%q : tensor<?x8xf32>) keys(%k : tensor<5x8xf32>) -> tensor<?x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    // expected-error @+1 {{has a row of 6 elements in an attention over 5 keys}}
    %s = gf.row_visible : tensor<6xi1>
    gf.yield %qr : tensor<8xf32>
  }
  return %o : tensor<?x8xf32>
}
