; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; What does not end: a loop, one that waits for what nobody will write, a recursion.

; RUN: gatefold-emulate %s --kernel counts --argument i32:1000 --max-steps 1000
; RUN: not gatefold-emulate %s --kernel counts --argument i32:1002 --max-steps 1000 2>&1 | FileCheck %s --check-prefix=LIMIT
; RUN: not gatefold-emulate %s --kernel spins --block 64 --argument y=i32[1] --argument x=i32[1]:7 > %t.out 2> %t.err
; RUN: FileCheck %s --check-prefix=SPINS < %t.err
; RUN: FileCheck %s --check-prefix=ONCE < %t.out
; RUN: gatefold-emulate %s --kernel counts --argument i32:300000000 --max-steps 300000000
; RUN: gatefold-emulate %s --kernel counts_in_memory --argument i32:300000 --argument y=i32[64] --block 64
; RUN: not gatefold-emulate %s --kernel counts_in_memory --argument i32:-1 --argument y=i32[64] --block 64 --max-steps 200000 2>&1 | FileCheck %s --check-prefix=MEMORY
; RUN: not gatefold-emulate %s --kernel waits --block 2 --argument flag=i32[1]:0 2>&1 | FileCheck %s --check-prefix=WAITS
; RUN: not gatefold-emulate %s --kernel locks --block 32 --argument flag=i32[1]:0 2>&1 | FileCheck %s --check-prefix=LOCKS
; RUN: not gatefold-emulate %s --kernel calls_itself --argument i32:100000 2>&1 | FileCheck %s --check-prefix=RECURSION
; RUN: gatefold-emulate %s --kernel calls_itself --argument i32:100
; RUN: gatefold-emulate %s --kernel reads_all --argument x=i32[70000]:1

target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))

; LIMIT: loop.gf:2:3: error: limit exceeded: a thread went through its loops 1001 times [limit]
; LIMIT-NEXT: hint: does this loop end? If so, allow more steps
define ptx_kernel void @counts(i32 %count) !dbg !3 {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  %again = icmp slt i32 %next, %count
  br i1 %again, label %loop, label %end, !dbg !4
end:
  ret void
}

; Nobody can change such a loop: the others need not take their turns, nor is there
; a second run with early copies, whose result would be 7.
; SPINS: loop.gf:2:3: error: limit exceeded: a thread went through its loops {{[0-9]+}} times and looked at no memory that others see [limit]
; SPINS-NEXT: hint: does this loop end? If so, allow more steps
; ONCE: y: i32[1], least 0,
@target = internal addrspace(3) global i32 poison, align 4
define ptx_kernel void @spins(ptr addrspace(1) %y, ptr addrspace(1) %x) !dbg !9 {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %is_first = icmp eq i32 %thread, 0
  br i1 %is_first, label %copy, label %loop
copy:
  store i32 0, ptr addrspace(3) @target
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) @target, ptr addrspace(1) %x)
  %value = load i32, ptr addrspace(3) @target
  store i32 %value, ptr addrspace(1) %y
  br label %loop
loop:
  br label %loop, !dbg !10
}

; Turns through loops are counted of each thread.
; MEMORY: error: limit exceeded: a thread went through its loops 200001 times [limit]
define ptx_kernel void @counts_in_memory(i32 %count, ptr addrspace(1) %y) {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = getelementptr i32, ptr addrspace(1) %y, i32 %thread
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  store i32 %next, ptr addrspace(1) %place
  %again = icmp ne i32 %next, %count
  br i1 %again, label %loop, label %end
end:
  ret void
}

; WAITS: loop.gf:3:3: error: deadlock: nothing changes any more: 2 threads look at the same memory again and again at loop.gf:3:3 (atomic load i32) [deadlock]
define ptx_kernel void @waits(ptr addrspace(1) %flag) !dbg !5 {
  br label %loop
loop:
  %value = load atomic i32, ptr addrspace(1) %flag syncscope("device") acquire, align 4, !dbg !6
  %raised = icmp ne i32 %value, 0
  br i1 %raised, label %end, label %loop
end:
  ret void
}

; A lock that its owner keeps.
; LOCKS: deadlock: nothing changes any more: 31 threads look at the same memory again and again at loop.gf:4:3 (atomicrmw xchg i32), 1 has ended
; LOCKS: hint: a loop that waits ends once another thread writes what it looks at: gives a lock back, raises a flag{{$}}
define ptx_kernel void @locks(ptr addrspace(1) %flag) !dbg !7 {
  br label %loop
loop:
  %old = atomicrmw xchg ptr addrspace(1) %flag, i32 1 syncscope("device") acquire, !dbg !8
  %owns = icmp eq i32 %old, 0
  br i1 %owns, label %end, label %loop
end:
  ret void
}

; RECURSION: error: limit exceeded: functions call each other too deeply [limit]
define internal i32 @sum(i32 %n) noinline {
  %rest = sub i32 %n, 1
  %ends = icmp eq i32 %n, 0
  br i1 %ends, label %end, label %more
more:
  %below = call i32 @sum(i32 %rest)
  %all = add i32 %below, %n
  ret i32 %all
end:
  ret i32 0
}
define ptx_kernel void @calls_itself(i32 %n) {
  %value = call i32 @sum(i32 %n)
  ret void
}

; Reading much memory without a write is not waiting.
define ptx_kernel void @reads_all(ptr addrspace(1) %x) {
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %place = getelementptr i32, ptr addrspace(1) %x, i32 %i
  %value = load volatile i32, ptr addrspace(1) %place
  %next = add i32 %i, 1
  %again = icmp slt i32 %next, 70000
  br i1 %again, label %loop, label %end
end:
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "loop.gf", directory: "")
!3 = distinct !DISubprogram(name: "loop", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DILocation(line: 2, column: 3, scope: !3)
!5 = distinct !DISubprogram(name: "loop", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!6 = !DILocation(line: 3, column: 3, scope: !5)
!7 = distinct !DISubprogram(name: "loop", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!8 = !DILocation(line: 4, column: 3, scope: !7)
!9 = distinct !DISubprogram(name: "spins", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!10 = !DILocation(line: 2, column: 3, scope: !9)
