; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A copy of `cp.async` is under way until the thread that began it has waited. Then
; its bytes are that thread's, and others need a barrier. Run with copies that take
; place late and at once: each fault shows in both, and the numbers are right in both.

; RUN: gatefold-emulate %s --kernel clean --block 32 --argument x=f32[128]:3 --argument y=f32[32] | FileCheck %s --check-prefix=CLEAN
; RUN: gatefold-emulate %s --kernel two_groups --block 1 --argument x=f32[128]:3 --argument y=f32[32]
; RUN: gatefold-emulate %s --kernel zero_filled --argument x=f32[128]:3 --argument y=f32[8] | FileCheck %s --check-prefix=FILLED
; RUN: not gatefold-emulate %s --kernel no_wait --copies late --block 32 --argument x=f32[128]:3 --argument y=f32[32] 2>&1 | FileCheck %s --check-prefix=NO-WAIT
; RUN: not gatefold-emulate %s --kernel no_wait --copies early --block 32 --argument x=f32[128]:3 --argument y=f32[32] 2>&1 | FileCheck %s --check-prefix=NO-WAIT
; RUN: not gatefold-emulate %s --kernel one_group_short --block 1 --argument x=f32[128]:3 --argument y=f32[32] 2>&1 | FileCheck %s --check-prefix=SHORT
; RUN: not gatefold-emulate %s --kernel no_barrier --block 32 --argument x=f32[128]:3 --argument y=f32[32] 2>&1 | FileCheck %s --check-prefix=NO-BARRIER
; RUN: not gatefold-emulate %s --kernel overwrites --block 1 --argument x=f32[128]:3 --argument y=f32[32] 2>&1 | FileCheck %s --check-prefix=SOURCE
; RUN: not gatefold-emulate %s --kernel unfinished --block 1 --argument x=f32[128]:3 --argument y=f32[32] 2>&1 | FileCheck %s --check-prefix=UNFINISHED
; RUN: not gatefold-emulate %s --kernel clean --block 32 --argument x=f32[128]:3@8 --argument y=f32[32] 2>&1 | FileCheck %s --check-prefix=ALIGNMENT

; CLEAN: y: f32[32], least 3, mean 3, largest 3

target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [128 x float] poison, align 16

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3), ptr addrspace(1), i32)
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)

; ALIGNMENT: error: misaligned access: byte 0 of `x` is accessed as 16 bytes at a multiple of 16, and is at one of 8
define ptx_kernel void @clean(ptr addrspace(1) %x, ptr addrspace(1) %y) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = mul i32 %thread, 4
  %from = getelementptr float, ptr addrspace(1) %x, i32 %first
  %to = getelementptr float, ptr addrspace(3) @tile, i32 %first
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %to, ptr addrspace(1) %from)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %turned = sub i32 127, %thread
  %other = getelementptr float, ptr addrspace(3) @tile, i32 %turned
  %value = load float, ptr addrspace(3) %other
  %out = getelementptr float, ptr addrspace(1) %y, i32 %thread
  store float %value, ptr addrspace(1) %out
  ret void
}

; Two numbers and two zeros; then zeros alone, from nowhere.
; FILLED: 3 3 0 0 0 0 0 0
define ptx_kernel void @zero_filled(ptr addrspace(1) %x, ptr addrspace(1) %y) {
  %nowhere = inttoptr i64 5 to ptr addrspace(1)
  %second = getelementptr float, ptr addrspace(3) @tile, i32 4
  call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) @tile, ptr addrspace(1) %x, i32 8)
  call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %second, ptr addrspace(1) %nowhere, i32 0)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  %one = load <4 x float>, ptr addrspace(3) @tile
  %two = load <4 x float>, ptr addrspace(3) %second
  store <4 x float> %one, ptr addrspace(1) %y
  %to = getelementptr float, ptr addrspace(1) %y, i32 4
  store <4 x float> %two, ptr addrspace(1) %to
  ret void
}

