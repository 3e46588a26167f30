; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; One thread writes a value and raises a flag, another waits for the flag and reads
; the value. What orders them: an acquire of a release, or fences around relaxed (or
; volatile) accesses, of a scope that holds both threads.

; RUN: gatefold-emulate %s --kernel release_acquire --block 64 --argument x=i32[1] --argument flag=i32[1]:0
; RUN: gatefold-emulate %s --kernel release_acquire --order reverse --block 64 --argument x=i32[1] --argument flag=i32[1]:0
; RUN: gatefold-emulate %s --kernel volatile_fenced --block 64 --argument x=i32[1] --argument flag=i32[1]:0
; RUN: gatefold-emulate %s --kernel exchanged --block 64 --argument x=i32[1] --argument flag=i32[1]:0
; RUN: not gatefold-emulate %s --kernel relaxed --block 64 --argument x=i32[1] --argument flag=i32[1]:0 2>&1 | FileCheck %s --check-prefix=RACE
; RUN: not gatefold-emulate %s --kernel half_fenced --block 64 --argument x=i32[1] --argument flag=i32[1]:0 2>&1 | FileCheck %s --check-prefix=RACE
; RUN: gatefold-emulate %s --kernel block_scope --block 64 --argument x=i32[1] --argument flag=i32[1]:0
; RUN: not gatefold-emulate %s --kernel block_scope --cooperative --grid 64 --block 1 --argument x=i32[1] --argument flag=i32[1]:0 2>&1 | FileCheck %s --check-prefix=RACE

; RACE: error: race on global memory: thread ({{.*}}) {{.*}}reads 4 bytes from byte 0 of `x` on, thread (0, 0, 0) {{.*}}writes some of them

target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()

define ptx_kernel void @release_acquire(ptr addrspace(1) %x, ptr addrspace(1) %flag) {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  switch i32 %thread, label %end [
    i32 0, label %write
    i32 32, label %wait
  ]
write:
  store i32 7, ptr addrspace(1) %x
  store atomic i32 1, ptr addrspace(1) %flag syncscope("device") release, align 4
  br label %end
wait:
  %now = load atomic i32, ptr addrspace(1) %flag syncscope("device") acquire, align 4
  %raised = icmp ne i32 %now, 0
  br i1 %raised, label %read, label %wait
read:
  %value = load i32, ptr addrspace(1) %x
  br label %end
end:
  ret void
}

define ptx_kernel void @volatile_fenced(ptr addrspace(1) %x, ptr addrspace(1) %flag) {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  switch i32 %thread, label %end [
    i32 0, label %write
    i32 32, label %wait
  ]
write:
  store i32 7, ptr addrspace(1) %x
  fence syncscope("device") seq_cst
  store volatile i32 1, ptr addrspace(1) %flag
  br label %end
wait:
  %now = load volatile i32, ptr addrspace(1) %flag
  %raised = icmp ne i32 %now, 0
  br i1 %raised, label %read, label %wait
read:
  fence syncscope("device") seq_cst
  %value = load i32, ptr addrspace(1) %x
  br label %end
end:
  ret void
}

; Unlike `atomicrmw`, `cmpxchg` keeps its ordering.
define ptx_kernel void @exchanged(ptr addrspace(1) %x, ptr addrspace(1) %flag) {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  switch i32 %thread, label %end [
    i32 0, label %write
    i32 32, label %wait
  ]
write:
  store i32 7, ptr addrspace(1) %x
  %first = cmpxchg ptr addrspace(1) %flag, i32 0, i32 1 syncscope("device") release monotonic
  br label %end
wait:
  %pair = cmpxchg ptr addrspace(1) %flag, i32 1, i32 2 syncscope("device") acquire monotonic
  %raised = extractvalue { i32, i1 } %pair, 1
  br i1 %raised, label %read, label %wait
read:
  %value = load i32, ptr addrspace(1) %x
  br label %end
end:
  ret void
}

define ptx_kernel void @relaxed(ptr addrspace(1) %x, ptr addrspace(1) %flag) {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  switch i32 %thread, label %end [
    i32 0, label %write
    i32 32, label %wait
  ]
write:
  store i32 7, ptr addrspace(1) %x
  store atomic i32 1, ptr addrspace(1) %flag syncscope("device") monotonic, align 4
  br label %end
wait:
  %now = load atomic i32, ptr addrspace(1) %flag syncscope("device") monotonic, align 4
  %raised = icmp ne i32 %now, 0
  br i1 %raised, label %read, label %wait
read:
  %value = load i32, ptr addrspace(1) %x
  br label %end
end:
  ret void
}

; No fence behind the wait.
define ptx_kernel void @half_fenced(ptr addrspace(1) %x, ptr addrspace(1) %flag) {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  switch i32 %thread, label %end [
    i32 0, label %write
    i32 32, label %wait
  ]
write:
  store i32 7, ptr addrspace(1) %x
  fence syncscope("device") seq_cst
  store volatile i32 1, ptr addrspace(1) %flag
  br label %end
wait:
  %now = load volatile i32, ptr addrspace(1) %flag
  %raised = icmp ne i32 %now, 0
  br i1 %raised, label %read, label %wait
read:
  %value = load i32, ptr addrspace(1) %x
  br label %end
end:
  ret void
}

; The first thread of the grid, and its 33rd: of one block, or of another.
define ptx_kernel void @block_scope(ptr addrspace(1) %x, ptr addrspace(1) %flag) {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %threads = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %block, %threads
  %index = add i32 %first, %thread
  switch i32 %index, label %end [
    i32 0, label %write
    i32 32, label %wait
  ]
write:
  store i32 7, ptr addrspace(1) %x
  fence syncscope("block") release
  store atomic i32 1, ptr addrspace(1) %flag syncscope("device") monotonic, align 4
  br label %end
wait:
  %now = load atomic i32, ptr addrspace(1) %flag syncscope("device") monotonic, align 4
  %raised = icmp ne i32 %now, 0
  br i1 %raised, label %read, label %wait
read:
  fence syncscope("block") acquire
  %value = load i32, ptr addrspace(1) %x
  br label %end
end:
  ret void
}
