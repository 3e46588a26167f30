; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Instructions that are not known are named: intrinsics by their name, and of an
; assembly the statement.

; RUN: not gatefold-emulate %s --kernel registers --block 32 2>&1 | FileCheck %s --check-prefix=REGISTERS
; RUN: not gatefold-emulate %s --kernel group --block 32 2>&1 | FileCheck %s --check-prefix=GROUP
; RUN: not gatefold-emulate %s --kernel active --block 32 2>&1 | FileCheck %s --check-prefix=ACTIVE
; RUN: not gatefold-emulate %s --kernel asserts --block 32 2>&1 | FileCheck %s --check-prefix=ASSERT

target triple = "nvptx64-nvidia-cuda"

@condition = internal addrspace(1) constant [6 x i8] c"x > 0\00"
@file = internal addrspace(1) constant [5 x i8] c"k.cu\00"

declare void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32)
declare i32 @llvm.nvvm.activemask()
declare void @__assertfail(ptr, ptr, i32, ptr, i64)

; REGISTERS: error: unknown instruction: `llvm.nvvm.setmaxnreg.inc.sync.aligned.u32` is not known to the emulator [unknown-instruction]
define ptx_kernel void @registers() {
  call void @llvm.nvvm.setmaxnreg.inc.sync.aligned.u32(i32 240)
  ret void
}

; GROUP: error: unknown instruction: `wgmma.fence.sync.aligned;` is not known to the emulator [unknown-instruction]
define ptx_kernel void @group() {
  call void asm sideeffect "{ .reg .b32 t; mov.b32 t, 1; wgmma.fence.sync.aligned; }", ""()
  ret void
}

; ACTIVE: error: unknown instruction: `llvm.nvvm.activemask` is not known
define ptx_kernel void @active() {
  %mask = call i32 @llvm.nvvm.activemask()
  ret void
}

; ASSERT: assertion `x > 0` of k.cu:7 does not hold [trap]
define ptx_kernel void @asserts() {
  call void @__assertfail(ptr addrspacecast (ptr addrspace(1) @condition to ptr), ptr addrspacecast (ptr addrspace(1) @file to ptr), i32 7, ptr null, i64 1)
  ret void
}
