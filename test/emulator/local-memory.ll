; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Local memory: variables of a thread, copies of arguments.

; RUN: gatefold-emulate %s --kernel clean --block 64 --argument y=i32[64] --argument i32:3 | FileCheck %s --check-prefix=CLEAN
; RUN: not gatefold-emulate %s --kernel clean --block 64 --argument y=i32[64] --argument i32:4 2>&1 | FileCheck %s --check-prefix=BEHIND
; RUN: not gatefold-emulate %s --kernel unwritten --argument i32:3 2>&1 | FileCheck %s --check-prefix=UNWRITTEN
; RUN: not gatefold-emulate %s --kernel returned 2>&1 | FileCheck %s --check-prefix=RETURNED
; RUN: not gatefold-emulate %s --kernel passed --block 2 --argument y=i64[1] 2>&1 | FileCheck %s --check-prefix=PASSED
; RUN: gatefold-emulate %s --kernel by_value --block 2 --argument y=i32[2] --argument i64:8589934593 | FileCheck %s --check-prefix=VALUE
; RUN: not gatefold-emulate %s --kernel large 2>&1 | FileCheck %s --check-prefix=LARGE

target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

; CLEAN: y: i32[64], least 0, mean 31.5, largest 63
; BEHIND: clean: error: access out of bounds: thread (0, 0, 0) writes 4 bytes at the end of `values` (16 bytes)
define ptx_kernel void @clean(ptr addrspace(1) %y, i32 %index) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %values = alloca [4 x i32], align 4
  %place = getelementptr i32, ptr %values, i32 %index
  store i32 %thread, ptr %place
  %value = load i32, ptr %place
  %out = getelementptr i32, ptr addrspace(1) %y, i32 %thread
  store i32 %value, ptr addrspace(1) %out
  ret void
}

; UNWRITTEN: reads byte 12 of `values`, which nobody has written
define ptx_kernel void @unwritten(i32 %index) {
  %values = alloca [4 x i32], align 4
  store i32 1, ptr %values
  %place = getelementptr i32, ptr %values, i32 %index
  %value = load i32, ptr %place
  ret void
}

define internal ptr @leaves() noinline {
  %gone = alloca i32, align 4
  store i32 1, ptr %gone
  ret ptr %gone
}

; A variable of a function that has returned.
; RETURNED: error: access out of bounds: thread (0, 0, 0) reads 4 bytes
define ptx_kernel void @returned() {
  %gone = call ptr @leaves()
  %value = load i32, ptr %gone
  ret void
}

; A pointer to the variable of another thread.
; PASSED: error: access to memory of others: thread (1, 0, 0) accesses local memory of another thread [foreign-memory]
define ptx_kernel void @passed(ptr addrspace(1) %y) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %value = alloca i32, align 4
  store i32 1, ptr %value
  %leads = icmp eq i32 %thread, 0
  br i1 %leads, label %give, label %meet
give:
  %number = ptrtoint ptr %value to i64
  store i64 %number, ptr addrspace(1) %y
  br label %meet
meet:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %given = load ptr, ptr addrspace(1) %y
  %read = load i32, ptr %given
  ret void
}

; Each thread has a copy of the pair (1, 2), and changes its own.
; VALUE: 3 4
define ptx_kernel void @by_value(ptr addrspace(1) %y, ptr byval({ i32, i32 }) align 4 %pair) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = load i32, ptr %pair
  %second = getelementptr i32, ptr %pair, i32 1
  %other = load i32, ptr %second
  %both = add i32 %first, %other
  store i32 %both, ptr %pair
  %sum = load i32, ptr %pair
  %more = add i32 %sum, %thread
  %out = getelementptr i32, ptr addrspace(1) %y, i32 %thread
  store i32 %more, ptr addrspace(1) %out
  ret void
}

; LARGE: error: limit exceeded: a thread needs more than 524288 bytes of local memory [limit]
define ptx_kernel void @large() {
  %values = alloca [1048576 x i8], align 4
  store i8 0, ptr %values
  ret void
}
