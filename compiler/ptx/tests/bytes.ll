; RUN: tegula-opt --ptx %s | FileCheck %s
; Comparisons of the bytes of a word with a limit become comparisons of two halves.

; CHECK-LABEL: .visible .entry four(
define ptx_kernel void @four(i32 %w) {
  ; CHECK: and.b32 %r[[EVEN:[0-9]+]], %r[[W:[0-9]+]], 16711935;
  ; CHECK: mov.b32 %r[[LIMIT:[0-9]+]], {230, 230};
  ; CHECK: setp.lt.f16x2 %p[[P0:[0-9]+]]|%p[[P2:[0-9]+]], %r[[EVEN]], %r[[LIMIT]];
  ; CHECK: prmt.b32 %r[[ODD:[0-9]+]], %r[[W]], 0, 17217;
  ; CHECK: setp.lt.f16x2 %p[[P1:[0-9]+]]|%p[[P3:[0-9]+]], %r[[ODD]], %r{{[0-9]+}};
  ; CHECK: st %p[[P0]], %p[[P1]], %p[[P2]], %p[[P3]];
  %b0 = and i32 %w, 255
  %b1 = and i32 %w, 65280
  %b2 = and i32 %w, 16711680
  %p0 = icmp ult i32 %b0, 230
  %p1 = icmp ult i32 %b1, 58880
  %p2 = icmp ult i32 %b2, 15073280
  %p3 = icmp ult i32 %w, -436207616
  call void asm sideeffect "st $0, $1, $2, $3;", "b,b,b,b"(i1 %p0, i1 %p1, i1 %p2, i1 %p3)
  ret void
}

; LLVM has other forms for a limit of 128 and for a power of two.
; CHECK-LABEL: .visible .entry powers_of_two(
define ptx_kernel void @powers_of_two(i32 %w) {
  ; CHECK: {128, 128}
  ; CHECK: setp.lt.f16x2
  ; CHECK: {64, 64}
  ; CHECK: setp.lt.f16x2
  ; CHECK-NOT: setp
  %b1 = and i32 %w, 32768
  %p1 = icmp eq i32 %b1, 0
  %p3 = icmp sgt i32 %w, -1
  %b0 = and i32 %w, 192
  %p0 = icmp eq i32 %b0, 0
  %b2 = and i32 %w, 12582912
  %p2 = icmp eq i32 %b2, 0
  call void asm sideeffect "st $0, $1, $2, $3;", "b,b,b,b"(i1 %p0, i1 %p1, i1 %p2, i1 %p3)
  ret void
}

; Each of these depends on more than one byte, has no partner with the same limit, or holds for other bytes.
; CHECK-LABEL: .visible .entry others(
define ptx_kernel void @others(i32 %w) {
  ; CHECK-NOT: f16x2
  %b0 = and i32 %w, 255
  %p0 = icmp ult i32 %b0, 230
  %b2 = and i32 %w, 16711680
  %p2 = icmp ult i32 %b2, 15138816
  %p3 = icmp ult i32 %w, -436207615
  %b1 = and i32 %w, 65280
  %p1 = icmp ugt i32 %b1, 58880
  %h = and i32 %w, 510
  %p4 = icmp ult i32 %h, 230
  call void asm sideeffect "st $0, $1, $2, $3, $4;", "b,b,b,b,b"(i1 %p0, i1 %p1, i1 %p2, i1 %p3, i1 %p4)
  ret void
}

; CHECK-LABEL: .visible .entry pairs(
define ptx_kernel void @pairs(i32 %a, i32 %b) {
  ; CHECK-NOT: mov
  ; CHECK: setp.geu.f16x2 %p[[P:[0-9]+]]|%p[[Q:[0-9]+]], %r{{[0-9]+}}, %r{{[0-9]+}};
  ; CHECK-NOT: mov
  ; CHECK: st %p[[Q]], %p[[P]];
  %x = bitcast i32 %a to <2 x half>
  %y = bitcast i32 %b to <2 x half>
  %c = fcmp uge <2 x half> %x, %y
  %p = extractelement <2 x i1> %c, i64 0
  %q = extractelement <2 x i1> %c, i64 1
  call void asm sideeffect "st $0, $1;", "b,b"(i1 %q, i1 %p)
  ret void
}
