; RUN: tegula-opt --ptx %s | FileCheck %s

; The second successor of a branch is the block that follows.
; CHECK-LABEL: .visible .entry leaves(
define ptx_kernel void @leaves(i32 %x, i32 %y) {
  ; CHECK: setp.ge.s32 %p[[P:[0-9]+]],
  ; CHECK-NEXT: @%p[[P]] bra $L2;
  ; CHECK-NEXT: $L1:
  %p = icmp slt i32 %x, %y
  br i1 %p, label %then, label %next
then:
  call void asm sideeffect "st;", "~{memory}"()
  br label %next
next:
  ; CHECK: $L2:
  ; CHECK: and.pred %p[[Q:[0-9]+]],
  ; CHECK-NEXT: not.pred %p[[R:[0-9]+]], %p[[Q]];
  ; CHECK-NEXT: @%p[[R]] bra $L4;
  ; CHECK-NEXT: $L3:
  %q = icmp ugt i32 %x, %y
  %r = icmp ugt i32 %y, 7
  %both = and i1 %q, %r
  br i1 %both, label %again, label %end
again:
  ; CHECK: bra.uni $L2;
  br label %next
end:
  ret void
}

; A choice on two conditions becomes two choices.
; CHECK-LABEL: .visible .entry chooses(
define ptx_kernel void @chooses(i32 %x, i32 %y, float %score) {
  ; CHECK: setp.lt.s32 %p[[P:[0-9]+]],
  %p = icmp slt i32 %x, %y
  ; CHECK: setp.gt.s32 %p[[Q:[0-9]+]],
  %q = icmp sgt i32 %x, 7
  %both = and i1 %p, %q
  ; CHECK-NOT: and.pred
  ; CHECK: selp.f32 %r[[INNER:[0-9]+]], %r{{[0-9]+}}, 0fFF800000, %p[[Q]];
  ; CHECK-NEXT: selp.f32 %r[[S:[0-9]+]], %r[[INNER]], 0fFF800000, %p[[P]];
  %s = select i1 %both, float %score, float 0xFFF0000000000000
  %r = icmp eq i32 %y, 3
  %t = icmp eq i32 %y, 9
  %either = or i1 %r, %t
  ; CHECK: selp.b32 %r[[INNER:[0-9]+]], 1, 2, %p[[T:[0-9]+]];
  ; CHECK-NEXT: selp.b32 %r[[C:[0-9]+]], 1, %r[[INNER]], %p{{[0-9]+}};
  %c = select i1 %either, i32 1, i32 2
  ; CHECK: st %r[[S]], %r[[C]];
  call void asm sideeffect "st $0, $1;", "f,r"(float %s, i32 %c)
  ret void
}

; A condition is its own comparison.
; CHECK-LABEL: .visible .entry chooses_side(
define ptx_kernel void @chooses_side(i32 %x) {
  ; CHECK: setp.eq.b32 %p[[C:[0-9]+]],
  %c = icmp eq i32 %x, 1
  ; CHECK: not.pred %p[[N:[0-9]+]], %p[[C]];
  ; CHECK-NEXT: @%p[[N]] bra
  switch i1 %c, label %end [ i1 false, label %then ]
then:
  call void asm sideeffect "st;", "~{memory}"()
  br label %end
end:
  ret void
}

; A narrow number is compared without the bits above it.
; CHECK-LABEL: .visible .entry chooses_case(
define ptx_kernel void @chooses_case(i32 %x) {
  %n = trunc i32 %x to i8
  ; CHECK: and.b16 %rs[[N:[0-9]+]], %rs{{[0-9]+}}, 255;
  ; CHECK-NEXT: setp.eq.b16 %p{{[0-9]+}}, %rs[[N]], 254;
  ; CHECK: setp.eq.b16 %p{{[0-9]+}}, %rs[[N]], 3;
  switch i8 %n, label %end [ i8 -2, label %then
                             i8 3, label %then ]
then:
  call void asm sideeffect "st;", "~{memory}"()
  br label %end
end:
  ret void
}
