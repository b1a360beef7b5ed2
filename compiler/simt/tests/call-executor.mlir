// RUN: tegula-opt %s --call-executor --split-input-file --verify-diagnostics | FileCheck %s

// The words of the parameters are read from memory. Shared memory begins at a fixed address.
// CHECK: llvm.mlir.global external constant @memory.sites("ld.global.v4.b32 kernel.cpp:7\0Ast.shared.v4.b32 kernel.cpp:8\0Ared.relaxed.gpu.global.add.f32 kernel.cpp:9\0Aatom.relaxed.gpu.global.inc.u32 kernel.cpp:10\0A\00")
// CHECK-LABEL: llvm.func @memory(
// CHECK-SAME: %[[OPS:.*]]: !llvm.ptr, %[[LANE:.*]]: !llvm.ptr, %[[WORDS:.*]]: !llvm.ptr) {
// CHECK: %[[ADDRESS:.*]] = llvm.load %[[WORDS]] : !llvm.ptr -> i64
// CHECK: llvm.getelementptr %[[WORDS]][8]
// CHECK: llvm.mlir.constant(1024 : i32)
// CHECK: %[[SITE:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: %[[LOAD:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.call %[[LOAD]](%[[LANE]], %[[SITE]], %{{.*}}, %[[ADDRESS]], %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, i32, i32, i64, i32, !llvm.ptr) -> ()
// CHECK: llvm.call %{{.*}}(%[[LANE]], %{{.*}}, %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, i32, i32, i64) -> i32
// CHECK-NOT: llvm.inline_asm
llvm.mlir.global external @tegula_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
llvm.func @memory(%address: i64, %other: i64) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %shared = llvm.mlir.addressof @tegula_shared : !llvm.ptr<3>
  %base = llvm.ptrtoint %shared : !llvm.ptr<3> to i32
  %true = llvm.mlir.constant(true) : i1
  %one = llvm.mlir.constant(1.0 : f32) : f32
  %v = llvm.inline_asm has_side_effects "ld.global.v4.b32 {$0, $1, $2, $3}, [$4];", "=r,=r,=r,=r,l,~{memory}" %address : (i64) -> !llvm.struct<(i32, i32, i32, i32)> loc("kernel.cpp":7:0)
  %a = llvm.extractvalue %v[0] : !llvm.struct<(i32, i32, i32, i32)>
  llvm.inline_asm has_side_effects "@$5 st.shared.v4.b32 [$0], {$1, $2, $3, $4};", "r,r,r,r,r,b,~{memory}" %base, %a, %a, %a, %a, %true : (i32, i32, i32, i32, i32, i1) -> () loc("kernel.cpp":8:0)
  llvm.inline_asm has_side_effects "red.relaxed.gpu.global.add.f32 [$0], $1;", "l,f,~{memory}" %other, %one : (i64, f32) -> () loc("kernel.cpp":9:0)
  %most = llvm.mlir.constant(2147483647 : i32) : i32
  %before = llvm.inline_asm has_side_effects "atom.relaxed.gpu.global.inc.u32 $0, [$1], $2;", "=r,l,r,~{memory}" %other, %most : (i64, i32) -> i32 loc("kernel.cpp":10:0)
  llvm.return
}

// -----

// CHECK: @turns.sites("ld.acquire.gpu.global.b32 kernel.cpp:1\0Ared.release.gpu.global.max.s32 kernel.cpp:2\0A\00")
// CHECK-LABEL: llvm.func @turns(
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %[[COUNTER:.*]], %[[TURN:.*]]) : !llvm.ptr, (!llvm.ptr, i32, i64, i32) -> ()
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %[[COUNTER]], %[[TURN]]) : !llvm.ptr, (!llvm.ptr, i32, i64, i32) -> ()
// CHECK-NOT: llvm.inline_asm
llvm.func @turns(%counter: i64, %turn: i32) attributes {nvvm.kernel} {
  llvm.inline_asm has_side_effects "{\0A.reg .pred come;\0A.reg .b32 now;\0AWAIT:\0Ald.acquire.gpu.global.b32 now, [$0];\0Asetp.ge.s32 come, now, $1;\0A@come bra DONE;\0Abra WAIT;\0ADONE:\0A}", "l,r,~{memory}" %counter, %turn : (i64, i32) -> () loc("kernel.cpp":1:0)
  llvm.inline_asm has_side_effects "red.release.gpu.global.max.s32 [$0], $1;", "l,r,~{memory}" %counter, %turn : (i64, i32) -> () loc("kernel.cpp":2:0)
  llvm.return
}

