// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: gatefold-opt %s --pass-pipeline='builtin.module(gpu.module(gf-size-shared-memory))' --split-input-file --verify-diagnostics | FileCheck %s

module attributes {gf.target = {block_threads = 256 : i64, block_shared_bytes = 65536 : i64}} {
  gpu.module @kernels {
    func.func private @small() attributes {gf.shared_bytes = 1024 : i64} {
      return
    }
    func.func private @large() attributes {gf.shared_bytes = 65536 : i64} {
      return
    }
    // What a function needs through another one counts.
    func.func private @part() {
      call @large() : () -> ()
      return
    }
    // CHECK: gpu.func @both() kernel
    // CHECK-SAME: gf.shared_bytes = 65536 : i64
    gpu.func @both() kernel {
      func.call @small() : () -> ()
      func.call @part() : () -> ()
      gpu.return
    }
    // CHECK: gpu.func @one() kernel
    // CHECK-SAME: gf.shared_bytes = 1024 : i64
    gpu.func @one() kernel {
      func.call @small() : () -> ()
      gpu.return
    }
    // Its own is more than what it calls needs.
    // CHECK: gpu.func @own() kernel
    // CHECK-SAME: gf.shared_bytes = 2048 : i64
    gpu.func @own() kernel attributes {gf.shared_bytes = 2048 : i64} {
      func.call @small() : () -> ()
      gpu.return
    }
    // CHECK: gpu.func @none() kernel {
    gpu.func @none() kernel {
      gpu.return
    }
  }
}

// -----

module attributes {gf.target = {block_threads = 256 : i64, block_shared_bytes = 65536 : i64}} {
  gpu.module @kernels {
    // expected-error @below {{needs 65552 bytes of shared memory, and a block of this GPU has 65536}}
    func.func private @large() attributes {gf.shared_bytes = 65552 : i64} {
      return
    }
    gpu.func @run() kernel {
      func.call @large() : () -> ()
      gpu.return
    }
  }
}
