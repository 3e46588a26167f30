; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; Matrices between shared memory and registers, and their product, as a kernel
; would have them; rows that are not at multiples of 16; lanes that are missing.

; RUN: gatefold-emulate %s --kernel product --block 32
; RUN: not gatefold-emulate %s --kernel row_of_8 --block 32 2>&1 | FileCheck %s --check-prefix=ROW
; RUN: not gatefold-emulate %s --kernel half_warp --block 32 2>&1 | FileCheck %s --check-prefix=HALF
; RUN: not gatefold-emulate %s --kernel short_block --block 16 2>&1 | FileCheck %s --check-prefix=SHORT

target triple = "nvptx64-nvidia-cuda"

; 16 rows of 16 numbers, A(row, k) = row - k; and 8 columns B(k, column) = k, that
; are stored column by column.
@a = internal addrspace(3) global [256 x half] poison, align 16
@b = internal addrspace(3) global [128 x half] poison, align 16

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.bar.warp.sync(i32)
declare { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3))
declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3))
declare i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr addrspace(3))
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, <2 x half>, float, float, float, float)
declare void @llvm.trap()

define ptx_kernel void @product() {
entry:
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %fill
fill:
  %i = phi i32 [ %thread, %entry ], [ %next, %filled ]
  %row = lshr i32 %i, 4
  %k = and i32 %i, 15
  %difference = sub i32 %row, %k
  %value.a = sitofp i32 %difference to half
  %at.a = getelementptr half, ptr addrspace(3) @a, i32 %i
  store half %value.a, ptr addrspace(3) %at.a
  %is.b = icmp ult i32 %row, 8
  br i1 %is.b, label %fill.b, label %filled
fill.b:
  %value.b = uitofp i32 %k to half
  %at.b = getelementptr half, ptr addrspace(3) @b, i32 %i
  store half %value.b, ptr addrspace(3) %at.b
  br label %filled
filled:
  %next = add i32 %i, 32
  %more = icmp ult i32 %next, 256
  br i1 %more, label %fill, label %multiply
multiply:
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  ; Lane l: row l % 16, columns from 8 * (l / 16).
  %lane.row = and i32 %thread, 15
  %lane.half = lshr i32 %thread, 4
  %row.offset = shl i32 %lane.row, 4
  %half.offset = shl i32 %lane.half, 3
  %offset.a = or i32 %row.offset, %half.offset
  %from.a = getelementptr half, ptr addrspace(3) @a, i32 %offset.a
  %a = call { i32, i32, i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16.p3(ptr addrspace(3) %from.a)
  %lane.column = and i32 %thread, 7
  %column.offset = shl i32 %lane.column, 4
  %bit3 = and i32 %thread, 8
  %offset.b = or i32 %column.offset, %bit3
  %from.b = getelementptr half, ptr addrspace(3) @b, i32 %offset.b
  %b = call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %from.b)
  %a0 = extractvalue { i32, i32, i32, i32 } %a, 0
  %a1 = extractvalue { i32, i32, i32, i32 } %a, 1
  %a2 = extractvalue { i32, i32, i32, i32 } %a, 2
  %a3 = extractvalue { i32, i32, i32, i32 } %a, 3
  %b0 = extractvalue { i32, i32 } %b, 0
  %b1 = extractvalue { i32, i32 } %b, 1
  %va0 = bitcast i32 %a0 to <2 x half>
  %va1 = bitcast i32 %a1 to <2 x half>
  %va2 = bitcast i32 %a2 to <2 x half>
  %va3 = bitcast i32 %a3 to <2 x half>
  %vb0 = bitcast i32 %b0 to <2 x half>
  %vb1 = bitcast i32 %b1 to <2 x half>
  %c = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> %va0, <2 x half> %va1, <2 x half> %va2, <2 x half> %va3, <2 x half> %vb0, <2 x half> %vb1, float 0.0, float 0.0, float 0.0, float 0.0)
  ; The sum over k of (row - k) * k is 120 * row - 1240; of the lane's first
  ; and third element the rows are l / 4 and 8 more.
  %c0 = extractvalue { float, float, float, float } %c, 0
  %c3 = extractvalue { float, float, float, float } %c, 3
  %group = lshr i32 %thread, 2
  %scaled = mul i32 %group, 120
  %wanted = sub i32 %scaled, 1240
  %wanted0 = sitofp i32 %wanted to float
  %wanted3 = fadd float %wanted0, 960.0
  %right0 = fcmp oeq float %c0, %wanted0
  %right3 = fcmp oeq float %c3, %wanted3
  %right = and i1 %right0, %right3
  br i1 %right, label %end, label %wrong
wrong:
  call void @llvm.trap()
  unreachable
end:
  ret void
}

; ROW: error: misaligned access: byte 8 of `b` is accessed as 16 bytes at a multiple of 16, and is at one of 8 [misaligned]
define ptx_kernel void @row_of_8() {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %offset = mul i32 %thread, 4
  %from = getelementptr half, ptr addrspace(3) @b, i32 %offset
  %to = getelementptr [4 x half], ptr addrspace(3) @b, i32 %thread
  store <4 x half> zeroinitializer, ptr addrspace(3) %to, align 8
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %value = call i32 @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16.p3(ptr addrspace(3) %from)
  ret void
}

; HALF: error: wrong lanes of a warp: `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32`: lane {{[0-9]+}} of its mask 0xFFFFFFFF has ended [warp-mask]
define ptx_kernel void @half_warp() {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %upper = icmp ugt i32 %thread, 15
  br i1 %upper, label %some, label %end
some:
  %c = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> zeroinitializer, <2 x half> zeroinitializer, <2 x half> zeroinitializer, <2 x half> zeroinitializer, <2 x half> zeroinitializer, <2 x half> zeroinitializer, float 0.0, float 0.0, float 0.0, float 0.0)
  br label %end
end:
  ret void
}

; SHORT: lane 16 of its mask 0xFFFFFFFF is no thread of the block [warp-mask]
define ptx_kernel void @short_block() {
  %c = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> zeroinitializer, <2 x half> zeroinitializer, <2 x half> zeroinitializer, <2 x half> zeroinitializer, <2 x half> zeroinitializer, <2 x half> zeroinitializer, float 0.0, float 0.0, float 0.0, float 0.0)
  ret void
}
