; RUN: tegula-opt --ptx %s | FileCheck %s
; Each element has its own register. Words are unpacked and packed where an instruction needs them.

; CHECK-LABEL: .visible .entry rounds(
define ptx_kernel void @rounds(float %x, float %y) {
  ; The first operand becomes the high half.
  ; CHECK: cvt.rn.bf16x2.f32 %r[[W:[0-9]+]], %r[[Y:[0-9]+]], %r[[X:[0-9]+]];
  %a = fptrunc float %x to bfloat
  %b = fptrunc float %y to bfloat
  %1 = insertelement <2 x bfloat> poison, bfloat %a, i64 0
  %2 = insertelement <2 x bfloat> %1, bfloat %b, i64 1
  %3 = bitcast <2 x bfloat> %2 to i32
  ; CHECK-NOT: cvt
  ; CHECK: st %r[[W]];
  call void asm sideeffect "st $0;", "r"(i32 %3)
  ret void
}

; Choices come before the rounding, unless one choice serves the whole word.
; CHECK-LABEL: .visible .entry choices(
define ptx_kernel void @choices(float %x, float %y, i32 %n) {
  ; CHECK-NOT: cvt
  ; CHECK: selp.f32 %r[[Y:[0-9]+]], %r{{[0-9]+}}, 0f00000000, %p
  ; CHECK: selp.f32 %r[[X:[0-9]+]], %r{{[0-9]+}}, 0f00000000, %p
  ; CHECK: cvt.rn.bf16x2.f32 %r[[W:[0-9]+]], %r[[Y]], %r[[X]];
  ; CHECK: st %r[[W]];
  %p = icmp slt i32 %n, 1
  %q = icmp slt i32 %n, 2
  %a = fptrunc float %x to bfloat
  %b = fptrunc float %y to bfloat
  %c = select i1 %p, bfloat %a, bfloat 0.0
  %d = select i1 %q, bfloat %b, bfloat 0.0
  %1 = insertelement <2 x bfloat> poison, bfloat %c, i64 0
  %2 = insertelement <2 x bfloat> %1, bfloat %d, i64 1
  %3 = bitcast <2 x bfloat> %2 to i32
  call void asm sideeffect "st $0;", "r"(i32 %3)
  ; CHECK-NOT: selp.f32
  ; CHECK: selp.b16
  ; CHECK: selp.b16
  %e = fptrunc float %y to bfloat
  %f = fptrunc float %x to bfloat
  %g = select i1 %p, bfloat %e, bfloat 0.0
  %h = select i1 %p, bfloat %f, bfloat 0.0
  %4 = insertelement <2 x bfloat> poison, bfloat %g, i64 0
  %5 = insertelement <2 x bfloat> %4, bfloat %h, i64 1
  %6 = bitcast <2 x bfloat> %5 to i32
  call void asm sideeffect "st $0;", "r"(i32 %6)
  ret void
}

; CHECK-LABEL: .visible .entry halves(
define ptx_kernel void @halves(i32 %w) {
  ; CHECK: mov.b32 {%rs[[A:[0-9]+]], %rs[[B:[0-9]+]]}, %r
  %v = bitcast i32 %w to <2 x half>
  %a = extractelement <2 x half> %v, i64 0
  ; CHECK: cvt.f32.f16 %r[[X:[0-9]+]], %rs[[A]];
  %x = fpext half %a to float
  %swapped = shufflevector <2 x half> %v, <2 x half> poison, <2 x i32> <i32 1, i32 0>
  ; CHECK: mov.b32 %r[[S:[0-9]+]], {%rs[[B]], %rs[[A]]};
  %s = bitcast <2 x half> %swapped to i32
  ; CHECK: st %r[[X]], %r[[S]];
  call void asm sideeffect "st $0, $1;", "f,r"(float %x, i32 %s)
  ret void
}

; A bf16 is the upper half of an f32.
; CHECK-LABEL: .visible .entry widens(
define ptx_kernel void @widens(i32 %w) {
  ; CHECK-NOT: cvt
  ; CHECK-DAG: shl.b32 %r[[A:[0-9]+]], %r[[W:[0-9]+]], 16;
  ; CHECK-DAG: and.b32 %r[[B:[0-9]+]], %r[[W]], -65536;
  %v = bitcast i32 %w to <2 x bfloat>
  %a = extractelement <2 x bfloat> %v, i64 0
  %b = extractelement <2 x bfloat> %v, i64 1
  %x = fpext bfloat %a to float
  %y = fpext bfloat %b to float
  ; CHECK: st %r[[A]], %r[[B]];
  call void asm sideeffect "st $0, $1;", "f,f"(float %x, float %y)
  ret void
}

; CHECK-LABEL: .visible .entry bytes(
define ptx_kernel void @bytes(i32 %w) {
  ; CHECK: shr.u32 %r[[S:[0-9]+]], %r{{[0-9]+}}, 8;
  ; CHECK: cvt.u16.u32 %rs[[B:[0-9]+]], %r[[S]];
  %v = bitcast i32 %w to <4 x i8>
  %b = extractelement <4 x i8> %v, i64 1
  %u = insertelement <4 x i8> %v, i8 %b, i64 3
  ; CHECK: cvt.u32.u16 %r[[E0:[0-9]+]], %rs
  ; CHECK: cvt.u32.u16 %r[[E1:[0-9]+]], %rs[[B]];
  ; CHECK: cvt.u32.u16 %r[[E2:[0-9]+]], %rs
  ; CHECK: cvt.u32.u16 %r[[E3:[0-9]+]], %rs[[B]];
  ; CHECK: prmt.b32 %r[[LOW:[0-9]+]], %r[[E0]], %r[[E1]], 0x0040;
  ; CHECK: prmt.b32 %r[[HIGH:[0-9]+]], %r[[E2]], %r[[E3]], 0x0040;
  ; CHECK: prmt.b32 %r[[ALL:[0-9]+]], %r[[LOW]], %r[[HIGH]], 0x5410;
  %all = bitcast <4 x i8> %u to i32
  ; CHECK: st %r[[ALL]];
  call void asm sideeffect "st $0;", "r"(i32 %all)
  ret void
}

; CHECK-LABEL: .visible .entry four_halves(
define ptx_kernel void @four_halves(i64 %w) {
  ; CHECK: mov.b64 {%rs[[A:[0-9]+]], %rs[[B:[0-9]+]], %rs[[C:[0-9]+]], %rs[[D:[0-9]+]]}, %rd
  %v = bitcast i64 %w to <4 x i16>
  ; CHECK: mov.b64 %rd[[R:[0-9]+]], {%rs[[D]], %rs[[C]], %rs[[B]], %rs[[A]]};
  %r = shufflevector <4 x i16> %v, <4 x i16> poison, <4 x i32> <i32 3, i32 2, i32 1, i32 0>
  %s = bitcast <4 x i16> %r to i64
  ; CHECK: st %rd[[R]];
  call void asm sideeffect "st $0;", "l"(i64 %s)
  ret void
}

; Elements for which `mov` has no form are shifted down.
; CHECK-LABEL: .visible .entry bits(
define ptx_kernel void @bits(i64 %w) {
  %v = bitcast i64 %w to <64 x i1>
  ; CHECK: shr.u64 %rd[[S:[0-9]+]], %rd{{[0-9]+}}, 37;
  ; CHECK-NEXT: and.b64 %rd[[A:[0-9]+]], %rd[[S]], 1;
  ; CHECK-NEXT: setp.ne.b64 %p[[P:[0-9]+]], %rd[[A]], 0;
  %p = extractelement <64 x i1> %v, i64 37
  ; CHECK: @%p[[P]] st;
  call void asm sideeffect "@$0 st;", "b"(i1 %p)
  ret void
}

; Bytes go from words to a word, and no register holds a single one.
; CHECK-LABEL: .visible .entry bytes_of_words(
define ptx_kernel void @bytes_of_words(i32 %a, i32 %b, i32 %c) {
  %x = bitcast i32 %a to <4 x i8>
  %y = bitcast i32 %b to <4 x i8>
  %z = bitcast i32 %c to <4 x i8>
  ; CHECK-DAG: ld.param.b32 %r[[A:[0-9]+]], [bytes_of_words_param_0];
  ; CHECK-DAG: ld.param.b32 %r[[B:[0-9]+]], [bytes_of_words_param_1];
  ; CHECK-DAG: ld.param.b32 %r[[C:[0-9]+]], [bytes_of_words_param_2];
  ; CHECK-NOT: shr
  ; 0x5140 interleaves the low halves of two words. The first result takes bytes 2 and 3 of that, and bytes 0 and 1 of
  ; the third word: 0x5432.
  ; CHECK: prmt.b32 %r[[P:[0-9]+]], %r[[A]], %r[[B]], 20800;
  ; CHECK-NEXT: prmt.b32 %r[[Q:[0-9]+]], %r[[P]], %r[[C]], 21554;
  %p = shufflevector <4 x i8> %x, <4 x i8> %y, <4 x i32> <i32 1, i32 5, i32 poison, i32 poison>
  %q = shufflevector <4 x i8> %p, <4 x i8> %z, <4 x i32> <i32 0, i32 1, i32 4, i32 5>
  %w = bitcast <4 x i8> %q to i32
  ; The second result needs the same halves: 0x7610.
  ; CHECK-NEXT: prmt.b32 %r[[R:[0-9]+]], %r[[P]], %r[[C]], 30224;
  ; CHECK-NEXT: st %r[[Q]], %r[[R]];
  %r = shufflevector <4 x i8> %x, <4 x i8> %y, <4 x i32> <i32 0, i32 4, i32 poison, i32 poison>
  %s = shufflevector <4 x i8> %r, <4 x i8> %z, <4 x i32> <i32 0, i32 1, i32 6, i32 7>
  %v = bitcast <4 x i8> %s to i32
  call void asm sideeffect "st $0, $1;", "r,r"(i32 %w, i32 %v)
  ret void
}

; Elements of the same size stay where they are.
; CHECK-LABEL: .visible .entry same_elements(
define ptx_kernel void @same_elements(float %x) {
  %v = insertelement <4 x float> <float 1.0, float 2.0, float 3.0, float poison>, float %x, i64 3
  %w = bitcast <4 x float> %v to <4 x i32>
  %a = extractelement <4 x i32> %w, i64 1
  %b = extractelement <4 x i32> %w, i64 3
  ; CHECK: ld.param.b32 %r[[X:[0-9]+]],
  ; CHECK-NEXT: st 1073741824, %r[[X]];
  call void asm sideeffect "st $0, $1;", "r,r"(i32 %a, i32 %b)
  ret void
}

; A word that an MMA takes is not unpacked, although LLVM's intrinsic takes vectors.
; CHECK-LABEL: .visible .entry product(
define ptx_kernel void @product(i32 %a, i32 %b) {
  %x = bitcast i32 %a to <2 x half>
  %y = bitcast i32 %b to <2 x half>
  ; CHECK-NOT: mov
  ; CHECK: mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r[[D:[0-9]+]], %r{{[0-9]+}}, %r{{[0-9]+}}, %r{{[0-9]+}}},
  ; CHECK-SAME: {%r[[A:[0-9]+]], %r[[B:[0-9]+]], %r[[A]], %r[[B]]}, {%r[[B]], %r[[A]]},
  ; CHECK-SAME: {0f00000000, 0f00000000, 0f00000000, 0f00000000};
  %s = call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half> %x, <2 x half> %y,
      <2 x half> %x, <2 x half> %y, <2 x half> %y, <2 x half> %x, float 0.0, float 0.0, float 0.0, float 0.0)
  %d = extractvalue { float, float, float, float } %s, 0
  ; CHECK: st %r[[D]];
  call void asm sideeffect "st $0;", "f"(float %d)
  ret void
}
declare { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.f32.f32(<2 x half>, <2 x half>, <2 x half>,
    <2 x half>, <2 x half>, <2 x half>, float, float, float, float)
