; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A ring of two buffers between a warp that produces and one that consumes: by named
; barriers, and by mbarriers whose phases have a parity. Waits are inline assembly, as
; they are in kernels.

; RUN: gatefold-emulate %s --kernel named --block 64 --argument y=i32[32] | FileCheck %s --check-prefix=NAMED
; RUN: gatefold-emulate %s --kernel named --order reverse --block 64 --argument y=i32[32]
; RUN: gatefold-emulate %s --kernel parity --block 64 --argument y=i32[32] --argument i32:0 | FileCheck %s --check-prefix=NAMED
; RUN: not gatefold-emulate %s --kernel parity --block 64 --argument y=i32[32] --argument i32:1 2>&1 | FileCheck %s --check-prefix=EARLY
; RUN: not gatefold-emulate %s --kernel waits --argument i32:0 2>&1 | FileCheck %s --check-prefix=WAITS
; RUN: gatefold-emulate %s --kernel waits --argument i32:1

target triple = "nvptx64-nvidia-cuda"

@slot = internal addrspace(3) global [32 x i32] poison, align 16
@full = internal addrspace(3) global i64 poison, align 8

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)
declare void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32, i32)
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))

; The producer arrives at barrier 1 and does not wait; the consumer waits there.
; NAMED: y: i32[32], least 0, mean 15.5, largest 31
define ptx_kernel void @named(ptr addrspace(1) %y) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %thread, 31
  %produces = icmp ult i32 %thread, 32
  br i1 %produces, label %produce, label %consume
produce:
  %own = getelementptr i32, ptr addrspace(3) @slot, i32 %lane
  store i32 %lane, ptr addrspace(3) %own
  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 1, i32 64)
  ret void
consume:
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 1, i32 64)
  %turned = sub i32 31, %lane
  %other = getelementptr i32, ptr addrspace(3) @slot, i32 %turned
  %value = load i32, ptr addrspace(3) %other
  %to = getelementptr i32, ptr addrspace(1) %y, i32 %lane
  store i32 %value, ptr addrspace(1) %to
  ret void
}

; The consumer waits for the end of phase 0; a wait with the other parity is over at
; once, and reads what may not be written yet.
; EARLY: error: {{race on shared memory|read of memory that nobody has written}}
define ptx_kernel void @parity(ptr addrspace(1) %y, i32 %parity) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %thread, 31
  %leads = icmp eq i32 %thread, 0
  br i1 %leads, label %init, label %start
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 32)
  br label %start
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %produces = icmp ult i32 %thread, 32
  br i1 %produces, label %produce, label %wait
produce:
  %own = getelementptr i32, ptr addrspace(3) @slot, i32 %lane
  store i32 %lane, ptr addrspace(3) %own
  %state = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @full)
  ret void
wait:
  %done = call i32 asm sideeffect "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [$1], $2; selp.b32 $0, 1, 0, p; }", "=r,l,r,~{memory}"(ptr addrspace(3) @full, i32 %parity)
  %over = icmp ne i32 %done, 0
  br i1 %over, label %consume, label %wait
consume:
  %turned = sub i32 31, %lane
  %other = getelementptr i32, ptr addrspace(3) @slot, i32 %turned
  %value = load i32, ptr addrspace(3) %other
  %to = getelementptr i32, ptr addrspace(1) %y, i32 %lane
  store i32 %value, ptr addrspace(1) %to
  ret void
}

; Nobody arrives.
; WAITS: ring.gf:8:3: error: deadlock: nobody can go on: 1 thread waits at ring.gf:8:3 ({{.*}}mbarrier.try_wait{{.*}}) [deadlock]
; WAITS-NEXT: hint: a phase of an mbarrier takes as many arrivals as `mbarrier.init` said, and the bytes that it expects
define ptx_kernel void @waits(i32 %parity) !dbg !3 {
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @full, i32 1)
  br label %wait
wait:
  %done = call i32 asm sideeffect "{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [$1], $2; selp.b32 $0, 1, 0, p; }", "=r,l,r,~{memory}"(ptr addrspace(3) @full, i32 %parity), !dbg !4
  %over = icmp ne i32 %done, 0
  br i1 %over, label %end, label %wait
end:
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "ring.gf", directory: "")
!3 = distinct !DISubprogram(name: "ring", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DILocation(line: 8, column: 3, scope: !3)
