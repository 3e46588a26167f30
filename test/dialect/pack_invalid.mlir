// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --verify-diagnostics --split-input-file -o /dev/null

func.func @rank(%w: tensor<4xf32>, %e: tensor<1x4x8xf32>) {
  // expected-error @+1 {{needs a matrix, or gates of one size, found 'tensor<4xf32>'}}
  %0 = gf.pack %w along 0 into %e : tensor<4xf32> into tensor<1x4x8xf32> -> tensor<1x4x8xf32>
  return
}

// -----

func.func @panels_rank(%w: tensor<8x4xf32>, %e: tensor<4x8xf32>) {
  // expected-error @+1 {{needs panels [panels, k, width] of a known width, found 'tensor<4x8xf32>'}}
  %0 = gf.pack %w along 0 into %e : tensor<8x4xf32> into tensor<4x8xf32> -> tensor<4x8xf32>
  return
}

// -----

func.func @open_width(%w: tensor<8x4xf32>, %e: tensor<1x4x?xf32>) {
  // expected-error @+1 {{needs panels [panels, k, width] of a known width}}
  %0 = gf.pack %w along 0 into %e : tensor<8x4xf32> into tensor<1x4x?xf32> -> tensor<1x4x?xf32>
  return
}

// -----

func.func @no_width(%w: tensor<8x4xf32>, %e: tensor<1x4x0xf32>) {
  // expected-error @+1 {{needs panels [panels, k, width] of a known width}}
  %0 = gf.pack %w along 0 into %e : tensor<8x4xf32> into tensor<1x4x0xf32> -> tensor<1x4x0xf32>
  return
}

// -----

func.func @along(%w: tensor<8x4xf32>, %e: tensor<1x4x8xf32>) {
  // expected-error @+1 {{packs along dimension 0 or 1, not 2}}
  %0 = gf.pack %w along 2 into %e : tensor<8x4xf32> into tensor<1x4x8xf32> -> tensor<1x4x8xf32>
  return
}

// -----

func.func @element(%w: tensor<8x4xf32>, %e: tensor<1x4x8xf16>) {
  // expected-error @+1 {{packs elements 'f32' into 'f16'}}
  %0 = gf.pack %w along 0 into %e : tensor<8x4xf32> into tensor<1x4x8xf16> -> tensor<1x4x8xf16>
  return
}

// -----

func.func @terms(%w: tensor<8x4xf32>, %e: tensor<1x8x8xf32>) {
  // expected-error @+1 {{into panels with another size along k}}
  %0 = gf.pack %w along 0 into %e : tensor<8x4xf32> into tensor<1x8x8xf32> -> tensor<1x8x8xf32>
  return
}

// -----

func.func @columns(%w: tensor<4x20xf32>, %e: tensor<2x4x8xf32>) {
  // expected-error @+1 {{packs 20 columns into 2 panels of 8}}
  %0 = gf.pack %w along 1 into %e : tensor<4x20xf32> into tensor<2x4x8xf32> -> tensor<2x4x8xf32>
  return
}

// -----

func.func @mixed(%w: memref<8x4xf32>, %e: tensor<1x4x8xf32>) {
  // expected-error @+1 {{has a result and needs tensors, found 'memref<8x4xf32>'}}
  %0 = gf.pack %w along 0 into %e : memref<8x4xf32> into tensor<1x4x8xf32> -> tensor<1x4x8xf32>
  return
}

// -----

func.func @no_result(%w: tensor<8x4xf32>, %e: tensor<1x4x8xf32>) {
  // expected-error @+1 {{has no result and needs buffers, found 'tensor<8x4xf32>'}}
  gf.pack %w along 0 into %e : tensor<8x4xf32> into tensor<1x4x8xf32>
  return
}

// -----

func.func @result(%w: tensor<8x4xf32>, %e: tensor<?x4x8xf32>) {
  // expected-error @+1 {{gives 'tensor<1x4x8xf32>' into an output of type 'tensor<?x4x8xf32>'}}
  %0 = gf.pack %w along 0 into %e : tensor<8x4xf32> into tensor<?x4x8xf32> -> tensor<1x4x8xf32>
  return
}

// -----

func.func @unranked(%w: memref<*xf32>, %e: memref<1x4x8xf32>) {
  // expected-error @+1 {{needs buffers, found 'memref<*xf32>'}}
  gf.pack %w along 0 into %e : memref<*xf32> into memref<1x4x8xf32>
  return
}

// -----

func.func @integers(%w: tensor<8x4xi32>, %e: tensor<1x4x8xi32>) {
  // expected-error @+1 {{packs f16, bf16, f32 or f64, not 'i32'}}
  %0 = gf.pack %w along 0 into %e : tensor<8x4xi32> into tensor<1x4x8xi32> -> tensor<1x4x8xi32>
  return
}

// -----

func.func @gates(%w: tensor<3x8x4xf32>, %e: tensor<1x4x32xf32>) {
  // expected-error @+1 {{packs gates 'tensor<3x8x4xf32>', of which a panel of 32 lanes has not equally many columns}}
  %0 = gf.pack %w along 0 into %e : tensor<3x8x4xf32> into tensor<1x4x32xf32> -> tensor<1x4x32xf32>
  return
}

// -----

func.func @columns_of_gates(%w: tensor<4x3x20xf32>, %e: tensor<2x4x24xf32>) {
  // expected-error @+1 {{packs 20 columns into 2 panels of 8}}
  %0 = gf.pack %w along 1 into %e : tensor<4x3x20xf32> into tensor<2x4x24xf32> -> tensor<2x4x24xf32>
  return
}
