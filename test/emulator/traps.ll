; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; What ends a kernel, or would end the process that emulates it.

; RUN: not gatefold-emulate %s --kernel traps 2>&1 | FileCheck %s --check-prefix=TRAP
; RUN: not gatefold-emulate %s --kernel divides --argument y=i32[1] --argument i32:6 --argument i32:0 2>&1 | FileCheck %s --check-prefix=DIVIDES
; RUN: gatefold-emulate %s --kernel divides --argument y=i32[1] --argument i32:-6 --argument i32:4 | FileCheck %s --check-prefix=QUOTIENT
; RUN: gatefold-emulate %s --kernel divides --argument y=i32[1] --argument i32:-2147483648 --argument i32:-1 | FileCheck %s --check-prefix=LEAST
; RUN: not gatefold-emulate %s --kernel unreachable_end 2>&1 | FileCheck %s --check-prefix=UNREACHABLE
; RUN: not gatefold-emulate %s --kernel calls --argument i64:64 2>&1 | FileCheck %s --check-prefix=CALLS
; RUN: gatefold-emulate %s --kernel calls_table --argument y=i32[1] --argument i32:1 | FileCheck %s --check-prefix=TABLE

target triple = "nvptx64-nvidia-cuda"

declare void @llvm.trap()

; TRAP: traps: error: trap: the kernel traps [trap]
define ptx_kernel void @traps() {
  call void @llvm.trap()
  ret void
}

; DIVIDES: error: trap: an integer is divided by 0 [trap]
; QUOTIENT: y: i32[1], least -1,
; LEAST: y: i32[1], least -2147483648,
define ptx_kernel void @divides(ptr addrspace(1) %y, i32 %a, i32 %b) {
  %quotient = sdiv i32 %a, %b
  store i32 %quotient, ptr addrspace(1) %y
  ret void
}

; UNREACHABLE: error: trap: the kernel comes to what was promised to be unreachable
define ptx_kernel void @unreachable_end() {
  unreachable
}

; CALLS: error: access out of bounds: a call through a pointer that is to no function of its type
define ptx_kernel void @calls(ptr %function) {
  call void %function()
  ret void
}

@table = internal addrspace(4) constant [2 x ptr] [ptr @one, ptr @two]
define internal i32 @one() {
  ret i32 1
}
define internal i32 @two() {
  ret i32 2
}
; TABLE: 2
define ptx_kernel void @calls_table(ptr addrspace(1) %y, i32 %index) {
  %place = getelementptr ptr, ptr addrspace(4) @table, i32 %index
  %function = load ptr, ptr addrspace(4) %place
  %value = call i32 %function()
  store i32 %value, ptr addrspace(1) %y
  ret void
}
