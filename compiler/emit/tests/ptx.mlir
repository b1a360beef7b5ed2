// RUN: tegula compile %s --target cuda --emit llvm | FileCheck %s --check-prefix=LLVM
// RUN: tegula compile %s --target cuda --emit ptx | FileCheck %s --check-prefix=PTX
// RUN: tegula compile %s --target cuda --arch sm_100 --emit ptx | FileCheck %s --check-prefix=BLACKWELL

// LLVM: @tegula_shared = external addrspace(3) global [0 x i8], align 1024
// LLVM: define ptx_kernel void @product(
// LLVM: call { float, float, float, float } @llvm.nvvm.mma.m16n8k16.row.col.bf16(

// The PTX version is the oldest one that has all instructions, so that old drivers accept it.
// PTX: .version 7.8
// PTX: .target sm_80
// PTX: .extern .shared .align 1024 .b8 tegula_shared[];
// PTX: .visible .entry product(
// PTX: .param .b64 product_param_14
// PTX-NOT: .param
// PTX: .reqntid 128
// PTX: .minnctapersm 1
// BLACKWELL: .version 8.6
// BLACKWELL: .target sm_100

// Addresses in shared memory have 32 bits, and accesses have predicates.
// PTX: .loc 2 11 0
// PTX: cp.async.cg.shared.global [%r{{.*}}], [%rd{{.*}}], 16, %r
// PTX: cp.async.commit_group
// PTX: cp.async.wait_group 0
// PTX: bar.sync 0
// PTX: ldmatrix.sync.aligned.m8n8.x4.shared.b16 {{.*}}, [%r
// PTX: mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32
// PTX: @%p{{.*}} st.global.
// PTX: .file 2 "{{.*}}mine.cpp"
module attributes {tile.version = 1 : i64} {
  func.func @product(%a: !tile.view<2xbf16>, %b: !tile.view<2xbf16>, %c: !tile.view<2xf32> {tile.written}) {
    %c0 = arith.constant 0 : index
    %0 = tile.load %a[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16> loc("mine.cpp":11:0)
    %1 = tile.load %b[%c0, %c0] : !tile.view<2xbf16> -> tensor<64x64xbf16> loc("mine.cpp":12:0)
    %2 = tile.dot %0, %1 {transpose_rhs} : tensor<64x64xbf16>, tensor<64x64xbf16> -> tensor<64x64xf32> loc("mine.cpp":13:0)
    tile.store %2, %c[%c0, %c0] : tensor<64x64xf32>, !tile.view<2xf32> loc("mine.cpp":14:0)
    return
  }
}
