; RUN: tegula-opt --ptx %s | FileCheck %s
; A division by a constant is a multiplication.

; CHECK-LABEL: .visible .entry by_numbers(
define ptx_kernel void @by_numbers(i32 %a, i64 %b) {
  ; CHECK: mul.hi.u32 %r[[H:[0-9]+]], %r[[A:[0-9]+]], -1431655765;
  ; CHECK: shr.u32 %r[[X:[0-9]+]], %r[[H]], 7;
  %1 = udiv i32 %a, 192
  ; CHECK: mul.lo.s32 %r[[P:[0-9]+]], %r{{[0-9]+}}, 192;
  ; CHECK: sub.s32 %r[[Y:[0-9]+]], %r[[A]], %r[[P]];
  %2 = urem i32 %a, 192
  ; The reciprocal of 7 has 33 bits.
  ; CHECK: mul.hi.u32 %r[[H:[0-9]+]], %r[[A]], 613566757;
  ; CHECK: sub.s32 %r[[D:[0-9]+]], %r[[A]], %r[[H]];
  ; CHECK: shr.u32 %r[[E:[0-9]+]], %r[[D]], 1;
  ; CHECK: add.s32 %r[[F:[0-9]+]], %r[[E]], %r[[H]];
  ; CHECK: shr.u32 %r[[Z:[0-9]+]], %r[[F]], 2;
  %3 = udiv i32 %a, 7
  ; CHECK: mul.hi.s32 %r[[H:[0-9]+]], %r[[A]], -1840700269;
  ; CHECK: add.s32 %r[[I:[0-9]+]], %r[[H]], %r[[A]];
  ; CHECK: shr.s32 %r[[J:[0-9]+]], %r[[I]], 2;
  ; CHECK: shr.u32 %r[[K:[0-9]+]], %r[[J]], 31;
  ; CHECK: add.s32 %r[[W:[0-9]+]], %r[[J]], %r[[K]];
  %4 = sdiv i32 %a, 7
  ; CHECK: shr.s64 %rd[[S:[0-9]+]], %rd[[B:[0-9]+]], 63;
  ; CHECK: shr.u64 %rd[[R:[0-9]+]], %rd[[S]], 57;
  ; CHECK: add.s64 %rd[[T:[0-9]+]], %rd[[B]], %rd[[R]];
  ; CHECK: shr.s64 %rd[[V:[0-9]+]], %rd[[T]], 7;
  %5 = sdiv i64 %b, 128
  ; CHECK: st %r[[X]], %r[[Y]], %r[[Z]], %r[[W]], %rd[[V]];
  call void asm sideeffect "st $0, $1, $2, $3, $4;", "r,r,r,r,l"(i32 %1, i32 %2, i32 %3, i32 %4, i64 %5)
  ret void
}