// -----

// CHECK: @order.sites("cp.async kernel.cpp:1\0Acp.async.commit_group kernel.cpp:2\0Acp.async.wait_group kernel.cpp:3\0Abar.sync kernel.cpp:4\0Aldmatrix.x2.trans kernel.cpp:5\0A\00")
// CHECK-LABEL: llvm.func @order(
// CHECK-NOT: nvvm.
llvm.func @order(%global: i64) {
  %c0 = llvm.mlir.constant(1024 : i32) : i32
  %bytes = llvm.mlir.constant(12 : i32) : i32
  %to = llvm.inttoptr %c0 : i32 to !llvm.ptr<3>
  %from = llvm.inttoptr %global : i64 to !llvm.ptr<1>
  nvvm.cp.async.shared.global %to, %from, 16, cache = cg, %bytes : !llvm.ptr<3>, !llvm.ptr<1>, i32 loc("kernel.cpp":1:0)
  nvvm.cp.async.commit.group loc("kernel.cpp":2:0)
  nvvm.cp.async.wait.group 0 loc("kernel.cpp":3:0)
  nvvm.barrier0 loc("kernel.cpp":4:0)
  %m = nvvm.ldmatrix %to {num = 2 : i32, layout = #nvvm.mma_layout<col>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> !llvm.struct<(i32, i32)> loc("kernel.cpp":5:0)
  llvm.return
}

// -----

// A tensor map is stored among the words of the parameters.
// CHECK: @hopper.sites("mbarrier.init kernel.cpp:1\0Afence.mbarrier_init kernel.cpp:2\0Ambarrier.arrive.expect_tx kernel.cpp:3\0Acp.async.bulk.tensor.3d.shared::cluster.global kernel.cpp:4\0Ambarrier.try_wait kernel.cpp:5\0Ambarrier.arrive kernel.cpp:6\0Asetmaxnreg.inc kernel.cpp:7\0Abarrier.cluster.arrive kernel.cpp:8\0Abarrier.cluster.wait kernel.cpp:9\0Ast.shared::cluster.b32 kernel.cpp:11\0A\00")
// CHECK-LABEL: llvm.func @hopper(
// CHECK-SAME: %{{.*}}: !llvm.ptr, %[[LANE:.*]]: !llvm.ptr, %[[WORDS:.*]]: !llvm.ptr
// CHECK: llvm.getelementptr %[[WORDS]][128]
// CHECK: llvm.call %{{.*}}(%[[LANE]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[WORDS]], %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, i32, i32, i32, i32, !llvm.ptr, !llvm.ptr, i32) -> ()
// CHECK-NOT: llvm.inline_asm
llvm.func @hopper(%map: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}, %address: i64) attributes {nvvm.kernel} {
  %bar = llvm.mlir.constant(1024 : i32) : i32
  %smem = llvm.mlir.constant(2048 : i32) : i32
  %true = llvm.mlir.constant(true) : i1
  llvm.inline_asm has_side_effects "mbarrier.init.shared::cta.b64 [$0], 3;", "r,~{memory}" %bar : (i32) -> () loc("kernel.cpp":1:0)
  llvm.inline_asm has_side_effects "fence.mbarrier_init.release.cluster;", "~{memory}" : () -> () loc("kernel.cpp":2:0)
  llvm.inline_asm has_side_effects "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], 4096;", "r,~{memory}" %bar : (i32) -> () loc("kernel.cpp":3:0)
  llvm.inline_asm has_side_effects "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [$0], [$1, {$2, $3, $4}], [$5];", "r,l,r,r,r,r,~{memory}" %smem, %map, %bar, %bar, %bar, %bar : (i32, !llvm.ptr, i32, i32, i32, i32) -> () loc("kernel.cpp":4:0)
  llvm.inline_asm has_side_effects "{\0A.reg .pred done;\0AWAIT:\0Ambarrier.try_wait.parity.shared::cta.b64 done, [$0], $1;\0A@done bra.uni DONE;\0Abra.uni WAIT;\0ADONE:\0A}", "r,r,~{memory}" %bar, %bar : (i32, i32) -> () loc("kernel.cpp":5:0)
  llvm.inline_asm has_side_effects "@$0 mbarrier.arrive.shared::cta.b64 _, [$1];", "b,r,~{memory}" %true, %bar : (i1, i32) -> () loc("kernel.cpp":6:0)
  llvm.inline_asm has_side_effects "setmaxnreg.inc.sync.aligned.u32 160;", "~{memory}" : () -> () loc("kernel.cpp":7:0)
  llvm.inline_asm has_side_effects "barrier.cluster.arrive.release.aligned;", "~{memory}" : () -> () loc("kernel.cpp":8:0)
  llvm.inline_asm has_side_effects "barrier.cluster.wait.acquire.aligned;", "~{memory}" : () -> () loc("kernel.cpp":9:0)
  %rank = nvvm.read.ptx.sreg.cluster.ctarank : i32
  %remote = llvm.inline_asm "mapa.shared::cluster.u32 $0, $1, $2;", "=r,r,r" %smem, %rank : (i32, i32) -> i32 loc("kernel.cpp":10:0)
  llvm.inline_asm has_side_effects "st.shared::cluster.b32 [$0], $1;", "r,r,~{memory}" %remote, %rank : (i32, i32) -> () loc("kernel.cpp":11:0)
  llvm.return
}

