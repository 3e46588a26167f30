; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Variables of the device: what they hold at first, pointers among them, their bounds.

; RUN: gatefold-emulate %s --kernel reads --argument y=i32[3] | FileCheck %s
; RUN: not gatefold-emulate %s --kernel behind --argument y=i32[3] 2>&1 | FileCheck %s --check-prefix=BEHIND
; RUN: not gatefold-emulate %s --kernel races --grid 2 2>&1 | FileCheck %s --check-prefix=RACES

target triple = "nvptx64-nvidia-cuda"

@numbers = internal addrspace(1) global [3 x i32] [i32 5, i32 6, i32 7]
@pointer = internal addrspace(1) global ptr addrspacecast (ptr addrspace(1) getelementptr (i32, ptr addrspace(1) @numbers, i32 2) to ptr)
@count = addrspace(1) global i32 0

; CHECK: 5 6 7
define ptx_kernel void @reads(ptr addrspace(1) %y) {
  %two = load <2 x i32>, ptr addrspace(1) @numbers, align 4
  store <2 x i32> %two, ptr addrspace(1) %y, align 4
  %third = load ptr, ptr addrspace(1) @pointer
  %value = load i32, ptr %third
  %place = getelementptr i32, ptr addrspace(1) %y, i32 2
  store i32 %value, ptr addrspace(1) %place
  ret void
}

; BEHIND: reads 4 bytes at the end of `numbers` (12 bytes)
define ptx_kernel void @behind(ptr addrspace(1) %y) {
  %place = getelementptr i32, ptr addrspace(1) @numbers, i32 3
  %value = load i32, ptr addrspace(1) %place
  ret void
}

; RACES: race on global memory: thread (0, 0, 0) of block (1, 0, 0) reads 4 bytes from byte 0 of `count` on
define ptx_kernel void @races() {
  %value = load i32, ptr addrspace(1) @count
  %more = add i32 %value, 1
  store i32 %more, ptr addrspace(1) @count
  ret void
}
