; RUN: tegula-opt --ptx %s | FileCheck %s

; CHECK: .extern .shared .align 1024 .b8 memory[];
@memory = external addrspace(3) global [0 x i8], align 1024

; From sm_90 on, the address of shared memory is a sum that ptxas cannot compute again. Constants are added last,
; because accesses take them for free, and sums without constants are computed once.
; CHECK-LABEL: .visible .entry shared(
define ptx_kernel void @shared(i32 %x, i32 %y) {
  ; CHECK: mov.b32 %r[[MEMORY:[0-9]+]], memory;
  ; CHECK-NEXT: mov.u32 %r[[PROGRAM:[0-9]+]], %ctaid.x;
  ; CHECK-NEXT: shr.u32 %r[[ZERO:[0-9]+]], %r[[PROGRAM]], 31;
  ; CHECK-NEXT: add.s32 %r[[BASE:[0-9]+]], %r[[MEMORY]], %r[[ZERO]];
  ; CHECK: add.s32 %r[[SUM:[0-9]+]], %r[[BASE]], %r[[X:[0-9]+]];
  ; CHECK: add.s32 %r[[A:[0-9]+]], %r[[SUM]], 64;
  %a = add i32 %x, add (i32 ptrtoint (ptr addrspace(3) @memory to i32), i32 64)
  ; CHECK-NEXT: add.s32 %r[[B:[0-9]+]], %r[[SUM]], 128;
  %b = add i32 %x, add (i32 ptrtoint (ptr addrspace(3) @memory to i32), i32 128)
  %even = shl i32 %y, 1
  %odd = or disjoint i32 %even, 1
  ; CHECK: add.s32 %r[[C:[0-9]+]], %r{{[0-9]+}}, %r[[X]];
  ; CHECK: add.s32 %r[[D:[0-9]+]], %r[[C]], 1;
  %d = add i32 %odd, %x
  ; CHECK: st [%r[[A]]], [%r[[B]]], [%r[[D]]];
  call void asm sideeffect "st [$0], [$1], [$2];", "r,r,r"(i32 %a, i32 %b, i32 %d)
  ret void
}

; CHECK-LABEL: .visible .entry strided(
define ptx_kernel void @strided(i64 %base, i64 %stride, i64 %row) {
  %bytes = shl i64 %stride, 1
  ; CHECK: mul.lo.s64 %rd[[P:[0-9]+]], %rd{{[0-9]+}}, %rd{{[0-9]+}};
  ; CHECK: shl.b64 %rd[[O:[0-9]+]], %rd[[P]], 1;
  %offset = mul i64 %bytes, %row
  ; CHECK: add.s64 %rd[[A:[0-9]+]], %rd{{[0-9]+}}, %rd[[O]];
  %address = add i64 %base, %offset
  %pointer = inttoptr i64 %address to ptr addrspace(1)
  ; CHECK: cp.async.cg.shared.global [%r{{[0-9]+}}], [%rd[[A]]], 16, 8;
  call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) @memory, ptr addrspace(1) %pointer, i32 8)
  ret void
}
declare void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3), ptr addrspace(1), i32)

; A tensor map is a parameter that TMA reads where the driver has put it.
; CHECK-LABEL: .visible .entry boxes(
; CHECK-NEXT: .param .align 64 .b8 boxes_param_0[128]
; CHECK: .reqntid 128
; CHECK: .minnctapersm 1
define ptx_kernel void @boxes(ptr byval([128 x i8]) align 64 "nvvm.grid_constant" %map) #0 {
  ; CHECK: mov.b64 %rd[[P:[0-9]+]], boxes_param_0;
  ; CHECK: cvta.param.u64 %rd[[M:[0-9]+]], %rd[[P]];
  ; CHECK: copy [%rd[[M]]];
  call void asm sideeffect "copy [$0];", "l"(ptr %map)
  br label %next
next:
  ; Its address is computed at the use, so that no earlier loop keeps it in registers.
  ; CHECK: mov.b64 %rd[[P:[0-9]+]], boxes_param_0;
  ; CHECK: cvta.param.u64 %rd[[M:[0-9]+]], %rd[[P]];
  ; CHECK: copy [%rd[[M]]];
  call void asm sideeffect "copy [$0];", "l"(ptr %map)
  ret void
}
attributes #0 = { "nvvm.reqntid"="128" "nvvm.minctasm"="1" }

