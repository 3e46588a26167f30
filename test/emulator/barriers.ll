; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Barriers of a block that not everybody comes to.

; RUN: gatefold-emulate %s --kernel leaves_early --block 64
; RUN: gatefold-emulate %s --kernel half_block --block 128 --argument i32:64
; RUN: not gatefold-emulate %s --kernel half_block --block 128 --argument i32:96 2>&1 | FileCheck %s --check-prefix=TOO-MANY
; RUN: not gatefold-emulate %s --kernel half_block --block 128 --argument i32:65 2>&1 | FileCheck %s --check-prefix=ODD
; RUN: not gatefold-emulate %s --kernel half_block --block 128 --argument i32:256 2>&1 | FileCheck %s --check-prefix=MORE
; RUN: not gatefold-emulate %s --kernel divergent --block 32 2>&1 | FileCheck %s --check-prefix=DIVERGENT
; RUN: gatefold-emulate %s --kernel by_warps --block 64
; RUN: not gatefold-emulate %s --kernel crossed --block 64 2>&1 | FileCheck %s --check-prefix=CROSSED

target triple = "nvptx64-nvidia-cuda"

@flag = internal addrspace(3) global [64 x i32] poison, align 4

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)

; A barrier of all threads does not wait for those that have ended.
define ptx_kernel void @leaves_early() {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %leaves = icmp ult i32 %thread, 40
  br i1 %leaves, label %end, label %stay
stay:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %end
end:
  ret void
}

; The lower half meets at barrier 1.
; TOO-MANY: half.gf:4:3: error: deadlock: nobody can go on: 64 threads wait at half.gf:4:3 (bar{{.*}}, barrier 1), 64 have ended [deadlock]
; TOO-MANY-NEXT: hint: all threads that a barrier is for must come to it
; ODD: error: wrong use of a barrier: barrier 1 is for 65 threads, expected a multiple of 32 [barrier]
; MORE: barrier 1 is for 256 threads, and the block has 128
define ptx_kernel void @half_block(i32 %count) !dbg !3 {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lower = icmp ult i32 %thread, 64
  br i1 %lower, label %meet, label %end
meet:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 %count), !dbg !4
  br label %end
end:
  ret void
}

; DIVERGENT: half.gf:4:3: error: divergent barrier: threads (0, 0, 0) and (16, 0, 0) of one warp come to barrier 0 at different places [divergent-barrier
; DIVERGENT-NEXT: half.gf:5:3: note:
; DIVERGENT-NEXT: hint: the condition around the barrier must be the same for all threads of a warp
define ptx_kernel void @divergent() !dbg !5 {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lower = icmp ult i32 %thread, 16
  br i1 %lower, label %one, label %two
two:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !6
  br label %end
one:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0), !dbg !7
  br label %end
end:
  ret void
}

; Warps may come to a barrier at places of their own.
define ptx_kernel void @by_warps() {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %own = getelementptr i32, ptr addrspace(3) @flag, i32 %thread
  %turned = sub i32 63, %thread
  %other = getelementptr i32, ptr addrspace(3) @flag, i32 %turned
  %lower = icmp ult i32 %thread, 32
  br i1 %lower, label %one, label %two
one:
  store i32 1, ptr addrspace(3) %own
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %end
two:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %value = load i32, ptr addrspace(3) %other
  br label %end
end:
  ret void
}

; Two warps at two barriers, each for both.
; CROSSED: deadlock: nobody can go on: 32 threads wait at half.gf:4:3 ({{.*}}, barrier 1), 32 threads wait at half.gf:5:3 ({{.*}}, barrier 2) [deadlock]
; CROSSED-NEXT: half.gf:5:3: note:
define ptx_kernel void @crossed() !dbg !8 {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lower = icmp ult i32 %thread, 32
  br i1 %lower, label %one, label %two
one:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64), !dbg !9
  br label %end
two:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 2, i32 64), !dbg !10
  br label %end
end:
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "half.gf", directory: "")
!3 = distinct !DISubprogram(name: "half", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DILocation(line: 4, column: 3, scope: !3)
!5 = distinct !DISubprogram(name: "half", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!6 = !DILocation(line: 4, column: 3, scope: !5)
!7 = !DILocation(line: 5, column: 3, scope: !5)
!8 = distinct !DISubprogram(name: "half", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!9 = !DILocation(line: 4, column: 3, scope: !8)
!10 = !DILocation(line: 5, column: 3, scope: !8)
