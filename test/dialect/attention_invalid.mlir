// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --verify-diagnostics --split-input-file -o /dev/null


func.func @no_key(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{needs at least one query and one key}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @no_query(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{needs at least one query and one key}}
  %o = gf.attention keys(%k : tensor<3x5x8xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<5x8xf32>
  }
  return
}

// -----

func.func @no_result(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{needs at least one result}}
  gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield
  }
  return
}

// -----

func.func @window_bound(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{a bound of 'window' is at least 0, or -1 for none, found -2}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) window(64, -2) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @segments_of_one_side(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %s: tensor<3x4xi64>) {
  // expected-error @+1 {{needs both 'query_segments' and 'key_segments', or neither}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) query_segments(%s : tensor<3x4xi64>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @few_arguments(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{the region needs one argument for each query, key, pair and capture, then row and position, 4, found 3}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @row_type(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{the region's last arguments, row and position, need type index, found 'i64'}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: i64):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @scalar_argument(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %c: tensor<3xf32>) {
  // expected-error @+1 {{argument #2 of the region needs a ranked tensor, found 'f32'}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) captures(%c : tensor<3xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %cr: f32, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @key_argument_rank(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{the argument of key #0 needs the keys as its first dimension, found 'tensor<f32>'}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<f32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @pair_argument_rank(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %p: tensor<4x5xf32>) {
  // expected-error @+1 {{the argument of pair #0 needs one element for each key, rank 1, found 'tensor<5x5xf32>'}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) pairs(%p : tensor<4x5xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %pr: tensor<5x5xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @yield_count(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{yields 1 rows for 2 results}}
  %o:2 = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) -> (tensor<3x4x8xf32>, tensor<3x4x8xf32>) {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @yield_scalar(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{the row of result #0 needs a ranked tensor, found 'index'}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %row : index
  }
  return
}

// -----

func.func @second_yield_scalar(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{the row of result #1 needs a ranked tensor, found 'index'}}
  %o:2 = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) -> (tensor<3x4x8xf32>, tensor<3x4xindex>) {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr, %row : tensor<8xf32>, index
  }
  return
}

// -----

func.func @result_without_queries(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{result #0 needs a dimension for the queries and the row 'tensor<8xf32>', found 'tensor<8xf32>'}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) -> tensor<8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @result_rank(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{result #1 needs 1 leading dimensions, the queries and the row 'tensor<8xf32>', found 'tensor<4x8xf32>'}}
  %o:2 = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) -> (tensor<3x4x8xf32>, tensor<4x8xf32>) {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr, %qr : tensor<8xf32>, tensor<8xf32>
  }
  return
}

// -----

func.func @result_lead(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{leading dimension 0 is 2 in result #1, but 3 in result #0}}
  %o:2 = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) -> (tensor<3x4x8xf32>, tensor<2x4x8xf32>) {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr, %qr : tensor<8xf32>, tensor<8xf32>
  }
  return
}

// -----

func.func @result_queries(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{the number of queries is 4 in query #0, but 6 in result #0}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) -> tensor<3x6x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @result_row(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{result #0 of type 'tensor<3x4x9xf32>' does not fit 'tensor<8xf32>' in the region}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) -> tensor<3x4x9xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @result_element(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{result #0 of type 'tensor<3x4x8xf64>' does not fit 'tensor<8xf32>' in the region}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) -> tensor<3x4x8xf64> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @query_without_queries(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %r: tensor<8xf32>) {
  // expected-error @+1 {{query #1 of type 'tensor<8xf32>' has -1 leading dimensions by its argument 'tensor<8xf32>', the results have 1}}
  %o = gf.attention queries(%q, %r : tensor<3x4x8xf32>, tensor<8xf32>) keys(%k : tensor<3x5x8xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %rr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @key_lead(%q: tensor<3x4x8xf32>, %k: tensor<2x3x5x8xf32>) {
  // expected-error @+1 {{key #0 of type 'tensor<2x3x5x8xf32>' has 2 leading dimensions by its argument 'tensor<5x8xf32>', the results have 1}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<2x3x5x8xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @key_lead_size(%q: tensor<3x4x8xf32>, %k: tensor<2x5x8xf32>) {
  // expected-error @+1 {{leading dimension 0 is 2 in key #0, but 3 in result #0}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<2x5x8xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @key_count(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %v: tensor<3x6x8xf32>) {
  // expected-error @+1 {{the number of keys is 6 in key #1, but 5 in key #0}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k, %v : tensor<3x5x8xf32>, tensor<3x6x8xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %vr: tensor<?x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @key_argument_count(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{the number of keys is 6 in the argument of key #0, but 5 in key #0}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<6x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @key_width(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{key #0 of type 'tensor<3x5x8xf32>' does not fit 'tensor<5x9xf32>' in the region}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x9xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @query_element(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{query #0 of type 'tensor<3x4x8xf32>' does not fit 'tensor<8xf16>' in the region}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) -> tensor<3x4x8xf16> {
  ^row(%qr: tensor<8xf16>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf16>
  }
  return
}

// -----

func.func @pair_queries(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %p: tensor<2x5xf32>) {
  // expected-error @+1 {{the number of queries is 2 in pair #0, but 4 in result #0}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) pairs(%p : tensor<2x5xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %pr: tensor<5xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @pair_keys(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %p: tensor<4x1xf32>) {
  // expected-error @+1 {{the number of keys is 1 in pair #0, but 5 in key #0}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) pairs(%p : tensor<4x1xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %pr: tensor<5xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @capture_lead(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %c: tensor<2xf32>) {
  // expected-error @+1 {{leading dimension 0 is 2 in capture #0, but 3 in result #0}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) captures(%c : tensor<2xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %cr: tensor<f32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @lengths_rank(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %n: tensor<i64>) {
  // expected-error @+1 {{'lengths' needs rank 1, the first of the leading dimensions, found 'tensor<i64>'}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) lengths(%n : tensor<i64>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @lengths_size(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %n: tensor<2xi64>) {
  // expected-error @+1 {{leading dimension 0 is 2 in 'lengths', but 3 in result #0}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) lengths(%n : tensor<2xi64>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @lengths_of_heads(%q: tensor<3x6x4x8xf32>, %k: tensor<3x6x5x8xf32>, %n: tensor<3x2xi64>) {
  // expected-error @+1 {{leading dimension 1 is 2 in 'lengths', but 6 in result #0}}
  %o = gf.attention queries(%q : tensor<3x6x4x8xf32>) keys(%k : tensor<3x6x5x8xf32>) lengths(%n : tensor<3x2xi64>) -> tensor<3x6x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @lengths_element(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %n: tensor<3xi8>) {
  // expected-error @+1 {{must be ranked tensor of 32-bit signless integer or 64-bit signless integer values}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) lengths(%n : tensor<3xi8>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @mask_rank(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %m: tensor<1x1x1x1xi1>) {
  // expected-error @+1 {{'mask' has rank 4, leading dimensions, queries and keys are 3}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) mask(%m : tensor<1x1x1x1xi1>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @mask_keys(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %m: tensor<4xi1>) {
  // expected-error @+1 {{the number of keys is 4 in 'mask', but 5 in key #0}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) mask(%m : tensor<4xi1>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @mask_queries(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %m: tensor<5x1xi1>) {
  // expected-error @+1 {{the number of queries is 5 in 'mask', but 4 in result #0}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) mask(%m : tensor<5x1xi1>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @mask_lead(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %m: tensor<2x1x1xi1>) {
  // expected-error @+1 {{leading dimension 0 is 2 in 'mask', but 3 in result #0}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) mask(%m : tensor<2x1x1xi1>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @mask_element(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %m: tensor<4x5xf32>) {
  // expected-error @+1 {{must be ranked tensor of 1-bit signless integer values}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) mask(%m : tensor<4x5xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @bias_keys(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %m: tensor<4xf32>) {
  // expected-error @+1 {{the number of keys is 4 in 'bias', but 5 in key #0}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) bias(%m : tensor<4xf32>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @bias_element(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %m: tensor<5xi64>) {
  // expected-error @+1 {{must be ranked tensor of floating-point values}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) bias(%m : tensor<5xi64>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @offset_rank(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %n: tensor<3x4xi64>) {
  // expected-error @+1 {{'offset' needs rank 0 to 1, the first of the leading dimensions, found 'tensor<3x4xi64>'}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) offset(%n : tensor<3x4xi64>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @segments_rank(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %s: tensor<4xi64>, %t: tensor<3x5xi64>) {
  // expected-error @+1 {{'query_segments' needs rank 2, the first of the leading dimensions and one element for each position, found 'tensor<4xi64>'}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) query_segments(%s : tensor<4xi64>) key_segments(%t : tensor<3x5xi64>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @segments_of_heads(%q: tensor<3x6x4x8xf32>, %k: tensor<3x6x5x8xf32>, %s: tensor<3x4xi64>, %t: tensor<3x2x5xi64>) {
  // expected-error @+1 {{leading dimension 1 is 2 in 'key_segments', but 6 in result #0}}
  %o = gf.attention queries(%q : tensor<3x6x4x8xf32>) keys(%k : tensor<3x6x5x8xf32>) query_segments(%s : tensor<3x4xi64>) key_segments(%t : tensor<3x2x5xi64>) -> tensor<3x6x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @segments_size(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>, %s: tensor<3x4xi64>, %t: tensor<3x4xi64>) {
  // expected-error @+1 {{the number of keys is 4 in 'key_segments', but 5 in key #0}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) query_segments(%s : tensor<3x4xi64>) key_segments(%t : tensor<3x4xi64>) -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @spelled_twice(%q: tensor<3x4x8xf32>, %k: tensor<3x5x8xf32>) {
  // expected-error @+1 {{'causal' belongs in the header of the operation, not in its attributes}}
  %o = gf.attention queries(%q : tensor<3x4x8xf32>) keys(%k : tensor<3x5x8xf32>) attributes {causal} -> tensor<3x4x8xf32> {
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }
  return
}

// -----

func.func @window_of_three(%q: tensor<4x8xf32>, %k: tensor<5x8xf32>) {
  // expected-error @+1 {{'window' needs two bounds, left and right, found 3}}
  %0 = "gf.attention"(%q, %k) <{operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0, 0, 0>, window = array<i64: 1, 2, 3>}> ({
  ^row(%qr: tensor<8xf32>, %kr: tensor<5x8xf32>, %row: index, %position: index):
    gf.yield %qr : tensor<8xf32>
  }) : (tensor<4x8xf32>, tensor<5x8xf32>) -> tensor<4x8xf32>
  return
}
