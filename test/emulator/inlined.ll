; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A place within a function that was inlined is told with its calls.

; RUN: not gatefold-emulate %s --kernel model --argument x=f32[4] 2>&1 | FileCheck %s
; RUN: not gatefold-emulate %s --kernel model --argument x=f32[4] --json | FileCheck %s --check-prefix=JSON
; RUN: not gatefold-emulate %s --kernel merged --argument x=f32[4] 2>&1 | FileCheck %s --check-prefix=MERGED
; RUN: not gatefold-emulate %s --kernel first --argument x=f32[4] 2>&1 | FileCheck %s --check-prefix=FIRST
; RUN: not gatefold-emulate %s --kernel alone --argument x=f32[4] 2>&1 | FileCheck %s --check-prefix=ALONE

; CHECK: cell.gf:12:7: error: read of memory that nobody has written
; CHECK-NEXT: model.gf:30:3: note: `gate` is called here
; JSON: "file": "cell.gf"
; JSON-NEXT: "function": "gate"
; JSON: "file": "model.gf"
; JSON: "kind": "uninitialised-read"

target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @model(ptr addrspace(1) %x) !dbg !4 {
  %value = load float, ptr addrspace(1) %x, !dbg !7
  ret void
}

; What was made of several instructions has no line: the nearest before it in its block says
; where to look, else one behind it, else the function.
; MERGED: cell.gf:12:7: error: read of memory that nobody has written
define ptx_kernel void @merged(ptr addrspace(1) %x) !dbg !8 {
  %second = getelementptr float, ptr addrspace(1) %x, i32 1
  store float 1.0, ptr addrspace(1) %second, !dbg !9
  %value = load float, ptr addrspace(1) %x, !dbg !10
  store float 1.0, ptr addrspace(1) %second, !dbg !11
  ret void
}

; FIRST: model.gf:31:3: error: read of memory that nobody has written
define ptx_kernel void @first(ptr addrspace(1) %x) !dbg !12 {
  %value = load float, ptr addrspace(1) %x, !dbg !13
  store float 1.0, ptr addrspace(1) %x, !dbg !14
  ret void
}

; ALONE: model.gf:40:1: error: read of memory that nobody has written
define ptx_kernel void @alone(ptr addrspace(1) %x) !dbg !15 {
  %value = load float, ptr addrspace(1) %x, !dbg !16
  ret void
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!1}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !2, emissionKind: LineTablesOnly)
!1 = !{i32 2, !"Debug Info Version", i32 3}
!2 = !DIFile(filename: "model.gf", directory: "")
!3 = !DIFile(filename: "cell.gf", directory: "")
!4 = distinct !DISubprogram(name: "model", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!5 = distinct !DISubprogram(name: "gate", file: !3, line: 9, unit: !0, spFlags: DISPFlagDefinition)
!6 = distinct !DILocation(line: 30, column: 3, scope: !4)
!7 = !DILocation(line: 12, column: 7, scope: !5, inlinedAt: !6)
!8 = distinct !DISubprogram(name: "merged", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!9 = !DILocation(line: 12, column: 7, scope: !5, inlinedAt: !17)
!10 = !DILocation(line: 0, scope: !8)
!11 = !DILocation(line: 31, column: 3, scope: !8)
!12 = distinct !DISubprogram(name: "first", file: !2, line: 1, unit: !0, spFlags: DISPFlagDefinition)
!13 = !DILocation(line: 0, scope: !12)
!14 = !DILocation(line: 31, column: 3, scope: !12)
!15 = distinct !DISubprogram(name: "alone", file: !2, line: 40, unit: !0, spFlags: DISPFlagDefinition)
!16 = !DILocation(line: 0, scope: !15)
!17 = distinct !DILocation(line: 30, column: 3, scope: !8)
