; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Lanes of one warp run one after the other, too: `bar.warp.sync` orders them, and
; only one of them may write a place, even with the same value.

; RUN: gatefold-emulate %s --kernel clean --block 64
; RUN: not gatefold-emulate %s --kernel neighbours --block 32 2>&1 | FileCheck %s --check-prefix=NEIGHBOURS
; RUN: not gatefold-emulate %s --kernel same_place --block 32 2>&1 | FileCheck %s --check-prefix=SAME

target triple = "nvptx64-nvidia-cuda"

@line = internal addrspace(3) global [64 x i32] poison, align 4

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.bar.warp.sync(i32)

define ptx_kernel void @clean() {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %own = getelementptr i32, ptr addrspace(3) @line, i32 %thread
  store i32 %thread, ptr addrspace(3) %own
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %next = xor i32 %thread, 1
  %other = getelementptr i32, ptr addrspace(3) @line, i32 %next
  %value = load i32, ptr addrspace(3) %other
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  store i32 %value, ptr addrspace(3) %own
  ret void
}

; NEIGHBOURS: error: race on shared memory
; NEIGHBOURS: hint: `bar.warp.sync`, or a barrier, between the two
define ptx_kernel void @neighbours() {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %own = getelementptr i32, ptr addrspace(3) @line, i32 %thread
  store i32 %thread, ptr addrspace(3) %own
  %next = xor i32 %thread, 1
  %other = getelementptr i32, ptr addrspace(3) @line, i32 %next
  %value = load i32, ptr addrspace(3) %other
  ret void
}

; SAME: error: race on shared memory: thread (1, 0, 0) writes 4 bytes from byte 0 of `line` on, thread (0, 0, 0) writes some of them, and nothing orders the two [shared-race, 31 times]
; SAME: hint: one lane should write, or each its own place
define ptx_kernel void @same_place() {
  store i32 1, ptr addrspace(3) @line
  ret void
}
