// RUN: tegula-opt %s --cuda-nvvm --split-input-file --mlir-print-debuginfo | FileCheck %s

// A kernel has as many threads as the schedule says. It may use all registers that its instances have room for.
// CHECK-LABEL: llvm.func @kernel(%arg0: i64
// CHECK-SAME: attributes {nvvm.kernel, nvvm.minctasm = 3 : i32, nvvm.reqntid = array<i32: 256>}
// CHECK: llvm.icmp "slt" %{{.*}}, %{{.*}} : i64
// CHECK: llvm.cond_br
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%{{.*}}) : (f32) -> f32
// CHECK-NOT: scf.
// CHECK-NOT: unrealized_conversion_cast
// CHECK: emissionKind = DebugDirectivesOnly
module attributes {tile.block_warps = 8 : i64, tile.instances_per_sm = 3 : i64} {
  func.func @kernel(%n: i64) attributes {tile.kernel} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %zero = arith.constant 0.0 : f32
    %count = arith.index_cast %n : i64 to index
    %0 = scf.for %i = %c0 to %count step %c1 iter_args(%x = %zero) -> f32 {
      %1 = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz"(%x) : (f32) -> f32
      scf.yield %1 : f32
    }
    llvm.inline_asm has_side_effects "st.global.b32 [$0], $1;", "l,f,~{memory}" %n, %0 : (i64, f32) -> ()
    return
  }
}

// -----

// Narrow elements are packed into vectors.
// CHECK-LABEL: llvm.func @narrow_elements
// CHECK: %[[HALF:.*]] = llvm.insertelement %arg0,
// CHECK: %[[BOTH:.*]] = llvm.insertelement %arg1, %[[HALF]]
// CHECK: llvm.bitcast %[[BOTH]] : vector<2xbf16> to i32
func.func @narrow_elements(%low: bf16, %high: bf16) -> i32 {
  %0 = vector.from_elements %low, %high : vector<2xbf16>
  %1 = llvm.bitcast %0 : vector<2xbf16> to i32
  return %1 : i32
}
