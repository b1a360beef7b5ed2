; RUN: tegula-opt --ptx %s | FileCheck %s
; A directive is printed exactly when the line changes.

; CHECK: .loc 1 12 0
; CHECK-NEXT: first;
; CHECK-NEXT: second;
; CHECK-NEXT: .loc 2 7 0
; CHECK-NEXT: third;
; CHECK-NOT: .loc
; CHECK: .file 1 "kernels/mine.cpp"
; CHECK-NEXT: .file 2 "a \"b\".h"
define ptx_kernel void @lines() !dbg !3 {
  call void asm sideeffect "first;", ""(), !dbg !5
  call void asm sideeffect "second;", ""(), !dbg !5
  call void asm sideeffect "third;", ""(), !dbg !6
  ret void, !dbg !6
}

!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!2}
!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: DebugDirectivesOnly)
!1 = !DIFile(filename: "mine.cpp", directory: "kernels")
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = distinct !DISubprogram(name: "lines", scope: !1, file: !1, line: 10, type: !4, unit: !0)
!4 = !DISubroutineType(types: !{})
!5 = !DILocation(line: 12, scope: !3)
!6 = !DILocation(line: 7, scope: !7)
!7 = !DILexicalBlockFile(scope: !3, file: !8, discriminator: 0)
!8 = !DIFile(filename: "a \22b\22.h", directory: "")
