; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Blocks of a grid have no order among them, unless atomic accesses and fences make
; one. Races are those of bytes: neighbours may be written by different blocks.

; RUN: gatefold-emulate %s --kernel own_bytes --grid 8 --argument x=i8[8] | FileCheck %s --check-prefix=OWN
; RUN: gatefold-emulate %s --kernel sums --grid 8 --block 4 --argument x=i32[1]:0 | FileCheck %s --check-prefix=SUM
; RUN: not gatefold-emulate %s --kernel same --grid 2 --argument x=i32[1] 2>&1 | FileCheck %s --check-prefix=SAME
; RUN: not gatefold-emulate %s --kernel overlaps --grid 2 --argument x=i8[8] 2>&1 | FileCheck %s --check-prefix=OVERLAPS
; RUN: not gatefold-emulate %s --kernel reads_sum --grid 2 --argument x=i32[1]:0 2>&1 | FileCheck %s --check-prefix=READS
; RUN: not gatefold-emulate %s --kernel narrow --grid 2 --argument x=i32[1]:0 2>&1 | FileCheck %s --check-prefix=NARROW
; RUN: not gatefold-emulate %s --kernel read_then_written --grid 3 --argument x=i32[1]:0 2>&1 | FileCheck %s --check-prefix=WRITTEN

target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

; OWN: x: i8[8], least 0, mean 3.5, largest 7
define ptx_kernel void @own_bytes(ptr addrspace(1) %x) {
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %place = getelementptr i8, ptr addrspace(1) %x, i32 %block
  %byte = trunc i32 %block to i8
  store i8 %byte, ptr addrspace(1) %place
  ret void
}

; SUM: x: i32[1], least 32
define ptx_kernel void @sums(ptr addrspace(1) %x) {
  %old = atomicrmw add ptr addrspace(1) %x, i32 1 syncscope("device") monotonic
  ret void
}

; SAME: error: race on global memory: thread (0, 0, 0) of block (1, 0, 0) writes 4 bytes from byte 0 of `x` on, thread (0, 0, 0) of block (0, 0, 0) writes some of them
; SAME: hint: blocks of a grid have no order
define ptx_kernel void @same(ptr addrspace(1) %x) {
  store i32 1, ptr addrspace(1) %x
  ret void
}

; Two bytes from each block's own on.
; OVERLAPS: race on global memory: thread (0, 0, 0) of block (1, 0, 0) writes 2 bytes from byte 1 of `x` on
define ptx_kernel void @overlaps(ptr addrspace(1) %x) {
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %place = getelementptr i8, ptr addrspace(1) %x, i32 %block
  store i16 0, ptr addrspace(1) %place, align 1
  ret void
}

; READS: race on global memory: thread (0, 0, 0) of block (1, 0, 0) atomically updates 4 bytes from byte 0 of `x` on, thread (0, 0, 0) of block (0, 0, 0) reads some of them
define ptx_kernel void @reads_sum(ptr addrspace(1) %x) {
  %old = atomicrmw add ptr addrspace(1) %x, i32 1 syncscope("device") monotonic
  %sum = load i32, ptr addrspace(1) %x
  ret void
}

; NARROW: race on global memory: {{.*}} atomically updates {{.*}} atomically writes some of them
; NARROW: hint: atomic accesses of a block's scope have no effect on other blocks
define ptx_kernel void @narrow(ptr addrspace(1) %x) {
  %old = atomicrmw add ptr addrspace(1) %x, i32 1 syncscope("block") monotonic
  ret void
}

; Blocks 0 and 1 read, block 2 writes.
; WRITTEN: race on global memory: thread (0, 0, 0) of block (2, 0, 0) writes 4 bytes from byte 0 of `x` on, thread (0, 0, 0) of block (1, 0, 0) reads some of them
define ptx_kernel void @read_then_written(ptr addrspace(1) %x) {
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %last = icmp eq i32 %block, 2
  br i1 %last, label %write, label %read
read:
  %value = load i32, ptr addrspace(1) %x
  ret void
write:
  store i32 1, ptr addrspace(1) %x
  ret void
}