; A number without common bits is added, because only a sum becomes the offset of an access.
; CHECK-LABEL: .visible .entry offset(
define ptx_kernel void @offset(i32 %x) {
  ; CHECK: shl.b32 %r[[ROW:[0-9]+]], %r{{[0-9]+}}, 4;
  ; CHECK-NEXT: add.s32 %r[[A:[0-9]+]], %r[[ROW]], 8;
  ; CHECK-NEXT: st [%r[[A]]];
  %row = shl i32 %x, 4
  %a = or disjoint i32 %row, 8
  call void asm sideeffect "st [$0];", "r"(i32 %a)
  ret void
}

; A block that uses many sums of two addresses adds the numbers itself: no registers then hold the sums before it.
; CHECK-LABEL: .visible .entry many_offsets(
define ptx_kernel void @many_offsets(i32 %x, i32 %y, i32 %n) {
  ; CHECK: st [%r{{.*}}];
  %s0 = add i32 %x, 16
  %s1 = add i32 %x, 32
  %s2 = add i32 %x, 48
  %s3 = add i32 %x, 64
  %s4 = add i32 %x, 80
  %s5 = add i32 %x, 96
  %s6 = add i32 %y, 16
  %s7 = add i32 %y, 32
  %s8 = add i32 %y, 48
  %s9 = add i32 %y, 64
  %s10 = add i32 %y, 80
  %s11 = add i32 %y, 96
  call void asm sideeffect "st [$0], [$1], [$2], [$3], [$4], [$5], [$6], [$7], [$8], [$9], [$10], [$11];", "r,r,r,r,r,r,r,r,r,r,r,r"(i32 %s0, i32 %s1, i32 %s2, i32 %s3, i32 %s4, i32 %s5, i32 %s6, i32 %s7, i32 %s8, i32 %s9, i32 %s10, i32 %s11)
  %c = icmp eq i32 %n, 0
  br i1 %c, label %end, label %next
next:
  ; CHECK-COUNT-12: add.s32 %r{{[0-9]+}}, %r{{[0-9]+}},
  ; CHECK: st [%r
  call void asm sideeffect "st [$0], [$1], [$2], [$3], [$4], [$5], [$6], [$7], [$8], [$9], [$10], [$11];", "r,r,r,r,r,r,r,r,r,r,r,r"(i32 %s0, i32 %s1, i32 %s2, i32 %s3, i32 %s4, i32 %s5, i32 %s6, i32 %s7, i32 %s8, i32 %s9, i32 %s10, i32 %s11)
  br label %end
end:
  ret void
}

; The sums of one address stay in registers.
; CHECK-LABEL: .visible .entry offsets_of_one(
define ptx_kernel void @offsets_of_one(i32 %x, i32 %n) {
  ; CHECK: st [%r
  %s0 = add i32 %x, 16
  %s1 = add i32 %x, 32
  %s2 = add i32 %x, 48
  %s3 = add i32 %x, 64
  %s4 = add i32 %x, 80
  %s5 = add i32 %x, 96
  %s6 = add i32 %x, 112
  %s7 = add i32 %x, 128
  %s8 = add i32 %x, 144
  %s9 = add i32 %x, 160
  %s10 = add i32 %x, 176
  %s11 = add i32 %x, 192
  call void asm sideeffect "st [$0], [$1], [$2], [$3], [$4], [$5], [$6], [$7], [$8], [$9], [$10], [$11];", "r,r,r,r,r,r,r,r,r,r,r,r"(i32 %s0, i32 %s1, i32 %s2, i32 %s3, i32 %s4, i32 %s5, i32 %s6, i32 %s7, i32 %s8, i32 %s9, i32 %s10, i32 %s11)
  %c = icmp eq i32 %n, 0
  br i1 %c, label %end, label %next
next:
  ; CHECK-NOT: add.s32
  ; CHECK: st [%r
  call void asm sideeffect "st [$0], [$1], [$2], [$3], [$4], [$5], [$6], [$7], [$8], [$9], [$10], [$11];", "r,r,r,r,r,r,r,r,r,r,r,r"(i32 %s0, i32 %s1, i32 %s2, i32 %s3, i32 %s4, i32 %s5, i32 %s6, i32 %s7, i32 %s8, i32 %s9, i32 %s10, i32 %s11)
  br label %end
end:
  ret void
}
