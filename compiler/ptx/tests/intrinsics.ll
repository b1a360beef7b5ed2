; RUN: tegula-opt --ptx %s | FileCheck %s

; CHECK-LABEL: .visible .entry machine(
define ptx_kernel void @machine(i32 %x) {
  ; CHECK: mov.u32 %r[[T:[0-9]+]], %tid.x;
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ; CHECK: shfl.sync.bfly.b32 %r[[S:[0-9]+]], %r[[T]], 2, 31, -1;
  %s = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t, i32 2, i32 31)
  ; CHECK: setp.eq.b32 %p[[P:[0-9]+]], %r[[S]], 0;
  %p = icmp eq i32 %s, 0
  ; CHECK: vote.sync.any.pred %p[[V:[0-9]+]], %p[[P]], -1;
  %v = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %p)
  ; CHECK: elect.sync %r{{[0-9]+}}|%p[[E:[0-9]+]], -1;
  %elect = call { i32, i1 } @llvm.nvvm.elect.sync(i32 -1)
  %e = extractvalue { i32, i1 } %elect, 1
  ; CHECK: bar.sync %r[[S]], 128;
  call void @llvm.nvvm.barrier.cta.sync.aligned.count(i32 %s, i32 128)
  ; CHECK: ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%r[[A:[0-9]+]], %r[[B:[0-9]+]]}, [%r
  %address = inttoptr i32 %x to ptr addrspace(3)
  %m = call { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3(ptr addrspace(3) %address)
  %a = extractvalue { i32, i32 } %m, 0
  %b = extractvalue { i32, i32 } %m, 1
  ; CHECK: stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r{{[0-9]+}}], {%r[[B]], %r[[A]]};
  call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %address, i32 %b, i32 %a)
  ; No literal may be stored (ptxas: "Arguments mismatch").
  ; CHECK: mov.b32 %r[[ZERO:[0-9]+]], 0;
  ; CHECK: stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r{{[0-9]+}}], {%r[[ZERO]], %r[[A]]};
  call void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3) %address, i32 0, i32 %a)
  ; CHECK: cp.async.wait_group 3;
  call void @llvm.nvvm.cp.async.wait.group(i32 3)
  ; CHECK: @%p[[V]] st;
  call void asm sideeffect "@$0 st;", "b"(i1 %v)
  ; CHECK: @%p[[E]] st;
  call void asm sideeffect "@$0 st;", "b"(i1 %e)
  ret void
}

