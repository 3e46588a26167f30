; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Reading what nobody has written. Whether a byte is written is kept byte by byte,
; through copies too.

; RUN: gatefold-emulate %s --kernel clean --argument x=f32[4]
; RUN: not gatefold-emulate %s --kernel global --argument x=f32[4] 2>&1 | FileCheck %s --check-prefix=GLOBAL
; RUN: not gatefold-emulate %s --kernel shared --argument x=f32[4] 2>&1 | FileCheck %s --check-prefix=SHARED
; RUN: not gatefold-emulate %s --kernel half --argument x=f32[4] 2>&1 | FileCheck %s --check-prefix=HALF
; RUN: not gatefold-emulate %s --kernel copied --argument x=f32[4] 2>&1 | FileCheck %s --check-prefix=COPIED

target triple = "nvptx64-nvidia-cuda"

; Shared memory has no initial value; a zero, as C writes it, is none.
@tile = internal addrspace(3) global [8 x float] zeroinitializer, align 16

declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
declare void @llvm.memset.p3.i64(ptr addrspace(3), i8, i64, i1)

; A copy of bytes that nobody has written is none of their value.
define ptx_kernel void @clean(ptr addrspace(1) %x) {
  %second = getelementptr float, ptr addrspace(1) %x, i32 2
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %second, ptr addrspace(1) %x, i64 8, i1 false)
  store float 1.0, ptr addrspace(1) %x
  %value = load float, ptr addrspace(1) %x
  call void @llvm.memset.p3.i64(ptr addrspace(3) @tile, i8 0, i64 32, i1 false)
  %zero = load float, ptr addrspace(3) @tile
  ret void
}

; GLOBAL: global: error: read of memory that nobody has written: thread (0, 0, 0) reads byte 4 of `x`, which nobody has written [uninitialised-read]
define ptx_kernel void @global(ptr addrspace(1) %x) {
  %second = getelementptr float, ptr addrspace(1) %x, i32 1
  %value = load float, ptr addrspace(1) %second
  ret void
}

; SHARED: reads byte 0 of `tile`, which nobody has written
; SHARED-NEXT: hint: shared memory holds nothing at first
define ptx_kernel void @shared(ptr addrspace(1) %x) {
  %value = load <4 x float>, ptr addrspace(3) @tile
  ret void
}

; HALF: reads byte 2 of `x`, which nobody has written
define ptx_kernel void @half(ptr addrspace(1) %x) {
  store i16 1, ptr addrspace(1) %x
  %value = load float, ptr addrspace(1) %x
  ret void
}

; COPIED: reads byte 12 of `x`, which nobody has written
define ptx_kernel void @copied(ptr addrspace(1) %x) {
  store float 1.0, ptr addrspace(1) %x
  %second = getelementptr float, ptr addrspace(1) %x, i32 2
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %second, ptr addrspace(1) %x, i64 8, i1 false)
  %first = load float, ptr addrspace(1) %second
  %last = getelementptr float, ptr addrspace(1) %x, i32 3
  %value = load float, ptr addrspace(1) %last
  ret void
}
