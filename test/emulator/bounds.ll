; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Accesses where there is no memory, or not this thread's. The access is not made,
; and the launch ends.

; RUN: gatefold-emulate %s --kernel at --argument x=i32[8]:1 --argument i64:28
; RUN: not gatefold-emulate %s --kernel at --argument x=i32[8]:1 --argument i64:32 2>&1 | FileCheck %s --check-prefix=END
; RUN: not gatefold-emulate %s --kernel at --argument x=i32[8]:1 --argument i64:44 2>&1 | FileCheck %s --check-prefix=BEHIND
; RUN: not gatefold-emulate %s --kernel at --argument x=i32[8]:1 --argument i64:-4 2>&1 | FileCheck %s --check-prefix=BEFORE
; RUN: not gatefold-emulate %s --kernel fills --argument x=i32[8] --argument i64:99999999999 --argument i64:4 2>&1 | FileCheck %s --check-prefix=HUGE
; RUN: not gatefold-emulate %s --kernel fills --argument x=i32[8] --argument i64:99999999999 --argument i64:40 2>&1 | FileCheck %s --check-prefix=HUGE-BEHIND
; RUN: not gatefold-emulate %s --kernel fills --argument x=i32[8] --argument i64:-1 --argument i64:32 2>&1 | FileCheck %s --check-prefix=HUGE-END
; RUN: not gatefold-emulate %s --kernel fills --argument x=i32[8] --argument i64:40 --argument i64:0 2>&1 | FileCheck %s --check-prefix=HUGE-LITTLE
; RUN: not gatefold-emulate %s --kernel copies --argument x=i32[8]:1 --argument y=i32[8]:1 --argument i64:99999999999 2>&1 | FileCheck %s --check-prefix=HUGE-COPY
; RUN: not gatefold-emulate %s --kernel fills_shared --argument i64:99999999999 2>&1 | FileCheck %s --check-prefix=HUGE-SHARED
; RUN: not gatefold-emulate %s --kernel fills_local --argument i64:99999999999 2>&1 | FileCheck %s --check-prefix=HUGE-LOCAL
; RUN: not gatefold-emulate %s --kernel at --argument null --argument i64:8 2>&1 | FileCheck %s --check-prefix=NULL
; RUN: not gatefold-emulate %s --kernel at --argument i64:1311768467463790320 --argument i64:0 2>&1 | FileCheck %s --check-prefix=WILD
; RUN: gatefold-emulate %s --kernel shared --argument i32:7 --shared 64
; RUN: not gatefold-emulate %s --kernel shared --argument i32:8 --shared 64 2>&1 | FileCheck %s --check-prefix=SHARED
; RUN: gatefold-emulate %s --kernel dynamic --argument i32:15 --shared 64
; RUN: not gatefold-emulate %s --kernel dynamic --argument i32:16 --shared 64 2>&1 | FileCheck %s --check-prefix=DYNAMIC
; RUN: not gatefold-emulate %s --kernel space --argument x=i32[8]:1 2>&1 | FileCheck %s --check-prefix=SPACE
; RUN: not gatefold-emulate %s --kernel constant 2>&1 | FileCheck %s --check-prefix=CONSTANT

target triple = "nvptx64-nvidia-cuda"

declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memset.p3.i64(ptr addrspace(3), i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

@first = internal addrspace(3) global [8 x i32] poison, align 4
@second = internal addrspace(3) global [8 x i32] poison, align 4
@dynamic_memory = external addrspace(3) global [0 x i32], align 16
@table = internal addrspace(4) constant [2 x i32] [i32 1, i32 2]

; END: at: error: access out of bounds: thread (0, 0, 0) writes 4 bytes at the end of `x` (32 bytes) [out-of-bounds]
; BEHIND: thread (0, 0, 0) writes 4 bytes 12 bytes behind the end of `x` (32 bytes)
; BEFORE: thread (0, 0, 0) writes 4 bytes 4 bytes before the begin of `x` (32 bytes)
; NULL: thread (0, 0, 0) writes 4 bytes through a null pointer, address 8
; WILD: thread (0, 0, 0) writes 4 bytes {{.*}}
define ptx_kernel void @at(ptr %x, i64 %offset) {
  %place = getelementptr i8, ptr %x, i64 %offset
  store i32 5, ptr %place
  ret void
}

; However many bytes, the distance is that of the first one that is not there.
; HUGE: thread (0, 0, 0) writes 99999999999 bytes from byte 4 of `x` on, which has 32 [out-of-bounds]
; HUGE-BEHIND: thread (0, 0, 0) writes 99999999999 bytes 8 bytes behind the end of `x` (32 bytes)
; HUGE-END: thread (0, 0, 0) writes 18446744073709551615 bytes at the end of `x` (32 bytes)
; HUGE-LITTLE: thread (0, 0, 0) writes 40 bytes at the end of `x` (32 bytes)
define ptx_kernel void @fills(ptr %x, i64 %bytes, i64 %offset) {
  %place = getelementptr i8, ptr %x, i64 %offset
  call void @llvm.memset.p0.i64(ptr %place, i8 0, i64 %bytes, i1 false)
  ret void
}

; HUGE-COPY: thread (0, 0, 0) reads 99999999999 bytes from byte 0 of `x` on, which has 32
define ptx_kernel void @copies(ptr %x, ptr %y, i64 %bytes) {
  call void @llvm.memcpy.p0.p0.i64(ptr %y, ptr %x, i64 %bytes, i1 false)
  ret void
}

; HUGE-SHARED: thread (0, 0, 0) writes 99999999999 bytes from byte 0 of `first` on, which has 32
define ptx_kernel void @fills_shared(i64 %bytes) {
  call void @llvm.memset.p3.i64(ptr addrspace(3) @first, i8 0, i64 %bytes, i1 false)
  ret void
}

; HUGE-LOCAL: thread (0, 0, 0) writes 99999999999 bytes from byte 0 of `mine` on, which has 12
define ptx_kernel void @fills_local(i64 %bytes) {
  %mine = alloca [3 x i32]
  call void @llvm.memset.p0.i64(ptr %mine, i8 0, i64 %bytes, i1 false)
  ret void
}

; Variables do not touch each other, so that the end of one is not the next.
; SHARED: thread (0, 0, 0) writes 4 bytes at the end of `first` (32 bytes)
define ptx_kernel void @shared(i32 %index) {
  %place = getelementptr i32, ptr addrspace(3) @first, i32 %index
  store i32 5, ptr addrspace(3) %place
  store i32 5, ptr addrspace(3) @second
  ret void
}

; DYNAMIC: thread (0, 0, 0) writes 4 bytes at the end of dynamic shared memory (64 bytes)
define ptx_kernel void @dynamic(i32 %index) {
  %place = getelementptr i32, ptr addrspace(3) @dynamic_memory, i32 %index
  store i32 5, ptr addrspace(3) %place
  ret void
}

; SPACE: reads 4 bytes of byte 0 of `x` through a pointer of another address space
define ptx_kernel void @space(ptr %x) {
  %shared = addrspacecast ptr %x to ptr addrspace(3)
  %value = load i32, ptr addrspace(3) %shared
  ret void
}

; CONSTANT: error: access to memory of others: thread (0, 0, 0) writes byte 4 of `table`, which is read-only [foreign-memory]
define ptx_kernel void @constant() {
  %generic = addrspacecast ptr addrspace(4) @table to ptr
  %place = getelementptr i32, ptr %generic, i32 1
  %value = load i32, ptr %place
  store i32 %value, ptr %place
  ret void
}