; CHECK-LABEL: .visible .entry low_bits(
define ptx_kernel void @low_bits(i32 %x) {
  ; CHECK: bmsk.clamp.b32 %r[[M:[0-9]+]], 0, %r{{[0-9]+}};
  %m = call i32 @llvm.nvvm.bmsk.clamp(i32 0, i32 %x)
  ; CHECK: st %r[[M]];
  call void asm sideeffect "st $0;", "r"(i32 %m)
  ret void
}

; LLVM makes these of a byte shuffle or of compares and selects.
; CHECK-LABEL: .visible .entry reversed(
define ptx_kernel void @reversed(i32 %a, i32 %b, i64 %c) {
  ; CHECK: brev.b32 %r[[WORD:[0-9]+]], %r{{[0-9]+}};
  ; CHECK-NEXT: st %r[[WORD]];
  %1 = call i32 @llvm.bitreverse.i32(i32 %a)
  call void asm sideeffect "st $0;", "r"(i32 %1)
  ; CHECK: cvt.u32.u16 %r[[WIDE:[0-9]+]], %rs{{[0-9]+}};
  ; CHECK-NEXT: brev.b32 %r[[REVERSED:[0-9]+]], %r[[WIDE]];
  ; CHECK-NEXT: shr.u32 %r[[LOW:[0-9]+]], %r[[REVERSED]], 30;
  ; CHECK-NEXT: cvt.u16.u32 %rs{{[0-9]+}}, %r[[LOW]];
  %narrow = trunc i32 %b to i2
  %2 = call i2 @llvm.bitreverse.i2(i2 %narrow)
  %word = zext i2 %2 to i32
  call void asm sideeffect "st $0;", "r"(i32 %word)
  ; CHECK: brev.b64 %rd[[LONG:[0-9]+]], %rd{{[0-9]+}};
  %3 = call i64 @llvm.bitreverse.i64(i64 %c)
  call void asm sideeffect "st $0;", "l"(i64 %3)
  ret void
}

; LLVM makes such an intrinsic where one number of each of two pairs of e4m3 numbers becomes a new pair.
; CHECK-LABEL: .visible .entry rotated(
define ptx_kernel void @rotated(i32 %a) {
  ; CHECK: cvt.u16.u32 %rs[[A:[0-9]+]], %r{{[0-9]+}};
  ; CHECK-NEXT: cvt.u32.u16 %r[[HIGH:[0-9]+]], %rs[[A]];
  ; CHECK-NEXT: cvt.u32.u16 %r[[LOW:[0-9]+]], %rs[[A]];
  ; CHECK-NEXT: shl.b32 %r[[SHIFTED:[0-9]+]], %r[[HIGH]], 16;
  ; CHECK-NEXT: or.b32 %r[[PAIR:[0-9]+]], %r[[SHIFTED]], %r[[LOW]];
  ; CHECK-NEXT: shl.b32 %r[[MOVED:[0-9]+]], %r[[PAIR]], 8;
  ; CHECK-NEXT: shr.u32 %r[[RESULT:[0-9]+]], %r[[MOVED]], 16;
  ; CHECK-NEXT: cvt.u16.u32 %rs{{[0-9]+}}, %r[[RESULT]];
  %narrow = trunc i32 %a to i16
  %1 = call i16 @llvm.fshl.i16(i16 %narrow, i16 %narrow, i16 8)
  %word = zext i16 %1 to i32
  call void asm sideeffect "st $0;", "r"(i32 %word)
  ret void
}

; These intrinsics come from arithmetic that LLVM rewrites.
; CHECK-LABEL: .visible .entry generic(
define ptx_kernel void @generic(i32 %a, i32 %b, float %x, float %y) {
  ; CHECK: max.s32 %r[[MAX:[0-9]+]], %r[[A:[0-9]+]], %r[[B:[0-9]+]];
  %1 = call i32 @llvm.smax.i32(i32 %a, i32 %b)
  ; CHECK: max.u32 %r[[U:[0-9]+]], %r[[A]], %r[[B]];
  ; CHECK: sub.s32 %r[[SAT:[0-9]+]], %r[[U]], %r[[B]];
  %2 = call i32 @llvm.usub.sat.i32(i32 %a, i32 %b)
  ; The low word comes first.
  ; CHECK: shf.l.wrap.b32 %r[[F:[0-9]+]], %r[[B]], %r[[A]], 7;
  %3 = call i32 @llvm.fshl.i32(i32 %a, i32 %b, i32 7)
  ; CHECK: setp.gt.s32 %p[[G:[0-9]+]], %r[[A]], %r[[B]];
  ; CHECK: selp.b32 %r[[ONE:[0-9]+]], 1, 0, %p[[G]];
  ; CHECK: setp.lt.s32 %p[[L:[0-9]+]], %r[[A]], %r[[B]];
  ; CHECK: selp.b32 %r[[MINUS:[0-9]+]], -1, 0, %p[[L]];
  ; CHECK: or.b32 %r[[SIGN:[0-9]+]], %r[[ONE]], %r[[MINUS]];
  %4 = call i32 @llvm.scmp.i32.i32(i32 %a, i32 %b)
  ; CHECK: fma.rn.f32 %r[[M:[0-9]+]], %r[[X:[0-9]+]], %r[[Y:[0-9]+]], 0f3F800000;
  %5 = call float @llvm.fma.f32(float %x, float %y, float 1.0)
  ; The sign comes from the first operand.
  ; CHECK: copysign.f32 %r[[C:[0-9]+]], %r[[Y]], %r[[M]];
  %6 = call float @llvm.copysign.f32(float %5, float %y)
  ; CHECK: max.f32 %r[[N:[0-9]+]], %r[[C]], %r[[X]];
  %7 = call float @llvm.maxnum.f32(float %6, float %x)
  ; CHECK: st %r[[MAX]], %r[[SAT]], %r[[F]], %r[[SIGN]], %r[[N]];
  call void asm sideeffect "st $0, $1, $2, $3, $4;", "r,r,r,r,f"(i32 %1, i32 %2, i32 %3, i32 %4, float %7)
  ret void
}

; The first number is in the upper half of the word.
; CHECK-LABEL: .visible .entry narrow_floats(
define ptx_kernel void @narrow_floats(float %x, float %y) {
  ; CHECK: cvt.rn.satfinite.e4m3x2.f32 %rs[[E:[0-9]+]], %r[[X:[0-9]+]], %r[[Y:[0-9]+]];
  %1 = call i16 @llvm.nvvm.ff.to.e4m3x2.rn(float %x, float %y)
  ; CHECK: cvt.rn.f16x2.e4m3x2 %r[[H:[0-9]+]], %rs[[E]];
  %2 = call <2 x half> @llvm.nvvm.e4m3x2.to.f16x2.rn(i16 %1)
  %3 = bitcast <2 x half> %2 to i32
  ; CHECK: st %r[[H]];
  call void asm sideeffect "st $0;", "r"(i32 %3)
  ; CHECK: mov.b16 %rs[[L:[0-9]+]], -20304;
  ; CHECK: cvt.rn.f16x2.e4m3x2 %r{{[0-9]+}}, %rs[[L]];
  %4 = call <2 x half> @llvm.nvvm.e4m3x2.to.f16x2.rn(i16 -20304)
  %5 = bitcast <2 x half> %4 to i32
  call void asm sideeffect "st $0;", "r"(i32 %5)
  ret void
}

declare i2 @llvm.bitreverse.i2(i2)
declare i32 @llvm.bitreverse.i32(i32)
declare i64 @llvm.bitreverse.i64(i64)
declare i16 @llvm.fshl.i16(i16, i16, i16)
declare i32 @llvm.nvvm.bmsk.clamp(i32, i32)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare { i32, i1 } @llvm.nvvm.elect.sync(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.count(i32, i32)
declare { i32, i32 } @llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16.p3(ptr addrspace(3))
declare void @llvm.nvvm.stmatrix.sync.aligned.m8n8.x2.b16.p3(ptr addrspace(3), i32, i32)
declare void @llvm.nvvm.cp.async.wait.group(i32 immarg)
