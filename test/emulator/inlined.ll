; SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
;
; A place within a function that was inlined is told with its calls.

; RUN: not gatefold-emulate %s --argument x=f32[4] 2>&1 | FileCheck %s
; RUN: not gatefold-emulate %s --argument x=f32[4] --json | FileCheck %s --check-prefix=JSON

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
