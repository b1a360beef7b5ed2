; RUN: tegula-opt --ptx %s | FileCheck %s
; A loop-carried value stays in one register, unless another instruction still needs the old value.

; CHECK-LABEL: .visible .entry counts(
define ptx_kernel void @counts(i32 %n) {
  ; CHECK: mov.b32 %r[[I:[0-9]+]], 0;
entry:
  br label %loop
  ; CHECK: $L1:
  ; CHECK-NEXT: add.s32 %r[[I]], %r[[I]], 1;
  ; CHECK-NEXT: setp.lt.s32 %p[[P:[0-9]+]], %r[[I]], %r
  ; CHECK-NEXT: @%p[[P]] bra $L1;
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %end
  ; CHECK-NEXT: $L2:
  ; CHECK-NEXT: ret;
end:
  ret void
}

; CHECK-LABEL: .visible .entry swaps(
define ptx_kernel void @swaps(i32 %n, i32 %x, i32 %y) {
entry:
  br label %loop
  ; CHECK: $L1:
  ; CHECK: st %r[[A:[0-9]+]], %r[[B:[0-9]+]];
  ; CHECK: mov.b32 %r[[T:[0-9]+]], %r[[B]];
  ; CHECK: mov.b32 %r[[B]], %r[[A]];
  ; CHECK: bra $L
loop:
  %a = phi i32 [ %x, %entry ], [ %b, %loop ]
  %b = phi i32 [ %y, %entry ], [ %a, %loop ]
  call void asm sideeffect "st $0, $1;", "r,r"(i32 %a, i32 %b)
  %more = icmp slt i32 %a, %n
  br i1 %more, label %loop, label %end
end:
  ret void
}

; The value of the last but one iteration is needed after the loop.
; CHECK-LABEL: .visible .entry keeps(
define ptx_kernel void @keeps(i32 %n) {
entry:
  br label %loop
  ; CHECK: $L1:
  ; CHECK: add.s32 %r[[NEXT:[0-9]+]], %r[[I:[0-9]+]], 1;
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %next = add i32 %i, 1
  %more = icmp slt i32 %next, %n
  br i1 %more, label %loop, label %end
  ; CHECK: $L2:
  ; CHECK-NEXT: st %r[[I]];
end:
  call void asm sideeffect "st $0;", "r"(i32 %i)
  ret void
}

; An undefined value costs no instruction.
; CHECK-LABEL: .visible .entry undefined(
define ptx_kernel void @undefined(i32 %x) {
  %p = icmp eq i32 %x, 0
  ; CHECK: bra $L2;
  ; CHECK-NEXT: $L1:
  ; CHECK-NEXT: add.s32
  ; CHECK-NEXT: $L2:
  br i1 %p, label %then, label %end
then:
  %y = add i32 %x, 1
  br label %end
end:
  %z = phi i32 [ %y, %then ], [ poison, %0 ]
  call void asm sideeffect "st $0;", "r"(i32 %z)
  ret void
}

; CHECK-LABEL: .visible .entry chooses(
define ptx_kernel void @chooses(i32 %x) {
  ; CHECK: setp.eq.b32 %p[[P:[0-9]+]], %r[[X:[0-9]+]], 3;
  ; CHECK-NEXT: @%p[[P]] bra $L1;
  ; CHECK-NEXT: setp.eq.b32 %p[[Q:[0-9]+]], %r[[X]], -5;
  ; CHECK-NEXT: @%p[[Q]] bra $L2;
  ; CHECK-NEXT: bra.uni $L3;
  switch i32 %x, label %end [
    i32 3, label %three
    i32 -5, label %five
  ]
three:
  call void asm sideeffect "three;", ""()
  br label %end
five:
  call void asm sideeffect "five;", ""()
  br label %end
end:
  ret void
}
