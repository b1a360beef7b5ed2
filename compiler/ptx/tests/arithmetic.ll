; RUN: tegula-opt --ptx %s | FileCheck %s
; Each operation is one instruction on registers of its size. Narrower integers are extended where it matters.

; CHECK-LABEL: .visible .entry integers(
; CHECK: .param .b32 integers_param_0,
; CHECK: .param .b64 integers_param_2
define ptx_kernel void @integers(i32 %a, i32 %b, i64 %c, i64 %d) {
  ; CHECK: ld.param.b32 %r[[A:[0-9]+]], [integers_param_0];
  ; CHECK: ld.param.b32 %r[[B:[0-9]+]], [integers_param_1];
  ; CHECK: ld.param.b64 %rd[[C:[0-9]+]], [integers_param_2];
  ; CHECK: ld.param.b64 %rd[[D:[0-9]+]], [integers_param_3];
  ; CHECK: sub.s32 %r[[X:[0-9]+]], %r[[A]], %r[[B]];
  %1 = sub i32 %a, %b
  ; CHECK: div.s32 %r[[Y:[0-9]+]], %r[[X]], %r[[B]];
  %2 = sdiv i32 %1, %b
  ; CHECK: shr.u32 %r[[Z:[0-9]+]], %r[[Y]], 3;
  %3 = lshr i32 %2, 3
  ; CHECK: mul.lo.s64 %rd[[W:[0-9]+]], %rd[[C]], %rd[[D]];
  %4 = mul i64 %c, %d
  ; A shift count has 32 bits.
  ; CHECK: cvt.u32.u64 %r[[N:[0-9]+]], %rd[[D]];
  ; CHECK: shl.b64 %rd[[V:[0-9]+]], %rd[[W]], %r[[N]];
  %5 = shl i64 %4, %d
  ; CHECK: st %r[[Z]], %rd[[V]];
  call void asm sideeffect "st $0, $1;", "r,l"(i32 %3, i64 %5)
  ret void
}

; CHECK-LABEL: .visible .entry narrow(
define ptx_kernel void @narrow(i32 %a, i32 %b) {
  ; CHECK: cvt.u16.u32 %rs[[A:[0-9]+]], %r
  %x = trunc i32 %a to i8
  ; CHECK: cvt.u16.u32 %rs[[B:[0-9]+]], %r
  %y = trunc i32 %b to i8
  ; CHECK: add.s16 %rs[[S:[0-9]+]], %rs[[A]], %rs[[B]];
  %s = add i8 %x, %y
  ; CHECK: shl.b16 %rs[[T:[0-9]+]], %rs[[S]], 8;
  ; CHECK: shr.s16 %rs[[U:[0-9]+]], %rs[[T]], 8;
  ; CHECK: shr.s16 %rs[[H:[0-9]+]], %rs[[U]], 1;
  %h = ashr i8 %s, 1
  ; CHECK: and.b16 %rs[[V:[0-9]+]], %rs[[H]], 255;
  ; CHECK: setp.lt.u16 %p[[P:[0-9]+]], %rs[[V]], 200;
  %p = icmp ult i8 %h, 200
  ; CHECK: and.b16 %rs[[W:[0-9]+]], %rs[[H]], 255;
  ; CHECK: cvt.u32.u16 %r[[Z:[0-9]+]], %rs[[W]];
  %z = zext i8 %h to i32
  ; CHECK: @%p[[P]] st %r[[Z]];
  call void asm sideeffect "@$0 st $1;", "b,r"(i1 %p, i32 %z)
  ret void
}

; CHECK-LABEL: .visible .entry floats(
define ptx_kernel void @floats(float %a, float %b) {
  ; CHECK: mul.rn.f32 %r[[X:[0-9]+]], %r{{[0-9]+}}, 0f40490FDB;
  %1 = fmul float %a, 0x400921FB60000000
  ; Without a rounding mode, ptxas would fuse both into one instruction.
  ; CHECK: add.rn.f32 %r[[Y:[0-9]+]], %r[[X]], %r
  %2 = fadd float %1, %b
  ; CHECK: rcp.rn.f32 %r[[Z:[0-9]+]], %r[[Y]];
  %3 = fdiv float 1.0, %2
  ; CHECK: div.rn.f32 %r[[W:[0-9]+]], %r[[Y]], %r[[Z]];
  %4 = fdiv float %2, %3
  ; CHECK: neg.f32 %r[[V:[0-9]+]], %r[[W]];
  %5 = fneg float %4
  ; CHECK: div.full.f32 %r[[D:[0-9]+]], 0f40000000, %r[[X]];
  %d = call float @llvm.nvvm.div.full(float 2.0, float %1)
  ; CHECK: rcp.approx.ftz.f32 %r[[Q:[0-9]+]], %r[[D]];
  %q = call float @llvm.nvvm.rcp.approx.ftz.f(float %d)
  ; CHECK: setp.ltu.f32 %p[[P:[0-9]+]], %r[[V]], 0fFF800000;
  %6 = fcmp ult float %5, 0xFFF0000000000000
  ; CHECK: selp.f32 %r[[R:[0-9]+]], %r[[X]], 0f00000000, %p[[P]];
  %7 = select i1 %6, float %1, float 0.0
  ; CHECK: st %r[[R]], %r[[Q]];
  call void asm sideeffect "st $0, $1;", "f,f"(float %7, float %q)
  ret void
}

; Most arithmetic on 16-bit floats is done in f32, which gives the same results after rounding.
; CHECK-LABEL: .visible .entry halves(
define ptx_kernel void @halves(i32 %a) {
  %w = trunc i32 %a to i16
  %x = bitcast i16 %w to half
  %y = bitcast i16 %w to bfloat
  ; CHECK: cvt.f32.f16 %r[[A:[0-9]+]], %rs
  ; CHECK: add.rn.f32 %r[[S:[0-9]+]], %r[[A]], 0f3F800000;
  ; CHECK: cvt.rn.f16.f32 %rs[[H:[0-9]+]], %r[[S]];
  %s = fadd half %x, 0xH3C00
  ; The sign changes, even that of a NaN, and nothing else.
  ; CHECK: xor.b16 %rs[[T:[0-9]+]], %rs{{[0-9]+}}, 32768;
  %n = fneg bfloat %y
  ; CHECK: and.b16 %rs[[M:[0-9]+]], %rs{{[0-9]+}}, 32767;
  %m = call half @llvm.fabs.f16(half %x)
  %u = bitcast half %s to i16
  %v = bitcast bfloat %n to i16
  %z = bitcast half %m to i16
  ; CHECK: st %rs[[H]], %rs[[T]], %rs[[M]];
  call void asm sideeffect "st $0, $1, $2;", "h,h,h"(i16 %u, i16 %v, i16 %z)
  ret void
}
declare float @llvm.nvvm.div.full(float, float)
declare float @llvm.nvvm.rcp.approx.ftz.f(float)
declare half @llvm.fabs.f16(half)

; CHECK-LABEL: .visible .entry conditions(
define ptx_kernel void @conditions(i32 %a, i32 %b, i32 %c) {
  ; CHECK: setp.lt.s32 %p[[P:[0-9]+]],
  %p = icmp slt i32 %a, %b
  ; CHECK: setp.gt.u32 %p[[Q:[0-9]+]],
  %q = icmp ugt i32 %b, %c
  ; CHECK: or.pred %p[[R:[0-9]+]], %p[[P]], %p[[Q]];
  %r = select i1 %p, i1 true, i1 %q
  ; CHECK: and.pred %p[[S:[0-9]+]], %p[[R]], %p[[Q]];
  %s = select i1 %r, i1 %q, i1 false
  ; CHECK: not.pred %p[[T:[0-9]+]], %p[[S]];
  %t = xor i1 %s, true
  ; CHECK: selp.b32 %r[[X:[0-9]+]], -1, 0, %p[[T]];
  %x = sext i1 %t to i32
  ; CHECK: and.b32 %r[[B:[0-9]+]], %r[[X]], 1;
  ; CHECK: setp.ne.b32 %p[[U:[0-9]+]], %r[[B]], 0;
  %u = trunc i32 %x to i1
  ; CHECK: selp.b32 %r[[F:[0-9]+]], 0f3F800000, 0f00000000, %p[[U]];
  %f = uitofp i1 %u to float
  ; CHECK: mov.pred %p[[ALWAYS:[0-9]+]], 1;
  ; CHECK: @%p[[ALWAYS]] st %r[[F]];
  call void asm sideeffect "@$0 st $1;", "b,f"(i1 true, float %f)
  ret void
}

; A fused product and sum is rounded once. In f32 it would be rounded twice.
; CHECK-LABEL: .visible .entry fuses(
define ptx_kernel void @fuses(i32 %a) {
  %w = trunc i32 %a to i16
  %x = bitcast i16 %w to half
  %y = bitcast i16 %w to bfloat
  ; CHECK: mov.b16 %rs[[ONE:[0-9]+]], 15360;
  ; CHECK: fma.rn.f16 %rs[[S:[0-9]+]], %rs[[W:[0-9]+]], %rs[[W]], %rs[[ONE]];
  %s = call half @llvm.fma.f16(half %x, half %x, half 0xH3C00)
  ; CHECK: fma.rn.bf16 %rs[[T:[0-9]+]], %rs[[W]], %rs[[W]], %rs[[W]];
  %t = call bfloat @llvm.fma.bf16(bfloat %y, bfloat %y, bfloat %y)
  %u = bitcast half %s to i16
  %v = bitcast bfloat %t to i16
  ; CHECK: st %rs[[S]], %rs[[T]];
  call void asm sideeffect "st $0, $1;", "h,h"(i16 %u, i16 %v)
  ret void
}
declare half @llvm.fma.f16(half, half, half)
declare bfloat @llvm.fma.bf16(bfloat, bfloat, bfloat)

; An integer that f32 cannot hold is rounded to odd there, so that it is rounded only once to bf16.
; CHECK-LABEL: .visible .entry converts(
define ptx_kernel void @converts(i32 %a) {
  ; CHECK: cvt.rz.f32.s32 %r[[F:[0-9]+]], %r[[A:[0-9]+]];
  ; CHECK: cvt.rzi.s32.f32 %r[[I:[0-9]+]], %r[[F]];
  ; CHECK: setp.ne.b32 %p[[P:[0-9]+]], %r[[I]], %r[[A]];
  ; CHECK: or.b32 %r[[O:[0-9]+]], %r[[F]], 1;
  ; CHECK: selp.b32 %r[[R:[0-9]+]], %r[[O]], %r[[F]], %p[[P]];
  ; CHECK: cvt.rn.bf16.f32 %rs[[B:[0-9]+]], %r[[R]];
  %x = sitofp i32 %a to bfloat
  ; What f32 cannot hold is infinite in f16.
  ; CHECK: cvt.rn.f32.u32 %r[[G:[0-9]+]], %r[[A]];
  ; CHECK: cvt.rn.f16.f32 %rs{{[0-9]+}}, %r[[G]];
  %y = uitofp i32 %a to half
  %u = bitcast bfloat %x to i16
  %v = bitcast half %y to i16
  call void asm sideeffect "st $0, $1;", "h,h"(i16 %u, i16 %v)
  ret void
}

; A product of words is one instruction where its upper half is used.
; CHECK-LABEL: .visible .entry products(
define ptx_kernel void @products(i32 %word) {
  ; CHECK: mul.wide.u32 %rd[[P:[0-9]+]], %r{{[0-9]+}}, -766435501;
  %wide = zext i32 %word to i64
  %1 = mul i64 %wide, 3528531795
  %2 = lshr i64 %1, 32
  %high = trunc i64 %2 to i32
  %low = trunc i64 %1 to i32
  call void asm sideeffect "st $0, $1;", "r,r"(i32 %high, i32 %low)
  ; CHECK: mul.lo.s64 %rd{{[0-9]+}}, %rd{{[0-9]+}}, 96;
  %3 = mul i64 %wide, 96
  call void asm sideeffect "st $0;", "l"(i64 %3)
  ret void
}
