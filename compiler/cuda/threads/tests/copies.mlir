// RUN: tegula-opt %s --lower-to-threads --cse --split-input-file | FileCheck %s

// Eight threads move a row of a panel, and 128 threads move 16 rows, so the swizzle is the same for all chunks of a
// thread. For a chunk outside the view, 0 of the 16 bytes are read.
// CHECK-LABEL: func.func @chunks(
// CHECK: %[[ALIGNED:.*]] = arith.cmpi eq, %{{.*}}, %c0_i64
// CHECK: %[[FRIENDLY:.*]] = arith.andi %{{.*}}, %[[ALIGNED]]
// CHECK: scf.if %[[FRIENDLY]] {
// CHECK-COUNT-1: arith.xori
// CHECK: %[[ROWS:.*]] = arith.select %{{.*}}, %{{.*}}, %c0_i32
// CHECK: %[[IN:.*]] = arith.cmpi ult, %{{.*}}, %[[ROWS]]
// CHECK: %[[BYTES:.*]] = arith.select %[[IN]], %c16_i32, %c0_i32
// CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[BYTES]]
// CHECK-NOT: arith.xori
// CHECK-COUNT-7: nvvm.cp.async
// CHECK-NOT: nvvm.cp.async
// Otherwise threads copy single elements.
// CHECK: } else {
// CHECK: scf.for %[[AT:.*]] = %[[THREAD:.*]] to %c8192_i32 step %c128_i32
// CHECK: ld.global.b16
// CHECK: st.shared.b16
func.func @chunks(%x: !tile.view<2xbf16>, %i: index) {
  %c0 = arith.constant 0 : index
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<64x128xbf16, 128>
  sm.copy_in %x[%i, %c0] [64, 128], %a : !tile.view<2xbf16>, !sm.shared<64x128xbf16, 128>
  return
}

// -----

// A thread moves more than 16 chunks in a loop.
// CHECK-LABEL: func.func @many_chunks(
// CHECK: scf.if
// CHECK: scf.for %{{.*}} = %c0_i32 to %c128_i32 step %c32_i32
// CHECK-COUNT-16: nvvm.cp.async
// CHECK-NOT: nvvm.cp.async
func.func @many_chunks(%x: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<128x256xf32, 128>
  sm.copy_in %x[%c0, %c0] [128, 256], %a : !tile.view<2xf32>, !sm.shared<128x256xf32, 128>
  return
}

// -----

// Rows of 12 bytes contain no 16-byte chunk.
// CHECK-LABEL: func.func @no_chunks(
// CHECK-NOT: scf.if
// CHECK: scf.for
// CHECK: ld.global.b32
func.func @no_chunks(%x: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<5x3xf32, 0>
  sm.copy_in %x[%c0, %c0] [5, 3], %a : !tile.view<2xf32>, !sm.shared<5x3xf32, 0>
  return
}

// -----

// Threads whose chunk would be outside the buffer copy nothing.
// CHECK-LABEL: func.func @few_chunks(
// CHECK: scf.if
// CHECK: scf.if
// CHECK: nvvm.cp.async
// CHECK-NOT: nvvm.cp.async
func.func @few_chunks(%x: !tile.view<2xbf16>) {
  %c0 = arith.constant 0 : index
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<16x16xbf16, 32>
  sm.copy_in %x[%c0, %c0] [16, 16], %a : !tile.view<2xbf16>, !sm.shared<16x16xbf16, 32>
  return
}

// -----

// Each warp copies its own rows; the lane alone selects the part of them.
// CHECK-LABEL: func.func @rows_of_warp(
// CHECK-NOT: nvvm.bar
// CHECK: ld.shared.v4.b32
// CHECK-NOT: nvvm.bar
// CHECK: return
func.func @rows_of_warp(%y: !tile.view<2xf16>, %i: index) {
  %c0 = arith.constant 0 : index
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<64x64xf16, 128>
  sm.copy_out %a, %y[%i, %c0] [64, 64] rows_of_warp 16 : !sm.shared<64x64xf16, 128>, !tile.view<2xf16>
  return
}

// -----

// CHECK-LABEL: func.func @out(
// CHECK: scf.if
// CHECK: llvm.inline_asm {{.*}}ld.shared.v4.b32
// CHECK: llvm.inline_asm {{.*}}st.global.v4.b32
// CHECK: } else {
// CHECK: llvm.inline_asm {{.*}}ld.shared.b16
// CHECK: llvm.inline_asm {{.*}}st.global.b16
func.func @out(%y: !tile.view<2xf16>, %i: index) {
  %c0 = arith.constant 0 : index
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<16x64xf16, 128>
  sm.copy_out %a, %y[%i, %c0] [16, 64] : !sm.shared<16x64xf16, 128>, !tile.view<2xf16>
  return
}
