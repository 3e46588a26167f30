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

// Of a size that a launch tells, at a multiple of what a tile needs, and one
// for all functions.
// CHECK: llvm.mlir.global external @[[SHARED:[_a-z0-9]*]]() {addr_space = 3 : i32, alignment = 128 : i64} : !llvm.array<0 x i8>
// CHECK-NOT: llvm.mlir.global
// CHECK: llvm.func @part
// CHECK: llvm.mlir.addressof @[[SHARED]]
// CHECK: llvm.func @run
// CHECK: llvm.mlir.addressof @[[SHARED]]
gpu.module @kernels {
  func.func private @part(%i: index) -> f32 {
    %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %begin = arith.constant 256 : index
    %tile = memref.view %shared[%begin][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<64xf32, #gpu.address_space<workgroup>>
    %x = memref.load %tile[%i] : memref<64xf32, #gpu.address_space<workgroup>>
    return %x : f32
  }
  gpu.func @run(%i: index, %p: !llvm.ptr<1>) kernel attributes {gf.shared_bytes = 512 : i64} {
    %shared = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %byte = memref.load %shared[%i] : memref<?xi8, #gpu.address_space<workgroup>>
    llvm.store %byte, %p : i8, !llvm.ptr<1>
    %x = func.call @part(%i) : (index) -> f32
    llvm.store %x, %p : f32, !llvm.ptr<1>
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
