; RUN: tegula-opt --ptx %s | FileCheck %s
; A literal is spelled as the instruction takes it. Literals are elements of vectors, because LLVM folds all others.

; No instruction takes a literal of 16 bits, but one of f32.
; CHECK-LABEL: .visible .entry halves(
define ptx_kernel void @halves(i32 %a) {
  %w = trunc i32 %a to i16
  %x = bitcast i16 %w to half
  %y = bitcast i16 %w to bfloat
  ; CHECK: cvt.f32.f16 %r[[X:[0-9]+]], %rs
  ; CHECK: mul.rn.f32 %r{{[0-9]+}}, %r[[X]], 0f3E800000;
  %s = fmul half %x, 0xH3400
  ; CHECK: cvt.f32.bf16 %r[[Y:[0-9]+]], %rs
  ; CHECK: mul.rn.f32 %r{{[0-9]+}}, %r[[Y]], 0fC0400000;
  %t = fmul bfloat %y, 0xRC040
  %u = bitcast half %s to i16
  %v = bitcast bfloat %t to i16
  call void asm sideeffect "st $0, $1;", "h,h"(i16 %u, i16 %v)
  ret void
}

; The bits above a literal are zeros or its sign, as the conversion says.
; CHECK-LABEL: .visible .entry converts(
define ptx_kernel void @converts(i32 %a, i64 %b) {
  %x = insertelement <2 x i32> <i32 poison, i32 -1>, i32 %a, i64 0
  %y = zext <2 x i32> %x to <2 x i64>
  %p = extractelement <2 x i64> %y, i64 1
  %z = insertelement <2 x i64> <i64 poison, i64 4294967297>, i64 %b, i64 0
  %n = trunc <2 x i64> %z to <2 x i32>
  %q = extractelement <2 x i32> %n, i64 1
  ; CHECK: st 4294967295, 1;
  call void asm sideeffect "st $0, $1;", "l,r"(i64 %p, i32 %q)
  ret void
}

; CHECK-LABEL: .visible .entry narrow(
define ptx_kernel void @narrow(i32 %a) {
  %x = insertelement <2 x i32> <i32 poison, i32 456>, i32 %a, i64 0
  %y = trunc <2 x i32> %x to <2 x i8>
  %z = sext <2 x i8> %y to <2 x i32>
  %p = extractelement <2 x i32> %z, i64 1
  ; CHECK: st -56;
  call void asm sideeffect "st $0;", "r"(i32 %p)
  ret void
}

; An undefined element becomes a literal of its type.
; CHECK-LABEL: .visible .entry undefined(
define ptx_kernel void @undefined(float %a, float %b) {
  %x = insertelement <2 x float> poison, float %a, i64 0
  %y = insertelement <2 x float> poison, float %b, i64 1
  ; CHECK: add.rn.f32 %r{{[0-9]+}}, %r{{[0-9]+}}, 0f00000000;
  ; CHECK: add.rn.f32 %r{{[0-9]+}}, 0f00000000, %r{{[0-9]+}};
  %z = fadd <2 x float> %x, %y
  %p = extractelement <2 x float> %z, i64 0
  call void asm sideeffect "st $0;", "f"(float %p)
  ret void
}

; A comparison that is always false or always true is a literal.
; CHECK-LABEL: .visible .entry compares(
define ptx_kernel void @compares(float %a, float %b) {
  ; CHECK: selp.b32 %r[[X:[0-9]+]], 1, 0, 1;
  %p = fcmp true float %a, %b
  %x = zext i1 %p to i32
  ; CHECK: selp.b32 %r[[Y:[0-9]+]], 1, 0, 0;
  %q = fcmp false float %a, %b
  %y = zext i1 %q to i32
  ; CHECK: st %r[[X]], %r[[Y]];
  call void asm sideeffect "st $0, $1;", "r,r"(i32 %x, i32 %y)
  ret void
}
