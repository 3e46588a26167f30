; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; What a kernel prints, and an assertion that fails.

; RUN: gatefold-emulate %s --kernel prints --block 2 | FileCheck %s --check-prefix=PRINTS
; RUN: not gatefold-emulate %s --kernel asserts 2>&1 | FileCheck %s --check-prefix=ASSERTS

target triple = "nvptx64-nvidia-cuda"

@format = private addrspace(1) constant [28 x i8] c"%5d|%-4u|%.2f|%lld|%s|%c%%\0A\00"
@word = private addrspace(1) constant [5 x i8] c"word\00"
@condition = private addrspace(1) constant [6 x i8] c"x < y\00"
@file = private addrspace(1) constant [7 x i8] c"cell.c\00"
@function = private addrspace(1) constant [5 x i8] c"cell\00"

declare i32 @vprintf(ptr, ptr)
declare void @__assertfail(ptr, ptr, i32, ptr, i64)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

; PRINTS: {{^}}    0|7   |1.50|4294967296|word|A%
; PRINTS-NEXT: {{^}}    1|7   |1.50|4294967296|word|A%
define ptx_kernel void @prints() {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %values = alloca { i32, i32, double, i64, ptr, i32 }, align 8
  store i32 %thread, ptr %values
  %1 = getelementptr i8, ptr %values, i32 4
  store i32 7, ptr %1
  %2 = getelementptr i8, ptr %values, i32 8
  store double 1.5, ptr %2
  %3 = getelementptr i8, ptr %values, i32 16
  store i64 4294967296, ptr %3
  %4 = getelementptr i8, ptr %values, i32 24
  store ptr addrspacecast (ptr addrspace(1) @word to ptr), ptr %4
  %5 = getelementptr i8, ptr %values, i32 32
  store i32 65, ptr %5
  %count = call i32 @vprintf(ptr addrspacecast (ptr addrspace(1) @format to ptr), ptr %values)
  ret void
}

; ASSERTS: asserts: error: trap: {{.*}}x < y{{.*}} [trap]
define ptx_kernel void @asserts() {
  call void @__assertfail(ptr addrspacecast (ptr addrspace(1) @condition to ptr), ptr addrspacecast (ptr addrspace(1) @file to ptr), i32 12, ptr addrspacecast (ptr addrspace(1) @function to ptr), i64 1)
  ret void
}
