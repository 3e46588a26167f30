// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-destination-arguments --verify-diagnostics

// As many tensors as described, but the result is an argument already.
module attributes {gf.description = {dimensions = [], entry = "f", equal = [], messages = [],
    tensors = [{name = "x", role = 0 : i64, shape = affine_map<() -> (4)>, type = tensor<4xf32>},
               {name = "y", role = 1 : i64, result, shape = affine_map<() -> (4)>, type = tensor<4xf32>}]}} {
  // expected-error @+1 {{has no arguments that agree with gf.description}}
  func.func @gatefold_run_entry(%x: tensor<4xf32>, %y: tensor<4xf32>) {
    return
  }
}
