; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; What only a rare path beside a product needs is made there, and lives in no register
; through the loop of the product: passes/emit/SinkIntoLoops.cpp.

; RUN: gatefold-kernel-passes-test sink-into-loops %s | FileCheck %s

target triple = "nvptx64-nvidia-cuda"

declare { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32, i32, i32, i32, i32, i32, float, float, float, float)
declare void @use(ptr, i64)

; Addresses of the rare path, and what they are made of, go there; an address that the product
; uses, too, stays; so does what is made of numbers that else would not be alive in the loop
; and take more registers.
; CHECK-LABEL: define void @rare(
; CHECK: entry:
; CHECK-NEXT: %wide = load i64, ptr %p
; CHECK-NEXT: %both = getelementptr i8, ptr %p, i64 8
; CHECK-NEXT: %sum = add i64 %wide, %m
; CHECK-NEXT: br label %loop
; CHECK: rare:
; CHECK-DAG: %[[ROW:.*]] = mul i64 %n, 64
; CHECK-DAG: getelementptr i8, ptr %p, i64 %[[ROW]]
; CHECK: call void @use(
define void @rare(ptr %p, i64 %n, i64 %m, i1 %isRare) "gatefold-product" {
entry:
  %wide = load i64, ptr %p
  %row = mul i64 %n, 64
  %address = getelementptr i8, ptr %p, i64 %row
  %both = getelementptr i8, ptr %p, i64 8
  %sum = add i64 %wide, %m
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %a = load i32, ptr %both
  %d = call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %a, i32 %a, i32 %a, i32 %a, i32 %a, i32 %a, float 0.0, float 0.0, float 0.0, float 0.0)
  br i1 %isRare, label %rare, label %latch
rare:
  call void @use(ptr %p, i64 %n)
  call void @use(ptr %address, i64 %n)
  call void @use(ptr %both, i64 %sum)
  br label %latch
latch:
  %next = add i64 %i, 1
  %isDone = icmp eq i64 %next, %n
  br i1 %isDone, label %end, label %loop
end:
  ret void
}

; A loop without a product has registers enough; what is no product alone stays as it is.
; CHECK-LABEL: define void @plain(
; CHECK: %address = getelementptr
; CHECK: loop:
; CHECK-NOT: getelementptr
define void @plain(ptr %p, i64 %n) "gatefold-product" {
entry:
  %address = getelementptr i8, ptr %p, i64 %n
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @use(ptr %address, i64 %i)
  %next = add i64 %i, 1
  %isDone = icmp eq i64 %next, %n
  br i1 %isDone, label %end, label %loop
end:
  ret void
}

; CHECK-LABEL: define void @other(
; CHECK: %address = getelementptr
; CHECK: rare:
; CHECK-NOT: getelementptr
; CHECK: ret void
define void @other(ptr %p, i64 %n, i1 %isRare) {
entry:
  %address = getelementptr i8, ptr %p, i64 %n
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %latch ]
  %a = load i32, ptr %p
  %d = call { float, float, float, float } @llvm.nvvm.mma.m16n8k8.row.col.tf32(i32 %a, i32 %a, i32 %a, i32 %a, i32 %a, i32 %a, float 0.0, float 0.0, float 0.0, float 0.0)
  br i1 %isRare, label %rare, label %latch
rare:
  call void @use(ptr %address, i64 %n)
  br label %latch
latch:
  %next = add i64 %i, 1
  %isDone = icmp eq i64 %next, %n
  br i1 %isDone, label %end, label %loop
end:
  ret void
}
