; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; CheckValues.ll - the kernel that looks for a value out of range.
;
; One block looks at a matrix of integers of 1 (without a sign: a bool), 4 or 8
; bytes, whose strides are bytes. Where one is not in 0..last it leaves the
; first such one, by rows, in `finding` (Device.h) and a code in the team's
; memory, at which the run leaves.

target triple = "nvptx64-nvidia-cuda"

; The least place that a thread has found, -1 at first.
@least = internal addrspace(3) global i64 poison, align 8

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)

define ptx_kernel void @gatefold_check_kernel(ptr addrspace(1) %data, i64 %rows, i64 %columns, i64 %row.stride, i64 %column.stride, i64 %bytes, i64 %last, ptr addrspace(1) %finding, ptr addrspace(1) %team) {
entry:
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %thread = zext i32 %tid to i64
  %threads = zext i32 %ntid to i64
  %is.first = icmp eq i32 %tid, 0
  br i1 %is.first, label %initialise, label %begin

initialise:
  store i64 -1, ptr addrspace(3) @least, align 8
  br label %begin

begin:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %count = mul i64 %rows, %columns
  %row.first = udiv i64 %thread, %columns
  %column.first = urem i64 %thread, %columns
  ; What one turn of the loop steps on, so that it does not divide.
  %row.step = udiv i64 %threads, %columns
  %column.step = urem i64 %threads, %columns
  br label %loop

loop:
  %place = phi i64 [ %thread, %begin ], [ %place.next, %next ]
  %row = phi i64 [ %row.first, %begin ], [ %row.next, %next ]
  %column = phi i64 [ %column.first, %begin ], [ %column.next, %next ]
  %is.inside = icmp ult i64 %place, %count
  br i1 %is.inside, label %load, label %meet

load:
  %row.offset = mul i64 %row, %row.stride
  %column.offset = mul i64 %column, %column.stride
  %offset = add i64 %row.offset, %column.offset
  %address = getelementptr i8, ptr addrspace(1) %data, i64 %offset
  switch i64 %bytes, label %load.64 [
    i64 1, label %load.8
    i64 4, label %load.32
  ]

load.8:
  %byte = load i8, ptr addrspace(1) %address, align 1
  %value.8 = zext i8 %byte to i64
  br label %compare

load.32:
  %word = load i32, ptr addrspace(1) %address, align 4
  %value.32 = sext i32 %word to i64
  br label %compare

load.64:
  %value.64 = load i64, ptr addrspace(1) %address, align 8
  br label %compare

compare:
  %value = phi i64 [ %value.8, %load.8 ], [ %value.32, %load.32 ], [ %value.64, %load.64 ]
  %is.negative = icmp slt i64 %value, 0
  %is.above = icmp sgt i64 %value, %last
  %is.bad = or i1 %is.negative, %is.above
  br i1 %is.bad, label %found, label %next

next:
  %place.next = add i64 %place, %threads
  %row.stepped = add i64 %row, %row.step
  %column.stepped = add i64 %column, %column.step
  %is.beyond = icmp uge i64 %column.stepped, %columns
  %column.left = sub i64 %column.stepped, %columns
  %column.next = select i1 %is.beyond, i64 %column.left, i64 %column.stepped
  %row.carried = add i64 %row.stepped, 1
  %row.next = select i1 %is.beyond, i64 %row.carried, i64 %row.stepped
  br label %loop

found:
  %before = atomicrmw umin ptr addrspace(3) @least, i64 %place monotonic, align 8
  br label %meet

meet:
  %mine = phi i64 [ -1, %loop ], [ %place, %found ]
  %mine.value = phi i64 [ 0, %loop ], [ %value, %found ]
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %least = load i64, ptr addrspace(3) @least, align 8
  %is.least = icmp eq i64 %mine, %least
  %has.found = icmp ne i64 %mine, -1
  %reports = and i1 %is.least, %has.found
  br i1 %reports, label %report, label %end

report:
  store i64 1, ptr addrspace(1) %finding, align 8
  %finding.place = getelementptr i64, ptr addrspace(1) %finding, i64 1
  store i64 %mine, ptr addrspace(1) %finding.place, align 8
  %finding.value = getelementptr i64, ptr addrspace(1) %finding, i64 2
  store i64 %mine.value, ptr addrspace(1) %finding.value, align 8
  %status = getelementptr i32, ptr addrspace(1) %team, i64 1
  store i32 2, ptr addrspace(1) %status, align 4
  br label %end

end:
  ret void
}
