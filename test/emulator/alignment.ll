; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Memory is at a multiple of the alignment that it asks for and of no greater one,
; so that an access which needs more is found in every run.

; RUN: gatefold-emulate %s --kernel clean --argument x=f32[8]:1@16
; RUN: not gatefold-emulate %s --kernel clean --argument x=f32[8]:1@8 2>&1 | FileCheck %s --check-prefix=BUFFER
; RUN: gatefold-emulate %s --kernel atomic --argument x=i32[8]:1@32 | FileCheck %s --check-prefix=ATOMIC
; RUN: not gatefold-emulate %s --kernel shared 2>&1 | FileCheck %s --check-prefix=SHARED

target triple = "nvptx64-nvidia-cuda"

@halves = internal addrspace(3) global [16 x half] poison, align 2

; BUFFER: clean: error: misaligned access: byte 0 of `x` is accessed as 16 bytes at a multiple of 16, and is at one of 8 [misaligned]
; BUFFER-NEXT: hint: a greater alignment
define ptx_kernel void @clean(ptr addrspace(1) %x) {
  %value = load <4 x float>, ptr addrspace(1) %x, align 16
  ret void
}

; Atomic accesses that no CPU has an instruction for.
; ATOMIC: 9 1 1 1 1 1 1 1
define ptx_kernel void @atomic(ptr addrspace(1) %x) {
  %all = atomicrmw add ptr addrspace(1) %x, i256 7 monotonic
  %number = load atomic i32, ptr addrspace(1) %x monotonic, align 1
  %more = add i32 %number, 1
  store atomic i32 %more, ptr addrspace(1) %x monotonic, align 1
  ret void
}

; SHARED: byte 0 of `halves` is accessed as 4 bytes at a multiple of 4, and is at one of 2
define ptx_kernel void @shared() {
  store <2 x half> zeroinitializer, ptr addrspace(3) @halves, align 4
  ret void
}
