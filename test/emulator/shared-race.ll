; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A block turns 64 numbers round through shared memory. Between the write and the
; read there must be a barrier, and another one before memory is written again.

; RUN: gatefold-emulate %s --kernel clean --block 64 --argument x=f32[64]:2 --argument y=f32[64] | FileCheck %s --check-prefix=CLEAN
; RUN: gatefold-emulate %s --kernel clean --order shuffled --seed 7 --block 64 --argument x=f32[64]:2 --argument y=f32[64]
; RUN: not gatefold-emulate %s --kernel forgets --block 64 --argument x=f32[64]:2 --argument y=f32[64] 2>&1 | FileCheck %s --check-prefix=FORGETS
; RUN: not gatefold-emulate %s --kernel again --block 64 --argument x=f32[64]:2 --argument y=f32[64] 2>&1 | FileCheck %s --check-prefix=AGAIN

; CLEAN: y: f32[64], least 2, mean 2, largest 2

target triple = "nvptx64-nvidia-cuda"

@tile = internal addrspace(3) global [64 x float] poison, align 16

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define ptx_kernel void @clean(ptr addrspace(1) %x, ptr addrspace(1) %y) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %from = getelementptr float, ptr addrspace(1) %x, i32 %thread
  %value = load float, ptr addrspace(1) %from
  %own = getelementptr float, ptr addrspace(3) @tile, i32 %thread
  store float %value, ptr addrspace(3) %own
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %turned = sub i32 63, %thread
  %other = getelementptr float, ptr addrspace(3) @tile, i32 %turned
  %result = load float, ptr addrspace(3) %other
  %to = getelementptr float, ptr addrspace(1) %y, i32 %thread
  store float %result, ptr addrspace(1) %to
  ret void
}

; FORGETS: reverse.gf:5:9: error: race on shared memory: thread ([[#]], 0, 0) reads 4 bytes from byte [[#]] of `tile` on, thread ([[#]], 0, 0) writes some of them, and nothing orders the two [shared-race
; FORGETS-NEXT: reverse.gf:3:7: note: `store float` of thread
; FORGETS-NEXT: hint: a barrier between the two
define ptx_kernel void @forgets(ptr addrspace(1) %x, ptr addrspace(1) %y) !dbg !3 {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %from = getelementptr float, ptr addrspace(1) %x, i32 %thread
  %value = load float, ptr addrspace(1) %from
  %own = getelementptr float, ptr addrspace(3) @tile, i32 %thread
  store float %value, ptr addrspace(3) %own, !dbg !4
  %turned = sub i32 63, %thread
  %other = getelementptr float, ptr addrspace(3) @tile, i32 %turned
  %result = load float, ptr addrspace(3) %other, !dbg !5
  %to = getelementptr float, ptr addrspace(1) %y, i32 %thread
  store float %result, ptr addrspace(1) %to
  ret void
}

; The second write does not wait for the reads before it.
; AGAIN-NOT: uninitialised
; AGAIN: again: error: race on shared memory: thread ([[#]], 0, 0) writes 4 bytes from byte [[#]] of `tile` on, thread ([[#]], 0, 0) reads some of them
; AGAIN-NOT: error
define ptx_kernel void @again(ptr addrspace(1) %x, ptr addrspace(1) %y) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %from = getelementptr float, ptr addrspace(1) %x, i32 %thread
  %value = load float, ptr addrspace(1) %from
  %own = getelementptr float, ptr addrspace(3) @tile, i32 %thread
  store float %value, ptr addrspace(3) %own
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %turned = sub i32 63, %thread
  %other = getelementptr float, ptr addrspace(3) @tile, i32 %turned
  %result = load float, ptr addrspace(3) %other
  store float %result, ptr addrspace(3) %own
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "reverse.gf", directory: "")
!3 = distinct !DISubprogram(name: "reverse", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DILocation(line: 3, column: 7, scope: !3)
!5 = !DILocation(line: 5, column: 9, scope: !3)
