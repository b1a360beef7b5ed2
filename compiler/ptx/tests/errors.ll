; RUN: split-file %s %t
; RUN: not tegula-opt --ptx %t/instruction.ll 2>&1 | FileCheck %s --check-prefix=INSTRUCTION
; RUN: not tegula-opt --ptx %t/effect.ll 2>&1 | FileCheck %s --check-prefix=EFFECT
; RUN: not tegula-opt --ptx %t/intrinsic.ll 2>&1 | FileCheck %s --check-prefix=INTRINSIC
; RUN: not tegula-opt --ptx %t/call.ll 2>&1 | FileCheck %s --check-prefix=CALL
; RUN: not tegula-opt --ptx %t/type.ll 2>&1 | FileCheck %s --check-prefix=TYPE
; RUN: not tegula-opt --ptx %t/parameter.ll 2>&1 | FileCheck %s --check-prefix=PARAMETER
; RUN: not tegula-opt --ptx %t/variable.ll 2>&1 | FileCheck %s --check-prefix=VARIABLE
; RUN: not tegula-opt --ptx %t/condition.ll 2>&1 | FileCheck %s --check-prefix=CONDITION
; RUN: not tegula-opt --ptx %t/pack.ll 2>&1 | FileCheck %s --check-prefix=PACK

;--- instruction.ll
; INSTRUCTION: cannot print PTX for the instruction frem
define ptx_kernel void @f(float %x, float %y) {
  %z = frem float %x, %y
  call void asm sideeffect "st $0;", "f"(float %z)
  ret void
}
;--- effect.ll
; EFFECT: cannot print PTX for the instruction fence
define ptx_kernel void @f() {
  fence seq_cst
  ret void
}
;--- intrinsic.ll
; INTRINSIC: cannot print PTX for the intrinsic llvm.sin.f32
define ptx_kernel void @f(float %x) {
  %y = call float @llvm.sin.f32(float %x)
  call void asm sideeffect "st $0;", "f"(float %y)
  ret void
}
declare float @llvm.sin.f32(float)
;--- call.ll
; CALL: cannot print PTX for the instruction call
define ptx_kernel void @f() {
  call void @g()
  ret void
}
declare void @g()
;--- type.ll
; TYPE: cannot print PTX for the type i128
define ptx_kernel void @f(i64 %x) {
  %y = zext i64 %x to i128
  %z = mul i128 %y, %y
  %w = trunc i128 %z to i64
  call void asm sideeffect "st $0;", "l"(i64 %w)
  ret void
}
;--- parameter.ll
; PARAMETER: cannot print PTX for a parameter of less than 32 bits
define ptx_kernel void @f(i8 %x) {
  %y = zext i8 %x to i32
  call void asm sideeffect "st $0;", "r"(i32 %y)
  ret void
}
;--- variable.ll
; VARIABLE: cannot print PTX for the variable table
@table = addrspace(4) constant [1 x i32] [i32 1]
define ptx_kernel void @f() {
  ret void
}
;--- condition.ll
; CONDITION: cannot print PTX for the intrinsic llvm.smax.i1
define ptx_kernel void @f(i32 %x, i32 %y) {
  %a = icmp eq i32 %x, 1
  %b = icmp eq i32 %y, 2
  %c = call i1 @llvm.smax.i1(i1 %a, i1 %b)
  call void asm sideeffect "@$0 st;", "b"(i1 %c)
  ret void
}
declare i1 @llvm.smax.i1(i1, i1)
;--- pack.ll
; PACK: cannot print PTX for packing
define ptx_kernel void @f(i32 %x) {
  %a = trunc i32 %x to i8
  %v = insertelement <8 x i8> poison, i8 %a, i64 5
  %b = bitcast <8 x i8> %v to i64
  call void asm sideeffect "st $0;", "l"(i64 %b)
  ret void
}
