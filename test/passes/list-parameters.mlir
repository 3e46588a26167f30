// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --gf-list-parameters | FileCheck %s
// RUN: gatefold-opt %s --gf-simplify | FileCheck %s --check-prefix=SIMPLE
// RUN: gatefold-opt %s --gf-simplify --gf-split="naive=true" | FileCheck %s --check-prefix=SPLIT

// Its own and those of what it calls, read or not, each once.
// CHECK-LABEL: func.func @main
// CHECK-SAME: gf.parameters = [{name = "w", type = tensor<4xf32>}, {initial = 2.500000e-01 : f64, name = "b", type = tensor<4xf32>}, {name = "dead", type = tensor<2x3xf16>}]
// What nothing reads goes from the program, and stays in its interface.
// SIMPLE-LABEL: func.func @main
// SIMPLE-SAME: gf.parameters
// SIMPLE-NOT: gf.parameter "dead"
// SIMPLE: return
// SPLIT-LABEL: func.func @gatefold_run_entry(%{{[^:]*}}: memref<4xf32>, %{{[^:]*}}: memref<4xf32>, %{{[^:]*}}: memref<2x3xf16>, %{{[^:]*}}: memref<4xf32
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %w = gf.parameter "w" : tensor<4xf32>
  %b = gf.parameter "b" initial 0.25 : tensor<4xf32>
  %y = arith.addf %x, %w : tensor<4xf32>
  %r = func.call @called(%y) : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}

// CHECK: func.func private @called(%{{[^)]*}}) -> tensor<4xf32> {
func.func private @called(%x: tensor<4xf32>) -> tensor<4xf32> {
  %d = gf.parameter "dead" : tensor<2x3xf16>
  %w = gf.parameter "w" : tensor<4xf32>
  %y = arith.mulf %x, %w : tensor<4xf32>
  return %y : tensor<4xf32>
}