; The older group is waited for, the younger one not yet.
define ptx_kernel void @two_groups(ptr addrspace(1) %x, ptr addrspace(1) %y) {
  %second = getelementptr float, ptr addrspace(3) @tile, i32 4
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) @tile, ptr addrspace(1) %x)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %second, ptr addrspace(1) %x)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 1)
  %one = load float, ptr addrspace(3) @tile
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  %two = load float, ptr addrspace(3) %second
  ret void
}

; NO-WAIT: copy.gf:7:5: error: access to memory of a copy that is under way: thread ([[#]], 0, 0) reads byte [[#]] of `tile`, which an asynchronous copy may still write [pending-copy
; NO-WAIT-NEXT: hint: `cp.async.wait_group` by the thread that copies, then a barrier
define ptx_kernel void @no_wait(ptr addrspace(1) %x, ptr addrspace(1) %y) !dbg !3 {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = mul i32 %thread, 4
  %from = getelementptr float, ptr addrspace(1) %x, i32 %first
  %to = getelementptr float, ptr addrspace(3) @tile, i32 %first
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %to, ptr addrspace(1) %from)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %turned = sub i32 127, %thread
  %other = getelementptr float, ptr addrspace(3) @tile, i32 %turned
  %value = load float, ptr addrspace(3) %other, !dbg !4
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  ret void
}

; SHORT: error: access to memory of a copy that is under way: thread (0, 0, 0) reads byte 0 of `tile`
define ptx_kernel void @one_group_short(ptr addrspace(1) %x, ptr addrspace(1) %y) {
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) @tile, ptr addrspace(1) %x)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 1)
  %one = load float, ptr addrspace(3) @tile
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  ret void
}

; The other write is the copy's.
; NO-BARRIER: no_barrier: error: race on shared memory: thread ([[#]], 0, 0) reads 4 bytes from byte [[#]] of `tile` on, thread ([[#]], 0, 0) writes some of them
; NO-BARRIER-NEXT: no_barrier: note: `cp.async{{.*}}` of thread
define ptx_kernel void @no_barrier(ptr addrspace(1) %x, ptr addrspace(1) %y) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = mul i32 %thread, 4
  %from = getelementptr float, ptr addrspace(1) %x, i32 %first
  %to = getelementptr float, ptr addrspace(3) @tile, i32 %first
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %to, ptr addrspace(1) %from)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  %leads = icmp eq i32 %thread, 0
  br i1 %leads, label %read, label %end
read:
  %last = getelementptr float, ptr addrspace(3) @tile, i32 127
  %value = load float, ptr addrspace(3) %last
  br label %end
end:
  ret void
}

; SOURCE: error: access to memory of a copy that is under way: thread (0, 0, 0) writes byte 8 of `x`, which an asynchronous copy may still read
define ptx_kernel void @overwrites(ptr addrspace(1) %x, ptr addrspace(1) %y) {
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) @tile, ptr addrspace(1) %x)
  call void @llvm.nvvm.cp.async.commit.group()
  %third = getelementptr float, ptr addrspace(1) %x, i32 2
  store float 0.0, ptr addrspace(1) %third
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  store float 0.0, ptr addrspace(1) %third
  ret void
}

; UNFINISHED: copy.gf:3:9: error: copy that nobody waits for: thread (0, 0, 0) ends, and its copy of 16 bytes to byte 0 of `tile` may be under way [unfinished-copy]
define ptx_kernel void @unfinished(ptr addrspace(1) %x, ptr addrspace(1) %y) !dbg !5 {
  call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) @tile, ptr addrspace(1) %x), !dbg !6
  call void @llvm.nvvm.cp.async.commit.group()
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "copy.gf", directory: "")
!3 = distinct !DISubprogram(name: "copy", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DILocation(line: 7, column: 5, scope: !3)
!5 = distinct !DISubprogram(name: "copy", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!6 = !DILocation(line: 3, column: 9, scope: !5)
