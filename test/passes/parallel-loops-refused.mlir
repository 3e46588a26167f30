// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-parallel-loops --verify-diagnostics

func.func @gatefold_run_entry(%a: memref<16x8xf32>, %b: memref<f32>) -> f32 {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %x = vector.transfer_read %a[%c0, %c0], %zero : memref<16x8xf32>, vector<16x8xf32>
  // expected-error @+1 {{not compiled yet: it stands between operations on vectors, and is used behind them}}
  %kept = memref.load %b[] : memref<f32>
  %y = arith.negf %x : vector<16x8xf32>
  vector.transfer_write %y, %a[%c0, %c0] : vector<16x8xf32>, memref<16x8xf32>
  return %kept : f32
}
