; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; An instruction that is not known ends the launch, with its text, once a thread
; comes to it. A kernel that has it and does not execute it runs.

; RUN: gatefold-emulate %s --kernel assembly --argument i32:0
; RUN: not gatefold-emulate %s --kernel assembly --argument i32:1 2>&1 | FileCheck %s --check-prefix=ASSEMBLY
; RUN: not gatefold-emulate %s --kernel intrinsic 2>&1 | FileCheck %s --check-prefix=INTRINSIC
; RUN: not gatefold-emulate %s --kernel made_up 2>&1 | FileCheck %s --check-prefix=MADE-UP
; RUN: not gatefold-emulate %s --kernel no_letters 2>&1 | FileCheck %s --check-prefix=NO-LETTERS
; RUN: not gatefold-emulate %s --kernel no_letters --json | FileCheck %s --check-prefix=NO-LETTERS-JSON
; RUN: not gatefold-emulate %s --kernel other_form 2>&1 | FileCheck %s --check-prefix=FORM
; RUN: gatefold-emulate %s --kernel quads --argument x=i32[8]:1 --argument i32:0 | FileCheck %s --check-prefix=MOVES
; RUN: not gatefold-emulate %s --kernel quads --argument x=i32[8]:1 --argument i32:1 2>&1 | FileCheck %s --check-prefix=QUADS
; RUN: gatefold-emulate %s --kernel hints --argument x=i32[1]:3
; RUN: not gatefold-emulate %s --kernel vectors 2>&1 | FileCheck %s --check-prefix=VECTORS

target triple = "nvptx64-nvidia-cuda"

declare i32 @llvm.nvqm.read.ptx.sreg.tid.x() #0
declare i32 @"llvm.nv\BDm\0A\C3\A4.x"() #0
declare double @llvm.powi.f64.i64(double, i64)
declare void @llvm.assume(i1)
declare float @llvm.canonicalize.f32(float)
declare i32 @llvm.amdgcn.workitem.id.x()
declare <4 x i32> @llvm.masked.load.v4i32.p0(ptr, <4 x i1>, <4 x i32>)

; ASSEMBLY: asm.gf:6:2: error: unknown instruction: `frobnicate.sync.b32 $0, $1;` is not known to the emulator [unknown-instruction]
define ptx_kernel void @assembly(i32 %way) !dbg !3 {
  %takes = icmp ne i32 %way, 0
  br i1 %takes, label %some, label %end
some:
  %value = call i32 asm sideeffect "frobnicate.sync.b32 $0, $1;", "=r,r"(i32 %way), !dbg !4
  br label %end
end:
  ret void
}

; INTRINSIC: intrinsic: error: unknown instruction: `llvm.amdgcn.workitem.id.x` is not known to the emulator
define ptx_kernel void @intrinsic() {
  %value = call i32 @llvm.amdgcn.workitem.id.x()
  ret void
}

; Such a name says that it computes, which is no promise that anybody can.
; MADE-UP: asm.gf:6:2: error: unknown instruction: `llvm.nvqm.read.ptx.sreg.tid.x` is not known to the emulator [unknown-instruction]
define ptx_kernel void @made_up() !dbg !5 {
  %value = call i32 @llvm.nvqm.read.ptx.sreg.tid.x() #0, !dbg !6
  ret void
}

; NO-LETTERS: no\FFname: error: unknown instruction: `llvm.nv\BDm\0A{{.+}}.x` is not known
; NO-LETTERS-JSON: `llvm.nv\\BDm\\0A{{.+}}.x` is not known
define ptx_kernel void @no_letters() {
  call void @"no\FFname"()
  ret void
}
define internal void @"no\FFname"() {
  %value = call i32 @"llvm.nv\BDm\0A\C3\A4.x"() #0
  ret void
}

; One that is known, of types for which no CPU's code generator has it.
; FORM: error: unknown instruction: `llvm.powi.f64.i64` is not known to the emulator
define ptx_kernel void @other_form() {
  %value = call double @llvm.powi.f64.i64(double 1.5, i64 3)
  ret void
}

; GPUs move numbers of 128 bits, and do not calculate with them.
; MOVES: x: i32[8], least 1
; QUADS: error: unknown instruction: `fptrunc bfloat` is not known to the emulator
define ptx_kernel void @quads(ptr %x, i32 %way) {
  %value = load fp128, ptr %x
  %place = getelementptr i8, ptr %x, i32 16
  store fp128 %value, ptr %place
  %takes = icmp ne i32 %way, 0
  br i1 %takes, label %some, label %end
some:
  %less = fptrunc fp128 %value to bfloat
  store bfloat %less, ptr %x
  br label %end
end:
  ret void
}

; What tells the optimiser something.
define ptx_kernel void @hints(ptr %x) {
  call void @llvm.assume(i1 true) [ "align"(ptr %x, i64 4) ]
  %value = load float, ptr %x
  %same = call float @llvm.canonicalize.f32(float %value)
  store float %same, ptr %x
  ret void
}

; VECTORS: error: unknown instruction: `llvm.masked.load.v4i32.p0` is not known to the emulator
define ptx_kernel void @vectors() {
  %value = call <4 x i32> @llvm.masked.load.v4i32.p0(ptr null, <4 x i1> splat (i1 true), <4 x i32> poison)
  ret void
}

attributes #0 = { nocallback nofree nosync nounwind speculatable willreturn memory(none) }

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "asm.gf", directory: "")
!3 = distinct !DISubprogram(name: "asm", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!4 = !DILocation(line: 6, column: 2, scope: !3)
!5 = distinct !DISubprogram(name: "made_up", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!6 = !DILocation(line: 6, column: 2, scope: !5)
