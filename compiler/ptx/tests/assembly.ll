; RUN: tegula-opt --ptx %s | FileCheck %s

; Braces belong to PTX, and results come before arguments.
; CHECK-LABEL: .visible .entry access(
define ptx_kernel void @access(i32 %address) {
  %p = icmp eq i32 %address, 0
  ; CHECK: ld.shared.v2.b32 {%r[[A:[0-9]+]], %r[[B:[0-9]+]]}, [%r[[AT:[0-9]+]]];
  %1 = call { float, float } asm sideeffect "ld.shared.v2.b32 {$0, $1}, [$2];", "=f,=f,r,~{memory}"(i32 %address)
  %a = extractvalue { float, float } %1, 0
  %b = extractvalue { float, float } %1, 1
  ; CHECK: @%p{{[0-9]+}} st.shared.v2.b32 [%r[[AT]]], {%r[[B]], %r[[A]]};
  call void asm sideeffect "@$0 st.shared.v2.b32 [$1], {$2, $3};", "b,r,f,f,~{memory}"(i1 %p, i32 %address, float %b, float %a)
  ret void
}

; A result that starts with an operand has the operand's register, if the operand is not needed any more.
; CHECK-LABEL: .visible .entry tied(
define ptx_kernel void @tied(i64 %address, float %x) {
  %p = icmp eq i64 %address, 0
  ; CHECK: add.rn.f32 %r[[Y:[0-9]+]], %r[[X:[0-9]+]], %r[[X]];
  %y = fadd float %x, %x
  ; CHECK-NEXT: @%p{{[0-9]+}} ld.global.b32 %r[[Y]], [%rd{{[0-9]+}}];
  %1 = call float asm sideeffect "@$2 ld.global.b32 $0, [$1];", "=f,l,b,0,~{memory}"(i64 %address, i1 %p, float %y)
  ; CHECK-NEXT: mov.b32 %r[[Z:[0-9]+]], %r[[X]];
  ; CHECK-NEXT: @%p{{[0-9]+}} ld.global.b32 %r[[Z]], [%rd{{[0-9]+}}];
  %2 = call float asm sideeffect "@$2 ld.global.b32 $0, [$1];", "=f,l,b,0,~{memory}"(i64 %address, i1 %p, float %x)
  ; CHECK-NEXT: st %r[[Y]], %r[[Z]], %r[[X]];
  call void asm sideeffect "st $0, $1, $2;", "f,f,f"(float %1, float %2, float %x)
  ret void
}

; Accumulators of a wgmma in flight are not copied on any path.
; CHECK-LABEL: .visible .entry in_flight(
define ptx_kernel void @in_flight(i32 %n) {
entry:
  ; CHECK: mov.b32 %r[[SUM:[0-9]+]], 0f00000000;
  br label %loop
  ; CHECK: $L1:
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %last ]
  %sum = phi float [ 0.0, %entry ], [ %done, %last ]
  ; CHECK-NEXT: product %r[[SUM]];
  %started = call float asm sideeffect "product $0;", "=f,0"(float %sum)
  %odd = trunc i32 %i to i1
  br i1 %odd, label %more, label %last
more:
  ; CHECK-NOT: mov
  ; CHECK: product %r[[SUM]];
  %again = call float asm sideeffect "product $0;", "=f,0"(float %started)
  br label %last
last:
  %running = phi float [ %started, %loop ], [ %again, %more ]
  ; CHECK-NEXT: $L3:
  ; CHECK-NEXT: wait;
  %done = call float asm sideeffect "wait;", "=f,0"(float %running)
  %next = add i32 %i, 1
  %continues = icmp slt i32 %next, %n
  br i1 %continues, label %loop, label %end
end:
  call void asm sideeffect "st $0;", "f"(float %done)
  ret void
}

; ptxas: "Arguments mismatch for instruction 'wgmma.mma_async'".
; CHECK-LABEL: .visible .entry literal_operand(
define ptx_kernel void @literal_operand(i32 %a) {
  ; CHECK: mov.b32 %r[[ZERO:[0-9]+]], 0;
  ; CHECK: wgmma.mma_async %r{{[0-9]+}}, {%r{{[0-9]+}}, %r[[ZERO]]};
  %d = call float asm sideeffect "wgmma.mma_async $0, {$1, $2};", "=f,r,r"(i32 %a, i32 0)
  call void asm sideeffect "st $0;", "f"(float %d)
  ret void
}
