; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A barrier of the grid: a block counts itself in and waits for the others. As the
; backend makes `atomicrmw` a relaxed one whatever it says, the order comes from the
; fences around it.

; RUN: gatefold-emulate %s --kernel fenced --cooperative --grid 4 --block 32 --argument x=i32[128] --argument n=i32[1]:0 | FileCheck %s
; RUN: gatefold-emulate %s --kernel fenced --cooperative --order reverse --grid 4 --block 32 --argument x=i32[128] --argument n=i32[1]:0
; RUN: gatefold-emulate %s --kernel fenced --cooperative --order shuffled --grid 4 --block 32 --argument x=i32[128] --argument n=i32[1]:0
; RUN: not gatefold-emulate %s --kernel unfenced --cooperative --grid 4 --block 32 --argument x=i32[128] --argument n=i32[1]:0 2>&1 | FileCheck %s --check-prefix=UNFENCED
; RUN: not gatefold-emulate %s --kernel fenced --grid 4 --block 32 --argument x=i32[128] --argument n=i32[1]:0 2>&1 | FileCheck %s --check-prefix=ORDINARY

; CHECK: x: i32[128], least 0, mean 63.5, largest 127
; ORDINARY: grid.gf:9:5: error: deadlock: nothing changes any more: {{.*}}1 thread looks at the same memory again and again at grid.gf:9:5 (atomic load i32), 31 threads wait at
; ORDINARY: hint: a loop that waits ends once another thread writes what it looks at: gives a lock back, raises a flag; blocks of an ordinary grid cannot wait for each other, a cooperative one's can{{$}}
; UNFENCED: grid.gf:12:3: error: race on global memory: thread ({{.*}}) of block ({{.*}}) reads
; UNFENCED: hint: a barrier of the grid: a fence of the device's scope before it signals and after it has waited; `atomicrmw` alone orders nothing

target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define ptx_kernel void @fenced(ptr addrspace(1) %x, ptr addrspace(1) %count) !dbg !3 {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %block, 32
  %index = add i32 %first, %thread
  %own = getelementptr i32, ptr addrspace(1) %x, i32 %index
  store i32 %index, ptr addrspace(1) %own
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %leads = icmp eq i32 %thread, 0
  br i1 %leads, label %arrive, label %join
arrive:
  fence syncscope("device") seq_cst
  %old = atomicrmw add ptr addrspace(1) %count, i32 1 syncscope("device") acq_rel
  br label %spin
spin:
  %now = load atomic i32, ptr addrspace(1) %count syncscope("device") monotonic, align 4, !dbg !4
  %done = icmp uge i32 %now, 4
  br i1 %done, label %left, label %spin
left:
  fence syncscope("device") seq_cst
  br label %join
join:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !5
  %turned = sub i32 127, %index
  %other = getelementptr i32, ptr addrspace(1) %x, i32 %turned
  %value = load i32, ptr addrspace(1) %other, !dbg !6
  ret void
}

define ptx_kernel void @unfenced(ptr addrspace(1) %x, ptr addrspace(1) %count) !dbg !7 {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = mul i32 %block, 32
  %index = add i32 %first, %thread
  %own = getelementptr i32, ptr addrspace(1) %x, i32 %index
  store i32 %index, ptr addrspace(1) %own
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %leads = icmp eq i32 %thread, 0
  br i1 %leads, label %arrive, label %join
arrive:
  %old = atomicrmw add ptr addrspace(1) %count, i32 1 syncscope("device") acq_rel
  br label %spin
spin:
  %now = load atomic i32, ptr addrspace(1) %count syncscope("device") acquire, align 4, !dbg !8
  %done = icmp uge i32 %now, 4
  br i1 %done, label %join, label %spin
join:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !9
  %turned = sub i32 127, %index
  %other = getelementptr i32, ptr addrspace(1) %x, i32 %turned
  %value = load i32, ptr addrspace(1) %other, !dbg !10
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "grid.gf", directory: "")
!3 = distinct !DISubprogram(name: "grid", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DILocation(line: 9, column: 5, scope: !3)
!5 = !DILocation(line: 11, column: 3, scope: !3)
!6 = !DILocation(line: 12, column: 3, scope: !3)
!7 = distinct !DISubprogram(name: "grid", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!8 = !DILocation(line: 9, column: 5, scope: !7)
!9 = !DILocation(line: 11, column: 3, scope: !7)
!10 = !DILocation(line: 12, column: 3, scope: !7)
