// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --pass-pipeline="builtin.module(func.func(gf-choose-algorithms{schedule=attention.query_block=4},gf-tile-attention))" --verify-diagnostics --split-input-file
// RUN: not gatefold-opt %s --pass-pipeline="builtin.module(func.func(gf-choose-algorithms,gf-tile-attention))" --split-input-file 2>/dev/null | FileCheck %s

// What the cost model chose is left to the naive lowering where it cannot be done, what a
// user chose is refused: scores of 16 bits are not summed in blocks.

// CHECK: gf.attention {{.*}}gf.algorithm = "naive"
func.func @narrow(%q: tensor<?x4xf16>) -> tensor<?x4xf16> {
  // expected-error @+1 {{attention cannot be scheduled as resident: its product with the keys cannot be computed for a block of queries}}
  %y = gf.attention queries(%q : tensor<?x4xf16>) keys(%q : tensor<?x4xf16>) -> tensor<?x4xf16> {
  ^row(%query: tensor<4xf16>, %key: tensor<?x4xf16>, %row: index, %position: index):
    // expected-note @+1 {{this product with the keys}}
    %scores = gf.row_scores %query, %key : tensor<4xf16>, tensor<?x4xf16> -> tensor<?xf16>
    %weights = gf.row_softmax %scores : tensor<?xf16>
    %sum = gf.row_values %weights, %key : tensor<?xf16>, tensor<?x4xf16> -> tensor<4xf16>
    gf.yield %sum : tensor<4xf16>
  }
  return %y : tensor<?x4xf16>
}

// -----

// A size that the module's own choice has no use for.

func.func @naive(%q: tensor<?x4xf32>) -> tensor<?x4xf32> {
  // expected-error @+1 {{attention cannot be scheduled with query_block: the module says that its algorithm is "naive"}}
  %y = gf.attention queries(%q : tensor<?x4xf32>) keys(%q : tensor<?x4xf32>)
      attributes {gf.algorithm = "naive"} -> tensor<?x4xf32> {
  ^row(%query: tensor<4xf32>, %key: tensor<?x4xf32>, %row: index, %position: index):
    gf.yield %query : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}

// -----

// So is a size of a module that is none, whoever chose the algorithm.
func.func @size(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{gf.step_rows is 0 : i64, expected a number from 1 to 1048576 : i64}}
  gf.recurrence sequences(%x : tensor<?x4xf32>) time_axis 0 attributes {gf.step_rows = 0 : i64} {
  ^step(%x_t: tensor<4xf32>):
    gf.yield
  }
  return
}

// -----

func.func @type(%x: tensor<?x4xf32>) {
  // expected-error @+1 {{gf.step_rows is "many", expected a number from 1 to 1048576 : i64}}
  gf.recurrence sequences(%x : tensor<?x4xf32>) time_axis 0 attributes {gf.step_rows = "many"} {
  ^step(%x_t: tensor<4xf32>):
    gf.yield
  }
  return
}