// -----

// A register that comes from a wgmma but not through a wait is checked where it is read.
// CHECK: @products.sites("fadd kernel.cpp:6\0Awgmma.fence kernel.cpp:1\0Awgmma.mma_async kernel.cpp:2\0Awgmma.mma_async kernel.cpp:3\0Awgmma.commit_group kernel.cpp:4\0Awgmma.wait_group kernel.cpp:5\0Ast.global.b32 kernel.cpp:7\0A\00")
// CHECK-LABEL: llvm.func @products(
// CHECK-NOT: llvm.inline_asm
// CHECK: %[[READ:.*]] = llvm.bitcast %{{.*}} : f32 to i32
// CHECK: llvm.call %{{.*}}(%{{.*}}, %{{.*}}, %[[READ]]) : !llvm.ptr, (!llvm.ptr, i32, i32) -> ()
// CHECK-NEXT: llvm.fadd
llvm.func @products(%out: i64, %low: i32) {
  llvm.inline_asm has_side_effects "wgmma.fence.sync.aligned;", "~{memory}" : () -> () loc("kernel.cpp":1:0)
  %d = llvm.inline_asm has_side_effects "{\0A.reg .pred p;\0A.reg .b64 da, db;\0Asetp.ne.b32 p, 0, 0;\0Amov.b64 da, {$4, 1073741888};\0Amov.b64 db, {$5, 1073741888};\0Awgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, da, db, p, 1, 1, 0, 1;\0A}", "=f,=f,=f,=f,r,r" %low, %low : (i32, i32) -> !llvm.struct<(f32, f32, f32, f32)> loc("kernel.cpp":2:0)
  %0 = llvm.extractvalue %d[0] : !llvm.struct<(f32, f32, f32, f32)>
  %1 = llvm.extractvalue %d[1] : !llvm.struct<(f32, f32, f32, f32)>
  %2 = llvm.extractvalue %d[2] : !llvm.struct<(f32, f32, f32, f32)>
  %3 = llvm.extractvalue %d[3] : !llvm.struct<(f32, f32, f32, f32)>
  %e = llvm.inline_asm has_side_effects "{\0A.reg .pred p;\0A.reg .b64 da, db;\0Asetp.ne.b32 p, 1, 0;\0Amov.b64 db, {$12, 1073741888};\0Awgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, {$8, $9, $10, $11}, db, p, 1, 1, 1;\0A}", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,r" %0, %1, %2, %3, %low, %low, %low, %low, %low : (f32, f32, f32, f32, i32, i32, i32, i32, i32) -> !llvm.struct<(f32, f32, f32, f32)> loc("kernel.cpp":3:0)
  llvm.inline_asm has_side_effects "wgmma.commit_group.sync.aligned;", "~{memory}" : () -> () loc("kernel.cpp":4:0)
  %e0 = llvm.extractvalue %e[0] : !llvm.struct<(f32, f32, f32, f32)>
  %e1 = llvm.extractvalue %e[1] : !llvm.struct<(f32, f32, f32, f32)>
  %w = llvm.inline_asm has_side_effects "wgmma.wait_group.sync.aligned 0;", "=f,0,~{memory}" %e0 : (f32) -> f32 loc("kernel.cpp":5:0)
  %bad = llvm.fadd %e1, %w : f32 loc("kernel.cpp":6:0)
  llvm.inline_asm has_side_effects "st.global.b32 [$0], $1;", "l,f,~{memory}" %out, %bad : (i64, f32) -> () loc("kernel.cpp":7:0)
  llvm.return
}

