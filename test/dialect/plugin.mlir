// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A stock mlir-opt reads the dialect and runs a pass of ours through the plugin.
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --canonicalize | FileCheck %s
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline='builtin.module(func.func(gf-choose-algorithms{naive},gf-lower-recurrence))' | FileCheck %s --check-prefix=LOWERED
// RUN: mlir-opt %s --load-dialect-plugin=%plugin --load-pass-plugin=%plugin \
// RUN:   --pass-pipeline='builtin.module(gf-simplify,gf-schedule,gf-tile)' | FileCheck %s --check-prefix=LOWERED

// CHECK-LABEL: func @twice
// CHECK: gf.recurrence sequences(%{{[a-z0-9]+}} : tensor<?x4xf32>) time_axis 0
// LOWERED-NOT: gf.recurrence
// LOWERED: scf.for
// LOWERED-NOT: gf.recurrence
func.func @twice(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
  %y = gf.recurrence sequences(%x, %x : tensor<?x4xf32>, tensor<?x4xf32>) time_axis 0 -> (tensor<?x4xf32>) {
  ^step(%x0: tensor<4xf32>, %x1: tensor<4xf32>):
    %s = arith.addf %x0, %x1 : tensor<4xf32>
    gf.yield %s : tensor<4xf32>
  }
  return %y : tensor<?x4xf32>
}
