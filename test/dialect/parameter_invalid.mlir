// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --verify-diagnostics --split-input-file -o /dev/null

func.func @no_name() {
  // expected-error @+1 {{needs a name}}
  %w = gf.parameter "" : tensor<4xf32>
  return
}

// -----

func.func @open_shape() {
  // expected-error @+1 {{needs a static shape, found 'tensor<?x4xf32>'}}
  %w = gf.parameter "w" : tensor<?x4xf32>
  return
}

// -----

func.func @too_large() {
  // expected-error @+1 {{is too large: 'tensor<4294967296x4294967296xf32>'}}
  %w = gf.parameter "w" : tensor<4294967296x4294967296xf32>
  return
}

// -----

func.func @part_of_an_integer() {
  // expected-error @+1 {{the initial value 5.000000e-01 is not a value of 'i32'}}
  %w = gf.parameter "w" initial 0.5 : tensor<4xi32>
  return
}

// -----

func.func @beyond_its_type() {
  // expected-error @+1 {{the initial value 2.147484e+09 is not a value of 'i32'}}
  %w = gf.parameter "w" initial 2147483648.0 : tensor<4xi32>
  return
}

// -----

func.func @not_a_boolean() {
  // expected-error @+1 {{the initial value -1.000000e+00 is not a value of 'i1'}}
  %w = gf.parameter "w" initial -1.0 : tensor<4xi1>
  return
}

// -----

func.func @wrong_element() {
  // expected-error @+1 {{must be ranked tensor of}}
  %w = gf.parameter "w" : tensor<4xi8>
  return
}
