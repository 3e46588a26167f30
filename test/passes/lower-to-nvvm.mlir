// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --pass-pipeline='builtin.module(gpu.module(gf-lower-to-nvvm))' --split-input-file --verify-diagnostics | FileCheck %s

gpu.module @kernels {
  // CHECK: llvm.func @run(%{{.*}}: !llvm.ptr<1>, %[[X:.*]]: f32)
  // CHECK-SAME: nvvm.kernel
  // CHECK-SAME: nvvm.maxntid = array<i32: 256>
  gpu.func @run(%p: !llvm.ptr<1>, %x: f32) kernel attributes {nvvm.maxntid = array<i32: 256>} {
    // CHECK: nvvm.read.ptx.sreg.tid.x
    %t = gpu.thread_id x
    %n = arith.index_cast %t : index to i32
    // Instructions, not calls of a library.
    // CHECK: llvm.intr.sqrt(%[[X]])
    // CHECK: llvm.intr.fabs
    // CHECK: llvm.intr.copysign
    // CHECK: llvm.intr.floor
    // CHECK: llvm.frem
    // CHECK: llvm.intr.fma
    %a = math.sqrt %x : f32
    %b = math.absf %a : f32
    %c = math.copysign %b, %x : f32
    %d = math.floor %c : f32
    %e = arith.remf %d, %x : f32
    %f = math.fma %e, %d, %x : f32
    // CHECK: nvvm.barrier
    gpu.barrier
    llvm.store %f, %p : f32, !llvm.ptr<1>
    gpu.return
  }
}

// -----

gpu.module @kernels {
  gpu.func @run(%x: f32) kernel {
    // expected-error @below {{not compiled for a GPU: 'math.atan' of 'f32'}}
    %a = math.atan %x : f32
    gpu.return
  }
}