// -----

llvm.func @unknown(%address: i64) {
  // expected-error @+1 {{the simt target does not know this instruction}}
  llvm.inline_asm has_side_effects "prefetch.global.L2 [$0];", "l,~{memory}" %address : (i64) -> ()
  llvm.return
}

// -----

// Waits and arrivals of a sequence order no memory.
// CHECK: @sequence.sites("sm.sequence_arrive kernel.cpp:1\0Asm.sequence_wait kernel.cpp:2\0A\00")
llvm.func @sequence() {
  %id = llvm.mlir.constant(2 : i32) : i32
  %threads = llvm.mlir.constant(256 : i32) : i32
  llvm.inline_asm has_side_effects {sm.sequence} "bar.arrive $0, 256;", "r,~{memory}" %id : (i32) -> () loc("kernel.cpp":1:0)
  "nvvm.barrier"(%id, %threads) <{operandSegmentSizes = array<i32: 1, 1, 0>}> {sm.sequence} : (i32, i32) -> () loc("kernel.cpp":2:0)
  llvm.return
}

// -----

// The executor rounds to bf16 as a GPU does.
// CHECK-LABEL: llvm.func @round(
// CHECK-NOT: llvm.fptrunc
// CHECK: %[[WORD:.*]] = llvm.call %{{.*}}(%{{.*}}) : !llvm.ptr, (f32) -> i32
// CHECK: %[[HALF:.*]] = llvm.trunc %[[WORD]] : i32 to i16
// CHECK: llvm.bitcast %[[HALF]] : i16 to bf16
llvm.func @round(%x: f32, %place: i64) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %narrow = llvm.fptrunc %x : f32 to bf16
  %pointer = llvm.inttoptr %place : i64 to !llvm.ptr
  llvm.store %narrow, %pointer : bf16, !llvm.ptr
  llvm.return
}

// -----

// A mask of 32 bits or more has all bits.
// CHECK-LABEL: llvm.func @low_bits(
// CHECK: %[[WIDE:.*]] = llvm.zext %{{.*}} : i32 to i64
// CHECK: %[[COUNT:.*]] = llvm.intr.umin(%[[WIDE]], %{{.*}}) : (i64, i64) -> i64
// CHECK: llvm.shl %{{.*}}, %[[COUNT]] : i64
// CHECK: llvm.trunc %{{.*}} : i64 to i32
// CHECK-NOT: call_intrinsic
llvm.func @low_bits(%count: i32, %place: i64) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
  %zero = llvm.mlir.constant(0 : i32) : i32
  %mask = llvm.call_intrinsic "llvm.nvvm.bmsk.clamp"(%zero, %count) : (i32, i32) -> i32
  %pointer = llvm.inttoptr %place : i64 to !llvm.ptr
  llvm.store %mask, %pointer : i32, !llvm.ptr
  llvm.return
}
