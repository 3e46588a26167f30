// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --split-input-file --verify-diagnostics --gf-bind-parameters

// expected-error @+1 {{'gf.parameters' needs a name and the type of a tensor of fixed size for each, found {name = "w"}}}
func.func @no_type(%x: tensor<4xf32>) -> tensor<4xf32> attributes {gf.parameters = [{name = "w"}]} {
  return %x : tensor<4xf32>
}

// -----

func.func @types(%x: tensor<4xf32>) -> tensor<4xf32> attributes {gf.parameters = [{name = "w", type = tensor<3xf32>}]} {
  // expected-error @+1 {{parameter "w" has type 'tensor<3xf32>' elsewhere}}
  %w = gf.parameter "w" : tensor<4xf32>
  return %w : tensor<4xf32>
}
