; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; What the lanes of a warp do together, and must come to together.

; RUN: gatefold-emulate %s --kernel sum --block 64
; RUN: not gatefold-emulate %s --kernel outside --block 32 2>&1 | FileCheck %s --check-prefix=OUTSIDE
; RUN: not gatefold-emulate %s --kernel not_in_mask --block 32 2>&1 | FileCheck %s --check-prefix=NOT-IN-MASK
; RUN: not gatefold-emulate %s --kernel divergent --block 32 2>&1 | FileCheck %s --check-prefix=DIVERGENT
; RUN: not gatefold-emulate %s --kernel masks --block 32 2>&1 | FileCheck %s --check-prefix=MASKS

target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i32 @llvm.nvvm.redux.sync.add(i32, i32)
declare void @llvm.trap()

; The sum of 0 to 31 in three ways; a difference traps.
define ptx_kernel void @sum() {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %thread, 31
  %a1 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %lane, i32 16, i32 31)
  %s1 = add i32 %lane, %a1
  %a2 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %s1, i32 8, i32 31)
  %s2 = add i32 %s1, %a2
  %a3 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %s2, i32 4, i32 31)
  %s3 = add i32 %s2, %a3
  %a4 = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %s3, i32 2, i32 31)
  %s4 = add i32 %s3, %a4
  %s5 = call i32 asm "{ .reg .b32 t; shfl.sync.bfly.b32 t, $1, 1, 31, $2; add.s32 $0, t, $1; }", "=r,r,r"(i32 %s4, i32 -1)
  %reduced = call i32 @llvm.nvvm.redux.sync.add(i32 %lane, i32 -1)
  %same = icmp eq i32 %s5, %reduced
  %right = icmp eq i32 %s5, 496
  %both = and i1 %same, %right
  br i1 %both, label %end, label %wrong
wrong:
  call void @llvm.trap()
  unreachable
end:
  ret void
}

; Lanes 0 to 15 shuffle among themselves, over a distance of 16.
; OUTSIDE: error: wrong lanes of a warp: a shuffle reads from lane {{[0-9]+}}, which is not in the mask [warp-mask
define ptx_kernel void @outside() {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lower = icmp ult i32 %thread, 16
  br i1 %lower, label %some, label %end
some:
  %value = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 65535, i32 %thread, i32 16, i32 31)
  br label %end
end:
  ret void
}

; NOT-IN-MASK: error: wrong lanes of a warp: `vote.sync.ballot.b32`: lane {{[0-9]+}} executes it and is not in its mask 0xFFFF [warp-mask]
define ptx_kernel void @not_in_mask() {
  %votes = call i32 @llvm.nvvm.vote.ballot.sync(i32 65535, i1 true)
  ret void
}

; Lane 0 goes another way, and the others wait for it.
; DIVERGENT: error: wrong lanes of a warp: `shfl.sync.bfly.b32`: lane 0 of its mask 0xFFFFFFFF has ended [warp-mask]
define ptx_kernel void @divergent() {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = icmp eq i32 %thread, 0
  br i1 %first, label %end, label %others
others:
  %value = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %thread, i32 1, i32 31)
  br label %end
end:
  ret void
}

; Both halves name all lanes, at two places.
; MASKS: error: divergent barrier: lanes 0 and 16 of a warp wait at different instructions
define ptx_kernel void @masks() {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lower = icmp ult i32 %thread, 16
  br i1 %lower, label %one, label %other
one:
  %a = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %thread, i32 1, i32 31)
  br label %end
other:
  %b = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %thread, i32 2, i32 31)
  br label %end
end:
  ret void
}
