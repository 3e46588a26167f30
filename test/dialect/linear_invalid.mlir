// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --verify-diagnostics --split-input-file -o /dev/null

func.func @element(%x: tensor<3x4xi32>, %p: tensor<2x4x8xf32>, %e: tensor<3x16xf32>) {
  // expected-error @+1 {{multiplies f16, bf16, f32 or f64, not 'i32'}}
  %0 = gf.linear %x, %p outs(%e : tensor<3x16xf32>) : tensor<3x4xi32>, tensor<2x4x8xf32> -> tensor<3x16xf32>
  return
}

// -----

func.func @doubles(%x: tensor<3x4xf32>, %p: tensor<2x4x8xf32>, %e: tensor<3x16xf64>) {
  // expected-error @+1 {{mixes f64 with 'f32'}}
  %0 = gf.linear %x, %p outs(%e : tensor<3x16xf64>) : tensor<3x4xf32>, tensor<2x4x8xf32> -> tensor<3x16xf64>
  return
}

// -----

func.func @panels(%x: tensor<3x4xf32>, %p: tensor<4x16xf32>, %e: tensor<3x16xf32>) {
  // expected-error @+1 {{needs panels [panels, k, width] of a known width, found 'tensor<4x16xf32>'}}
  %0 = gf.linear %x, %p outs(%e : tensor<3x16xf32>) : tensor<3x4xf32>, tensor<4x16xf32> -> tensor<3x16xf32>
  return
}

// -----

func.func @no_width(%x: tensor<3x4xf32>, %p: tensor<2x4x?xf32>, %e: tensor<3x16xf32>) {
  // expected-error @+1 {{needs panels [panels, k, width] of a known width}}
  %0 = gf.linear %x, %p outs(%e : tensor<3x16xf32>) : tensor<3x4xf32>, tensor<2x4x?xf32> -> tensor<3x16xf32>
  return
}

// -----

func.func @rank(%x: tensor<3x4xf32>, %p: tensor<2x4x8xf32>, %e: tensor<16xf32>) {
  // expected-error @+1 {{needs x [m.., k] and an output [m.., n] or [m.., gates, n]}}
  %0 = gf.linear %x, %p outs(%e : tensor<16xf32>) : tensor<3x4xf32>, tensor<2x4x8xf32> -> tensor<16xf32>
  return
}

// -----

func.func @no_rank(%x: tensor<f32>, %p: tensor<2x4x8xf32>, %e: tensor<f32>) {
  // expected-error @+1 {{needs x [m.., k] and an output [m.., n] or [m.., gates, n]}}
  %0 = gf.linear %x, %p outs(%e : tensor<f32>) : tensor<f32>, tensor<2x4x8xf32> -> tensor<f32>
  return
}

// -----

func.func @rows(%x: tensor<3x4xf32>, %p: tensor<2x4x8xf32>, %e: tensor<5x16xf32>) {
  // expected-error @+1 {{has rows 'tensor<3x4xf32>' and gives rows 'tensor<5x16xf32>'}}
  %0 = gf.linear %x, %p outs(%e : tensor<5x16xf32>) : tensor<3x4xf32>, tensor<2x4x8xf32> -> tensor<5x16xf32>
  return
}

// -----

func.func @terms(%x: tensor<3x5xf32>, %p: tensor<2x4x8xf32>, %e: tensor<3x16xf32>) {
  // expected-error @+1 {{multiplies 'tensor<3x5xf32>' with panels of another size along k: 'tensor<2x4x8xf32>'}}
  %0 = gf.linear %x, %p outs(%e : tensor<3x16xf32>) : tensor<3x5xf32>, tensor<2x4x8xf32> -> tensor<3x16xf32>
  return
}

// -----

func.func @columns(%x: tensor<3x4xf32>, %p: tensor<2x4x8xf32>, %e: tensor<3x17xf32>) {
  // expected-error @+1 {{gives 17 columns from 'tensor<2x4x8xf32>'}}
  %0 = gf.linear %x, %p outs(%e : tensor<3x17xf32>) : tensor<3x4xf32>, tensor<2x4x8xf32> -> tensor<3x17xf32>
  return
}

// -----

func.func @initial(%x: tensor<3x4xf32>, %p: tensor<2x4x8xf32>, %b: tensor<15xf32>, %e: tensor<3x16xf32>) {
  // expected-error @+1 {{begins with 'tensor<15xf32>', expected [n] or the shape of 'tensor<3x16xf32>'}}
  %0 = gf.linear %x, %p initial(%b : tensor<15xf32>) outs(%e : tensor<3x16xf32>) : tensor<3x4xf32>, tensor<2x4x8xf32> -> tensor<3x16xf32>
  return
}

// -----

func.func @initial_rank(%x: tensor<3x4xf32>, %p: tensor<2x4x8xf32>, %b: tensor<f32>, %e: tensor<3x16xf32>) {
  // expected-error @+1 {{begins with 'tensor<f32>'}}
  %0 = gf.linear %x, %p initial(%b : tensor<f32>) outs(%e : tensor<3x16xf32>) : tensor<3x4xf32>, tensor<2x4x8xf32> -> tensor<3x16xf32>
  return
}

// -----

func.func @mixed(%x: memref<3x4xf32>, %p: tensor<2x4x8xf32>, %e: memref<3x16xf32>) {
  // expected-error @+1 {{has no result and needs buffers, found 'tensor<2x4x8xf32>'}}
  gf.linear %x, %p outs(%e : memref<3x16xf32>) : memref<3x4xf32>, tensor<2x4x8xf32>
  return
}

// -----

func.func @gates(%x: tensor<3x4xf32>, %p: tensor<2x4x16xf32>, %e: tensor<3x3x10xf32>) {
  // expected-error @+1 {{gives gates 'tensor<3x3x10xf32>', of which a panel of 16 lanes has not equally many columns}}
  %0 = gf.linear %x, %p outs(%e : tensor<3x3x10xf32>) : tensor<3x4xf32>, tensor<2x4x16xf32> -> tensor<3x3x10xf32>
  return
}

// -----

func.func @open_gates(%x: tensor<3x4xf32>, %p: tensor<2x4x16xf32>, %e: tensor<3x?x10xf32>) {
  // expected-error @+1 {{gives gates 'tensor<3x?x10xf32>'}}
  %0 = gf.linear %x, %p outs(%e : tensor<3x?x10xf32>) : tensor<3x4xf32>, tensor<2x4x16xf32> -> tensor<3x?x10xf32>
  return
}

// -----

func.func @columns_of_gates(%x: tensor<3x4xf32>, %p: tensor<2x4x16xf32>, %e: tensor<3x2x17xf32>) {
  // expected-error @+1 {{gives 17 columns from 'tensor<2x4x16xf32>'}}
  %0 = gf.linear %x, %p outs(%e : tensor<3x2x17xf32>) : tensor<3x4xf32>, tensor<2x4x16xf32> -> tensor<3x2x17xf32>
  return
}

// -----

func.func @initial_of_gates(%x: tensor<3x4xf32>, %p: tensor<2x4x16xf32>, %b: tensor<32xf32>, %e: tensor<3x2x16xf32>) {
  // expected-error @+1 {{begins with 'tensor<32xf32>', expected [gates, n] or the shape of 'tensor<3x2x16xf32>'}}
  %0 = gf.linear %x, %p initial(%b : tensor<32xf32>) outs(%e : tensor<3x2x16xf32>) : tensor<3x4xf32>, tensor<2x4x16xf32> -> tensor<3x2x16xf32>
  return
}
