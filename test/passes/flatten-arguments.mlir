// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --allow-unregistered-dialect --pass-pipeline='builtin.module(gpu.module(gpu.func(gf-flatten-arguments)))' --split-input-file --verify-diagnostics | FileCheck %s

gpu.module @kernels {
  // A pointer, then the sizes and strides that the type leaves open.
  // CHECK: gpu.func @open(%[[P:.*]]: !llvm.ptr<1>, %[[SIZE:.*]]: i64, %[[STRIDE:.*]]: i64, %[[Q:.*]]: !llvm.ptr<1>, %[[TEAM:.*]]: !llvm.ptr<1>) kernel
  // CHECK-SAME: gf.argument_words = [array<i64: 1, 3, 5>, array<i64: 1>]
  gpu.func @open(%x: memref<?x8xf32, strided<[?, 1], offset: ?>, #gpu.address_space<global>>, %y: memref<4xf32, #gpu.address_space<global>>, %team: !llvm.ptr<1>) kernel {
    // CHECK-DAG: %[[EIGHT:.*]] = llvm.mlir.constant(8 : i64)
    // CHECK-DAG: llvm.insertvalue %[[SIZE]], %{{.*}}[3, 0]
    // CHECK-DAG: llvm.insertvalue %[[EIGHT]], %{{.*}}[3, 1]
    // CHECK-DAG: llvm.insertvalue %[[STRIDE]], %{{.*}}[4, 0]
    // CHECK-DAG: builtin.unrealized_conversion_cast
    // CHECK: "use"(%{{.*}}, %{{.*}}, %[[TEAM]])
    "use"(%x, %y, %team) : (memref<?x8xf32, strided<[?, 1], offset: ?>, #gpu.address_space<global>>, memref<4xf32, #gpu.address_space<global>>, !llvm.ptr<1>) -> ()
    gpu.return
  }

  // Not a kernel: what calls it passes buffers.
  // CHECK: gpu.func @device(%{{.*}}: memref<4xf32>)
  gpu.func @device(%x: memref<4xf32>) {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{takes a buffer that begins behind its pointer}}
  gpu.func @offset(%x: memref<4xf32, strided<[1], offset: 4>>) kernel {
    gpu.return
  }
}

// -----

gpu.module @kernels {
  // expected-error @below {{takes a buffer without strides}}
  gpu.func @modular(%x: memref<4xf32, affine_map<(d0) -> (d0 mod 2)>>) kernel {
    gpu.return
  }
}
