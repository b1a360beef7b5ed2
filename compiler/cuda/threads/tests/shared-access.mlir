// RUN: tegula-opt %s --lower-to-threads --cse --split-input-file --verify-diagnostics | FileCheck %s

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// 16-bit fragments are read by ldmatrix. Without stmatrix, pairs are written as 32-bit values; rows that are 8 apart
// differ by constants.
// CHECK-LABEL: func.func @fragments(
// CHECK-COUNT-2: nvvm.ldmatrix {{.*}}<row>, num = 4
// CHECK-NOT: nvvm.ldmatrix
// CHECK: llvm.inline_asm {{.*}}st.shared.b32 [$0], $1;{{.*}} %[[AT:[^,]*]], %
// CHECK: %[[AT8:.*]] = arith.addi %[[AT]], %c512_i32
// CHECK: llvm.inline_asm {{.*}}st.shared.b32 [$0], $1;{{.*}} %[[AT8]], %
// CHECK-COUNT-6: st.shared.b32
// CHECK-NOT: st.shared
func.func @fragments() {
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<64x32xbf16, 64>
  %x = sm.read %a : !sm.shared<64x32xbf16, 64> -> tensor<64x32xbf16, #c>
  sm.write %x, %a : tensor<64x32xbf16, #c>, !sm.shared<64x32xbf16, 64>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1, 0:2:8, 1:4:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// CHECK-LABEL: func.func @stmatrix(
// CHECK-COUNT-2: nvvm.stmatrix
// CHECK-NOT: st.shared
module attributes {tile.arch = 90 : i64, tile.num_warps = 4 : i64} {
  func.func @stmatrix() {
    %a = sm.alloc {offset = 0 : i64} : !sm.shared<64x32xbf16, 64>
    %x = sm.read %a : !sm.shared<64x32xbf16, 64> -> tensor<64x32xbf16, #c>
    sm.write %x, %a : tensor<64x32xbf16, #c>, !sm.shared<64x32xbf16, 64>
    return
  }
}

// -----

#v4 = #sm.layout<registers = [1:4:1, 0:4:16], lanes = [1:8:4, 0:4:1], warps = [0:4:4]>

// CHECK-LABEL: func.func @runs(
// CHECK-COUNT-4: ld.shared.v4.b32
// CHECK-NOT: ld.shared
// CHECK-COUNT-4: st.shared.v4.b32
// CHECK-NOT: st.shared
func.func @runs() {
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<64x32xf32, 128>
  %x = sm.read %a : !sm.shared<64x32xf32, 128> -> tensor<64x32xf32, #v4>
  sm.write %x, %a : tensor<64x32xf32, #v4>, !sm.shared<64x32xf32, 128>
  return
}

// -----

#row = #sm.layout<registers = [0:2:16], lanes = [1:8:1, 0:4:1], warps = [0:4:4]>

// The tile's padding is written as 0, and so is the part of the buffer beyond the layout: 8 columns of 16 rows.
// CHECK-LABEL: func.func @padding(
// CHECK: %[[READ:.*]] = llvm.inline_asm {{.*}}ld.shared.b32
// CHECK: %[[ROW:.*]] = arith.cmpi slt, %{{.*}}, %c10_i32
// CHECK: %[[PADDED:.*]] = arith.select %{{.*}}, %[[READ]], %{{.*}} : f32
// CHECK: st.shared.b32{{.*}}, %[[PADDED]]
// CHECK: llvm.inline_asm {{.*}}"@$2 st.shared.b32
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %c128_i32 step %c128_i32
// CHECK: st.shared.b32
func.func @padding() {
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<16x16xf32, 64>
  %x = sm.read %a : !sm.shared<16x16xf32, 64> -> tensor<10x5xf32, #row>
  sm.write %x, %a : tensor<10x5xf32, #row>, !sm.shared<16x16xf32, 64>
  return
}

// -----

#copies = #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [*:4]>

// One of the threads that hold replicas writes. A condition takes one byte.
// CHECK-LABEL: func.func @copies(
// CHECK: %[[LANE:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK: %[[WARP:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK: %[[WRITES:.*]] = arith.andi %[[LANE]], %[[WARP]]
// CHECK: %[[BYTE:.*]] = {{.*}}ld.shared.b8
// CHECK: @$2 st.shared.b8 {{.*}}, %[[WRITES]] :
func.func @copies() {
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<16xi1, 0>
  %x = sm.read %a : !sm.shared<16xi1, 0> -> tensor<16xi1, #copies>
  sm.write %x, %a : tensor<16xi1, #copies>, !sm.shared<16xi1, 0>
  return
}

// -----

#lines = #sm.layout<registers = [0:4:1], lanes = [0:32:4], warps = [*:4]>

// Both sides are in row-major order.
// CHECK-LABEL: func.func @reshaped(
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c4_i32
// CHECK: %[[BYTES:.*]] = arith.muli %[[FIRST]], %c4_i32
// CHECK: arith.addi %{{.*}}, %[[BYTES]]
// CHECK-NEXT: ld.shared.v4.b32
func.func @reshaped() {
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<8x16xf32, 0>
  %x = sm.read %a {reshaped} : !sm.shared<8x16xf32, 0> -> tensor<128xf32, #lines>
  return
}

// -----

#c = #sm.layout<registers = [1:2:16], lanes = [1:16:1, 0:2:1], warps = [0:4:2]>

// Columns are read one by one. Those from column 16 of the tile on may be padding, for which the last column is read.
// CHECK-LABEL: func.func @columns(
// CHECK: ld.shared.b32
// CHECK: arith.minsi
// CHECK: ld.shared.b32
// CHECK-NOT: ld.shared
func.func @columns() {
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<8x47xf32, 0>
  %x = sm.read %a from 3 step 2 : !sm.shared<8x47xf32, 0> -> tensor<8x22xf32, #c>
  return
}

// -----

#all = #sm.layout<registers = [1:2:1, 1:2:16], lanes = [1:8:2, 0:4:1], warps = [0:4:4]>
#half = #sm.layout<registers = [1:2:1], lanes = [1:8:2, 0:4:1], warps = [0:4:4]>
#even = #sm.layout<registers = [1:2:8], lanes = [1:8:1, 0:4:1], warps = [0:4:4]>

// Columns that stay in their threads cost nothing.
// CHECK-LABEL: func.func @columns_in_registers(
// CHECK: ld.shared
// CHECK: ld.shared
// CHECK-NOT: ld.shared
// CHECK-NOT: arith.select
// CHECK: st.shared
func.func @columns_in_registers() {
  %a = sm.alloc {offset = 0 : i64} : !sm.shared<16x32xf32, 128>
  %x = sm.read %a : !sm.shared<16x32xf32, 128> -> tensor<16x32xf32, #all>
  %low = tile.columns %x from 0 step 1 : tensor<16x32xf32, #all> -> tensor<16x16xf32, #half>
  %high = tile.columns %x from 16 step 1 : tensor<16x32xf32, #all> -> tensor<16x16xf32, #half>
  %turned = tile.join %high, %low : tensor<16x16xf32, #half>, tensor<16x16xf32, #half> -> tensor<16x32xf32, #all>
  %even = tile.columns %turned from 0 step 2 : tensor<16x32xf32, #all> -> tensor<16x16xf32, #even>
  %odd = tile.columns %turned from 1 step 2 : tensor<16x32xf32, #all> -> tensor<16x16xf32, #even>
  %swapped = tile.join %odd, %even {interleave} : tensor<16x16xf32, #even>, tensor<16x16xf32, #even> -> tensor<16x32xf32, #all>
  sm.write %swapped, %a : tensor<16x32xf32, #all>, !sm.shared<16x32xf32, 128>
  return
}
