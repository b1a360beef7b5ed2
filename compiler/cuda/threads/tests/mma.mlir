// RUN: tegula-opt %s --lower-to-threads --cse --split-input-file --verify-diagnostics | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The fragments of step 1 are loaded between the MMAs of step 0. A step along k flips bits of the address within a
// panel, and a step along n is a constant.
// CHECK-LABEL: func.func @fragments_are_loaded_one_step_ahead
// CHECK-COUNT-3: nvvm.ldmatrix {{.*}}<row>, num = 4
// CHECK: arith.xori %{{.*}}, %c32_i32
// CHECK: nvvm.ldmatrix
// CHECK: arith.xori %[[PLACE:.*]], %c32_i32
// CHECK: %[[B1:.*]] = arith.addi
// CHECK: nvvm.ldmatrix
// CHECK-COUNT-2: nvvm.mma.sync {{.*}}[{{.*}}16{{.*}}bf16
// CHECK-NEXT: llvm.extractvalue
// CHECK: arith.addi %[[B1]], %c2048_i32
// CHECK-NOT: arith
// CHECK: nvvm.ldmatrix
// CHECK-COUNT-6: nvvm.mma.sync
// CHECK-NOT: nvvm.mma.sync
func.func @fragments_are_loaded_one_step_ahead(%y: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<64x64xbf16, 128>
  %b = sm.alloc {offset = 8192 : i64} : !sm.shared<32x64xbf16, 128>
  %r = sm.mma %a, %b depth 32 {transpose_rhs}
    : !sm.shared<64x64xbf16, 128>, !sm.shared<32x64xbf16, 128> -> tensor<64x32xf32, #c>
  tile.store %r, %y[%c0, %c0] : tensor<64x32xf32, #c>, !tile.view<2xf32>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// An operand in registers is packed; columns from 24 on are 0. The other operand is stored with k as rows and is
// transposed.
// CHECK-LABEL: func.func @operand_in_registers(
// CHECK: vector.from_elements %[[P:.*]], %[[P]] : vector<2xbf16>
// CHECK: nvvm.ldmatrix {{.*}}<col>, num = 4
// CHECK: %[[IN:.*]] = arith.cmpi slt, %{{.*}}, %c0_i32
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : bf16
// CHECK: %[[PADDED:.*]] = arith.select %[[IN]], %[[P]], %[[ZERO]] : bf16
// CHECK: vector.from_elements %[[PADDED]]
// CHECK: nvvm.mma.sync
func.func @operand_in_registers(%y: !tile.view<2xf32>, %s: bf16) {
  %c0 = arith.constant 0 : index
  %p = tile.broadcast %s : bf16 -> tensor<64x24xbf16, #c>
  %b = sm.alloc {offset = 0 : i64} : !sm.shared<32x32xbf16, 64>
  %r = sm.mma %p, %b depth 24 : tensor<64x24xbf16, #c>, !sm.shared<32x32xbf16, 64> -> tensor<64x32xf32, #c>
  tile.store %r, %y[%c0, %c0] : tensor<64x32xf32, #c>, !tile.view<2xf32>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// CHECK-LABEL: func.func @tf32_is_rounded
// CHECK: ld.shared.b32
// CHECK: nvvm.convert.float.to.tf32
// CHECK-COUNT-2: nvvm.mma.sync {{.*}}tf32
// CHECK-NOT: nvvm.mma.sync
func.func @tf32_is_rounded(%y: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<64x16xf32, 64>
  %b = sm.alloc {offset = 4096 : i64} : !sm.shared<16x16xf32, 64>
  %r = sm.mma %a, %b depth 8 {allow_tf32} : !sm.shared<64x16xf32, 64>, !sm.shared<16x16xf32, 64> -> tensor<64x16xf32, #c>
  tile.store %r, %y[%c0, %c0] : tensor<64x16xf32, #c>, !tile.view<2xf32>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// Partial sums of 32 terms start from 0. Four steps of k are one access if k is contiguous.
// CHECK-LABEL: func.func @f32_is_exact
// CHECK: %[[ACC:.*]]:8 = scf.for %[[CHUNK:.*]] = %c0_i32 to %c64_i32 step %c32_i32 iter_args(%[[SUM:[^ ]*]] =
// CHECK: %[[END:.*]] = arith.addi %[[CHUNK]], %c32_i32
// CHECK: %[[PART:.*]]:8 = scf.for %{{.*}} = %[[CHUNK]] to %[[END]] step %c4_i32
// CHECK: ld.shared.v4.b32
// CHECK: ld.shared.v2.b32
// CHECK-COUNT-32: math.fma
// CHECK-NOT: math.fma
// CHECK: arith.addf %[[SUM]], %[[PART]]#0
// CHECK: %[[REST:.*]]:8 = scf.for %{{.*}} = %c64_i32 to %c72_i32 step %c4_i32
// CHECK: arith.addf %[[ACC]]#0, %[[REST]]#0
func.func @f32_is_exact(%y: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<64x80xf32, 64>
  %b = sm.alloc {offset = 20480 : i64} : !sm.shared<80x16xf32, 64>
  %r = sm.mma %a, %b depth 70 : !sm.shared<64x80xf32, 64>, !sm.shared<80x16xf32, 64> -> tensor<64x16xf32, #c>
  tile.store %r, %y[%c0, %c0] : tensor<64x16xf32, #c>, !tile.view<2xf32>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// CHECK-LABEL: func.func @types_are_mixed
// CHECK-NOT: nvvm.mma.sync
// CHECK: arith.extf %{{.*}} : bf16 to f32
// CHECK: math.fma
func.func @types_are_mixed(%y: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<64x16xbf16, 32>
  %b = sm.alloc {offset = 4096 : i64} : !sm.shared<16x16xf32, 64>
  %r = sm.mma %a, %b depth 16 {allow_tf32} : !sm.shared<64x16xbf16, 32>, !sm.shared<16x16xf32, 64> -> tensor<64x16xf32, #c>
  tile.store %r, %y[%c0, %c0] : tensor<64x16xf32, #c>, !tile.view<2xf32>
  return
}

// -----

#rows = #sm.layout<registers = [1:16:1], lanes = [0:32:1], warps = [0:4:32]>

func.func @layout_is_none_of_tensor_cores(%y: !tile.view<2xf32>) {
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<128x16xbf16, 32>
  %b = sm.alloc {offset = 4096 : i64} : !sm.shared<16x16xbf16, 32>
  // expected-error @below {{has a result that is not in an accumulator layout}}
  %r = sm.mma %a, %b depth 16 : !sm.shared<128x16xbf16, 32>, !sm.shared<16x16xbf16, 32> -> tensor<128x16xf32, #rows>
  return
}
