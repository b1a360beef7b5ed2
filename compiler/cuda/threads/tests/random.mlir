// RUN: tegula-opt %s --lower-to-threads --canonicalize --cse --split-input-file | FileCheck %s

// A thread of the accumulators has 8 elements of a block of 16 x 16, and the lane with the next row has the other 8 of
// its call. The lanes make one call each for two blocks: seven rounds with two products each, then two exchanges.
#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// CHECK-LABEL: func.func @accumulators
// CHECK-COUNT-7: arith.muli {{.*}}, %c3449720151_i64
// CHECK-NOT: %c3449720151_i64
// CHECK: nvvm.shfl.sync{{.*}} bfly
// CHECK: nvvm.shfl.sync{{.*}} bfly
// CHECK-NOT: nvvm.shfl.sync{{.*}} bfly
// CHECK: return
func.func @accumulators(%x: !tile.view<2xi32>, %seed: i64, %stream: i32) {
  %c0 = arith.constant 0 : index
  %r0 = arith.constant 0 : i32
  %r = sm.random %seed, %seed, %stream at %r0, %r0 bits 8 rounds 7 : tensor<64x32xi32, #acc>
  tile.store %r, %x[%c0, %c0] : tensor<64x32xi32, #acc>, !tile.view<2xi32>
  return
}

// -----

// Words of 32 bits: the four elements of a call lie in one thread. A block of 16 x 16 takes two calls. In the first two
// rounds, this product depends on the stream and the row alone.
#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// CHECK-LABEL: func.func @words
// CHECK-COUNT-12: arith.muli {{.*}}, %c3449720151_i64
// CHECK-NOT: %c3449720151_i64
// CHECK-NOT: nvvm.shfl.sync{{.*}} bfly
// CHECK: return
func.func @words(%x: !tile.view<2xi32>, %seed: i64, %stream: i32) {
  %c0 = arith.constant 0 : index
  %r0 = arith.constant 0 : i32
  %r = sm.random %seed, %seed, %stream at %r0, %r0 bits 32 rounds 7 : tensor<64x16xi32, #acc>
  tile.store %r, %x[%c0, %c0] : tensor<64x16xi32, #acc>, !tile.view<2xi32>
  return
}

// -----

// Bit 1 of a column comes from the register or from the warp, so each of a thread's three elements takes a call. The
// products of the first two rounds are the same.
#odd = #sm.layout<registers = [1:3:1], lanes = [0:32:1], warps = [1:2:3]>

// CHECK-LABEL: func.func @each_element
// CHECK-COUNT-17: arith.muli {{.*}}, %c3449720151_i64
// CHECK-NOT: %c3449720151_i64
// CHECK: return
func.func @each_element(%x: !tile.view<2xi32>, %seed: i64, %stream: i32) {
  %c0 = arith.constant 0 : index
  %r0 = arith.constant 0 : i32
  %r = sm.random %seed, %seed, %stream at %r0, %r0 bits 8 rounds 7 : tensor<32x6xi32, #odd>
  tile.store %r, %x[%c0, %c0] : tensor<32x6xi32, #odd>, !tile.view<2xi32>
  return
}
