// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// RUN: not gatefold-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(gf-flatten-arguments)))' 2>&1 | FileCheck %s
// CHECK: takes 32768 bytes of parameters for its tensors, a kernel at most 32764
!open = memref<?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?x?xf32, strided<[?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?], offset: ?>>
gpu.module @kernels {
  gpu.func @many(%x0: !open, %x1: !open, %x2: !open, %x3: !open, %x4: !open, %x5: !open, %x6: !open, %x7: !open, %x8: !open, %x9: !open, %x10: !open, %x11: !open, %x12: !open, %x13: !open, %x14: !open, %x15: !open, %x16: !open, %x17: !open, %x18: !open, %x19: !open, %x20: !open, %x21: !open, %x22: !open, %x23: !open, %x24: !open, %x25: !open, %x26: !open, %x27: !open, %x28: !open, %x29: !open, %x30: !open, %x31: !open, %x32: !open, %x33: !open, %x34: !open, %x35: !open, %x36: !open, %x37: !open, %x38: !open, %x39: !open, %x40: !open, %x41: !open, %x42: !open, %x43: !open, %x44: !open, %x45: !open, %x46: !open, %x47: !open, %x48: !open, %x49: !open, %x50: !open, %x51: !open, %x52: !open, %x53: !open, %x54: !open, %x55: !open, %x56: !open, %x57: !open, %x58: !open, %x59: !open, %x60: !open, %x61: !open, %x62: !open, %x63: !open, %x64: !open, %rest: i64) kernel {
    gpu.return
  }
}
