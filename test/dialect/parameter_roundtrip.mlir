// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s | gatefold-opt | FileCheck %s
// RUN: gatefold-opt %s --emit-bytecode | gatefold-opt | FileCheck %s
// RUN: gatefold-opt %s --mlir-print-op-generic | gatefold-opt | FileCheck %s

// CHECK-LABEL: func @parameters
func.func @parameters() -> (tensor<512x128xf32>, tensor<512xf32>, tensor<i64>, tensor<2xi1>, tensor<0xbf16>) {
  // CHECK: gf.parameter "encoder.weight_ih_l0" : tensor<512x128xf32>
  %w = gf.parameter "encoder.weight_ih_l0" : tensor<512x128xf32>
  // CHECK: gf.parameter "encoder.bias_ih_l0" initial 0.000000e+00 : tensor<512xf32>
  %b = gf.parameter "encoder.bias_ih_l0" initial 0.0 : tensor<512xf32>
  // CHECK: gf.parameter "count" initial -3.000000e+00 {note} : tensor<i64>
  %n = gf.parameter "count" initial -3.0 {note} : tensor<i64>
  // CHECK: gf.parameter "a \22quoted\22 name" initial 1.000000e+00 : tensor<2xi1>
  %m = gf.parameter "a \"quoted\" name" initial 1.0 : tensor<2xi1>
  // CHECK: gf.parameter "empty" : tensor<0xbf16>
  %e = gf.parameter "empty" : tensor<0xbf16>
  return %w, %b, %n, %m, %e : tensor<512x128xf32>, tensor<512xf32>, tensor<i64>, tensor<2xi1>, tensor<0xbf16>
}
