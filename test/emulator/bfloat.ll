; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Rounding to bf16, which not every CPU nor every compiler's library has: once, to
; the nearest, to even.

; RUN: gatefold-emulate %s --kernel rounds --argument y=i16[5] | FileCheck %s
; RUN: gatefold-emulate %s --kernel rounds_double --argument y=i16[5] | FileCheck %s

target triple = "nvptx64-nvidia-cuda"

@singles = internal addrspace(1) global [5 x float] [
    float 0x3FF0100000000000, float 0x3FF0300000000000, float 0x3FF0102000000000,
    float 0x47EFFFFFE0000000, float 0xFFF0000000000000]
; The third is above the middle of two numbers by less than f32 can tell.
@doubles = internal addrspace(1) global [5 x double] [
    double 0x3FF0100000000000, double 0x3FF0300000000000, double 0x3FF0100000000001,
    double 0x47EFFFFFE0000000, double 0xFFF0000000000000]

; 1 and its neighbours are 16256, 16257, 16258; infinities are 32640 and, less
; than 0, -128.
; CHECK: 16256 16258 16257 32640 -128
define ptx_kernel void @rounds(ptr addrspace(1) %y) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr float, ptr addrspace(1) @singles, i32 %i
  %value = load float, ptr addrspace(1) %from
  %rounded = fptrunc float %value to bfloat
  %to = getelementptr bfloat, ptr addrspace(1) %y, i32 %i
  store bfloat %rounded, ptr addrspace(1) %to
  %next = add i32 %i, 1
  %again = icmp slt i32 %next, 5
  br i1 %again, label %loop, label %end
end:
  ret void
}

define ptx_kernel void @rounds_double(ptr addrspace(1) %y) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %from = getelementptr double, ptr addrspace(1) @doubles, i32 %i
  %value = load double, ptr addrspace(1) %from
  %rounded = fptrunc double %value to bfloat
  %to = getelementptr bfloat, ptr addrspace(1) %y, i32 %i
  store bfloat %rounded, ptr addrspace(1) %to
  %next = add i32 %i, 1
  %again = icmp slt i32 %next, 5
  br i1 %again, label %loop, label %end
end:
  ret void
}
