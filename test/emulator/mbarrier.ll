; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; mbarriers: an object in shared memory that counts arrivals, phase by phase. An
; arrival releases, and a completed test acquires.

; RUN: gatefold-emulate %s --kernel clean --block 64
; RUN: gatefold-emulate %s --kernel clean --order shuffled --seed 3 --block 64
; RUN: gatefold-emulate %s --kernel copies --block 64 --argument x=f32[64]:1
; RUN: not gatefold-emulate %s --kernel nobody_waits --copies late --grid 2 --argument x=f32[64]:1 2>&1 | FileCheck %s --check-prefix=NOBODY
; RUN: not gatefold-emulate %s --kernel no_test --block 64 2>&1 | FileCheck %s --check-prefix=NO-TEST
; RUN: not gatefold-emulate %s --kernel not_initialised --block 1 2>&1 | FileCheck %s --check-prefix=NOT-INITIALISED
; RUN: not gatefold-emulate %s --kernel no_order --block 64 2>&1 | FileCheck %s --check-prefix=NO-ORDER
; RUN: not gatefold-emulate %s --kernel too_few --block 1 2>&1 | FileCheck %s --check-prefix=TOO-FEW
; RUN: not gatefold-emulate %s --kernel touched --block 1 2>&1 | FileCheck %s --check-prefix=TOUCHED
; RUN: not gatefold-emulate %s --kernel twice --block 1 2>&1 | FileCheck %s --check-prefix=TWICE
; RUN: not gatefold-emulate %s --kernel stale --block 1 2>&1 | FileCheck %s --check-prefix=STALE
; RUN: gatefold-emulate %s --kernel reused --block 1

target triple = "nvptx64-nvidia-cuda"

@barrier = internal addrspace(3) global i64 poison, align 8
@line = internal addrspace(3) global [64 x i32] poison, align 16

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3))
declare i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3))
declare i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3), i64)
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3))

define ptx_kernel void @clean() {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %leads = icmp eq i32 %thread, 0
  br i1 %leads, label %init, label %start
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @barrier, i32 64)
  br label %start
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %own = getelementptr i32, ptr addrspace(3) @line, i32 %thread
  store i32 %thread, ptr addrspace(3) %own
  %state = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @barrier)
  br label %wait
wait:
  %done = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) @barrier, i64 %state)
  br i1 %done, label %read, label %wait
read:
  %turned = sub i32 63, %thread
  %other = getelementptr i32, ptr addrspace(3) @line, i32 %turned
  %value = load i32, ptr addrspace(3) %other
  ret void
}

; The arrival comes when the thread's copies are done; there is no other wait.
define ptx_kernel void @copies(ptr addrspace(1) %x) {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %leads = icmp eq i32 %thread, 0
  br i1 %leads, label %init, label %start
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @barrier, i32 128)
  br label %start
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %own = getelementptr i32, ptr addrspace(3) @line, i32 %thread
  %from = getelementptr i32, ptr addrspace(1) %x, i32 %thread
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) %own, ptr addrspace(1) %from)
  call void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3) @barrier)
  %state = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @barrier)
  br label %wait
wait:
  %done = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) @barrier, i64 %state)
  br i1 %done, label %read, label %wait
read:
  %turned = sub i32 63, %thread
  %other = getelementptr i32, ptr addrspace(3) @line, i32 %turned
  %value = load i32, ptr addrspace(3) %other
  ret void
}

; NOBODY: error: copy that nobody waits for: thread (0, 0, 0) ends, and its copy of 4 bytes to byte 0 of `line` may be under way [unfinished-copy, 2 times]
; NOBODY-NOT: error
define ptx_kernel void @nobody_waits(ptr addrspace(1) %x) {
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @barrier, i32 1)
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) @line, ptr addrspace(1) %x)
  call void @llvm.nvvm.cp.async.mbarrier.arrive.noinc.shared(ptr addrspace(3) @barrier)
  ret void
}

; NO-TEST: error: race on shared memory: thread ([[#]], 0, 0) reads 4 bytes from byte [[#]] of `line` on
define ptx_kernel void @no_test() {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %leads = icmp eq i32 %thread, 0
  br i1 %leads, label %init, label %start
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @barrier, i32 64)
  br label %start
start:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %own = getelementptr i32, ptr addrspace(3) @line, i32 %thread
  store i32 %thread, ptr addrspace(3) %own
  %state = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @barrier)
  %turned = sub i32 63, %thread
  %other = getelementptr i32, ptr addrspace(3) @line, i32 %turned
  %value = load i32, ptr addrspace(3) %other
  ret void
}

; NOT-INITIALISED: error: wrong use of a barrier: byte 0 of `barrier` is no mbarrier that was initialised [barrier]
; NOT-INITIALISED-NEXT: hint: `mbarrier.init` by one thread, then a barrier of the block
define ptx_kernel void @not_initialised() {
  %state = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @barrier)
  ret void
}

; The barrier of the block behind the initialisation is missing.
; NO-ORDER: error: race on shared memory: thread (1, 0, 0) atomically updates 8 bytes from byte 0 of `barrier` on, thread (0, 0, 0) writes some of them
define ptx_kernel void @no_order() {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %leads = icmp eq i32 %thread, 0
  br i1 %leads, label %init, label %start
init:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @barrier, i32 64)
  br label %start
start:
  %state = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @barrier)
  ret void
}

; TOO-FEW: error: deadlock: nothing changes any more: 1 thread looks at the same memory again and again
define ptx_kernel void @too_few() {
entry:
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @barrier, i32 2)
  %state = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @barrier)
  br label %wait
wait:
  %done = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) @barrier, i64 %state)
  br i1 %done, label %end, label %wait
end:
  ret void
}

; TOUCHED: error: wrong use of a barrier: thread (0, 0, 0) writes byte 0 of `barrier`, part of an mbarrier
; TOUCHED-NEXT: hint: only mbarrier instructions may access it until `mbarrier.inval`
define ptx_kernel void @touched() {
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @barrier, i32 1)
  store i64 0, ptr addrspace(3) @barrier
  ret void
}

; TWICE: error: wrong use of a barrier: byte 0 of `barrier` is an mbarrier already
define ptx_kernel void @twice() {
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @barrier, i32 1)
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @barrier, i32 1)
  ret void
}

; STALE: error: wrong use of a barrier: a state that is not of the mbarrier's phase, nor of the one before
define ptx_kernel void @stale() {
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @barrier, i32 1)
  %first = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @barrier)
  %second = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @barrier)
  %done = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) @barrier, i64 %first)
  ret void
}

define ptx_kernel void @reused() {
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @barrier, i32 1)
  %first = call i64 @llvm.nvvm.mbarrier.arrive.shared(ptr addrspace(3) @barrier)
  %done = call i1 @llvm.nvvm.mbarrier.test.wait.shared(ptr addrspace(3) @barrier, i64 %first)
  call void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3) @barrier)
  store i64 0, ptr addrspace(3) @barrier
  call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) @barrier, i32 1)
  ret void
}
