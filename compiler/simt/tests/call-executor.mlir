// RUN: tegula-opt %s --call-executor --split-input-file --verify-diagnostics | FileCheck %s

// The words of the parameters are read from memory; shared memory begins at a fixed address.
// CHECK: llvm.mlir.global external constant @memory.sites("ld.global.v4.b32 kernel.cpp:7\0Ast.shared.v4.b32 kernel.cpp:8\0Ared.relaxed.gpu.global.add.f32 kernel.cpp:9\0A\00")
// CHECK-LABEL: llvm.func @memory(
// CHECK-SAME: %[[OPS:.*]]: !llvm.ptr, %[[LANE:.*]]: !llvm.ptr, %[[WORDS:.*]]: !llvm.ptr) {
// CHECK: %[[ADDRESS:.*]] = llvm.load %[[WORDS]] : !llvm.ptr -> i64
// CHECK: llvm.getelementptr %[[WORDS]][8]
// CHECK: llvm.mlir.constant(1024 : i32)
// CHECK: %[[SITE:.*]] = llvm.mlir.constant(0 : i32)
// CHECK: %[[LOAD:.*]] = llvm.load %{{.*}} : !llvm.ptr -> !llvm.ptr
// CHECK: llvm.call %[[LOAD]](%[[LANE]], %[[SITE]], %{{.*}}, %[[ADDRESS]], %{{.*}}, %{{.*}}) : !llvm.ptr, (!llvm.ptr, i32, i32, i64, i32, !llvm.ptr) -> ()
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

llvm.func @unknown(%address: i64) {
  // expected-error @+1 {{the simt target does not know this instruction}}
  llvm.inline_asm has_side_effects "prefetch.global.L2 [$0];", "l,~{memory}" %address : (i64) -> ()
  llvm.return
}
