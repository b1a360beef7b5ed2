// RUN: tegula-opt %s --lower-to-threads --cse --split-input-file --verify-diagnostics | FileCheck %s

#row = #sm.layout<registers = [], lanes = [0:32:1], warps = [*:4]>

// A tensor becomes its address, sizes and strides; a scalar is in the low bytes of a 64-bit value.
// CHECK-LABEL: func.func @arguments_are_words(
// CHECK-SAME: %arg0: i64, %arg1: i64, %arg2: i64, %[[BASE:.*]]: i64, %[[SIZE0:.*]]: i64, %{{.*}}: i64, %{{.*}}: i64, %{{.*}}: i64, %[[SCALAR:[^:]*]]: i64)
// CHECK-SAME: attributes {tile.kernel}
// CHECK: %[[BITS:.*]] = arith.trunci %[[SCALAR]] : i64 to i16
// CHECK: %[[BF16:.*]] = arith.bitcast %[[BITS]] : i16 to bf16
// CHECK: %[[ELEMENT:.*]] = arith.bitcast %[[BF16]] : bf16 to i16
// CHECK: llvm.inline_asm {{.*}}st.global.b16{{.*}} %[[ELEMENT]],
func.func @arguments_are_words(%x: !tile.view<1xf32> {tile.name = "x"}, %y: !tile.view<2xbf16>, %s: bf16) {
  %c0 = arith.constant 0 : index
  %0 = tile.slice %y[%c0] : !tile.view<2xbf16> -> !tile.view<1xbf16>
  %t = tile.broadcast %s : bf16 -> tensor<32xbf16, #row>
  tile.store %t, %0[%c0] : tensor<32xbf16, #row>, !tile.view<1xbf16>
  return
}

// -----

// Rows of m16n8 accumulators: four lanes hold a row, and the first of them writes it.
#rows = #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16]>

// CHECK-LABEL: func.func @one_thread_stores_each_element
// CHECK: %[[LANE:.*]] = arith.andi
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync
// CHECK: %[[COPY:.*]] = arith.remui %[[LANE]], %c4_i32
// CHECK: %[[WRITES:.*]] = arith.cmpi eq, %[[COPY]], %c0_i32
// CHECK: %[[ROW:.*]] = arith.divui %[[LANE]], %c4_i32
// CHECK: %[[WARPROW:.*]] = arith.muli %[[WARP]], %c16_i32
// CHECK: %[[ORIGIN:.*]] = arith.addi %[[ROW]], %[[WARPROW]]
// CHECK: %[[STRIDE:.*]] = arith.muli %{{.*}}, %c4_i64
// CHECK: %[[AT:.*]] = arith.extsi %[[ORIGIN]] : i32 to i64
// CHECK: arith.muli %[[AT]], %[[STRIDE]]
// CHECK: %[[INSIDE:.*]] = arith.cmpi sgt, %{{.*}}, %c0_i32
// CHECK: %[[FIRST:.*]] = arith.andi %[[INSIDE]], %[[WRITES]]
// CHECK: llvm.inline_asm {{.*}}st.global.b32{{.*}}, %[[FIRST]] :
// CHECK: %[[INSIDE8:.*]] = arith.cmpi sgt, %{{.*}}, %c8_i32
// CHECK: %[[SECOND:.*]] = arith.andi %[[INSIDE8]], %[[WRITES]]
// CHECK: llvm.inline_asm {{.*}}st.global.b32{{.*}}, %[[SECOND]] :
// CHECK-NOT: inline_asm
func.func @one_thread_stores_each_element(%y: !tile.view<1xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<64xf32, #rows>
  tile.store %one, %y[%c0] : tensor<64xf32, #rows>, !tile.view<1xf32>
  return
}

// -----

#rows = #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16]>

// In a program with roles, the coordinates for stores are computed again from the lane.
module attributes {tile.roles = "load"} {
// CHECK-LABEL: func.func @fed_warps_compute_places_anew
// CHECK: %[[LANE_AT_ENTRY:.*]] = arith.andi
// CHECK: %[[LANE:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[LANE_AT_ENTRY]], %c0_i32
// CHECK: %[[COPY:.*]] = arith.remui %[[LANE]], %c4_i32
// CHECK: %[[WRITES:.*]] = arith.cmpi eq, %[[COPY]], %c0_i32
// CHECK: %[[ROW:.*]] = arith.divui %[[LANE]], %c4_i32
// CHECK: arith.addi %[[ROW]],
// CHECK: arith.andi %{{.*}}, %[[WRITES]]
func.func @fed_warps_compute_places_anew(%y: !tile.view<1xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<64xf32, #rows>
  tile.store %one, %y[%c0] : tensor<64xf32, #rows>, !tile.view<1xf32>
  return
}
}

// -----

#row = #sm.layout<registers = [0:2:32], lanes = [0:32:1], warps = [*:4]>

// A position may be negative. There is then a lower bound, too, and both bounds are clamped to the tile before they
// become 32-bit values. A tile that is inside the view needs no bounds, except in lanes that hold padding.
// CHECK-LABEL: func.func @loads_are_bounded_on_both_sides
// CHECK: "ld.global.b32
// CHECK: "@{{.*}} ld.global.b32
// CHECK: } else {
// CHECK: %[[FILL:.*]] = arith.constant 1.000000e+00 : f32
// CHECK: %[[MINUS:.*]] = arith.subi %c0, %[[P:.*]] : index
// CHECK: %[[LOW:.*]] = arith.maxsi %[[MINUS]], %c0
// CHECK: arith.minsi %[[LOW]], %c50
// CHECK: %[[LEFT:.*]] = arith.subi %{{.*}}, %[[P]] : index
// CHECK: %[[HIGH:.*]] = arith.maxsi %[[LEFT]], %c0
// CHECK: arith.minsi %[[HIGH]], %c50
// CHECK: arith.cmpi sgt
// CHECK: arith.cmpi sle
// CHECK: %[[BOTH:.*]] = arith.andi
// CHECK: llvm.inline_asm {{.*}}ld.global.b32{{.*}}, %[[BOTH]], %[[FILL]] :
// CHECK: llvm.inline_asm {{.*}}ld.global.b32
func.func @loads_are_bounded_on_both_sides(%x: !tile.view<1xf32>, %p: index) {
  %a = tile.load %x[%p] {fill = 1.0 : f32} : !tile.view<1xf32> -> tensor<50xf32, #row>
  return
}

// -----

#row = #sm.layout<registers = [0:2:32], lanes = [0:32:1], warps = [*:4]>

// CHECK-LABEL: func.func @a_slice_out_of_range_is_empty
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[I:.*]], %
// CHECK: %[[OFFSET:.*]] = arith.muli %[[I]], %
// CHECK: %[[OFFSET64:.*]] = arith.index_cast %[[OFFSET]] : index to i64
// CHECK: %[[BYTES:.*]] = arith.muli %[[OFFSET64]], %c2_i64
// CHECK: arith.addi %arg0, %[[BYTES]]
// CHECK: arith.select %[[INSIDE]], %{{.*}}, %c0 : index
func.func @a_slice_out_of_range_is_empty(%x: !tile.view<2xbf16>, %i: index) {
  %c0 = arith.constant 0 : index
  %row = tile.slice %x[%i] : !tile.view<2xbf16> -> !tile.view<1xbf16>
  %a = tile.load %row[%c0] : !tile.view<1xbf16> -> tensor<64xbf16, #row>
  return
}

// -----

#acc = #sm.layout<registers = [1:2:1, 0:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// A tile that is completely inside the view needs no predicates. Pairs of registers are added at once if memory is
// contiguous, too.
module attributes {tile.arch = 90 : i64} {
// CHECK-LABEL: func.func @additions_in_pairs
// CHECK: arith.cmpi sge, %[[I:.*]], %c0 : index
// CHECK: %[[END:.*]] = arith.addi %[[I]], %c64 : index
// CHECK: arith.cmpi sle, %[[END]], %
// CHECK: %[[UNIT:.*]] = arith.cmpi eq, %{{.*}}, %c1 : index
// CHECK: %[[CONTIGUOUS:.*]] = arith.andi %[[UNIT]]
// CHECK: %[[PAIRS:.*]] = arith.andi %{{.*}}, %[[CONTIGUOUS]]
// CHECK: scf.if %[[PAIRS]] {
// CHECK-COUNT-2: "red.relaxed.gpu.global.add.v2.f32
// CHECK: } else {
// CHECK-COUNT-4: "@{{.*}} red.relaxed.gpu.global.add.f32
func.func @additions_in_pairs(%x: !tile.view<2xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<64x8xf32, #acc>
  tile.atomic_add %one, %x[%i, %c0] : tensor<64x8xf32, #acc>, !tile.view<2xf32>
  return
}
}

// -----

#acc = #sm.layout<registers = [1:2:1, 0:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The last column of an odd number has no neighbour in the tile.
module attributes {tile.arch = 90 : i64} {
// CHECK-LABEL: func.func @additions_of_odd_rows
// CHECK-NOT: red.relaxed.gpu.global.add.v2.f32
func.func @additions_of_odd_rows(%x: !tile.view<2xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<64x7xf32, #acc>
  tile.atomic_add %one, %x[%i, %c0] : tensor<64x7xf32, #acc>, !tile.view<2xf32>
  return
}
}

// -----

#acc = #sm.layout<registers = [1:2:1, 0:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// CHECK-LABEL: func.func @additions_before_sm_90
// CHECK: scf.if
// CHECK-COUNT-4: "red.relaxed.gpu.global.add.f32
// CHECK: } else {
// CHECK-COUNT-4: "@{{.*}} red.relaxed.gpu.global.add.f32
func.func @additions_before_sm_90(%x: !tile.view<2xf32>, %i: index) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<64x8xf32, #acc>
  tile.atomic_add %one, %x[%i, %c0] : tensor<64x8xf32, #acc>, !tile.view<2xf32>
  return
}

// -----

#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// Two neighbours of 16 bits are loaded at once if the whole tile is inside the view and 4-byte accesses are legal. They
// leave the branch as one 32-bit value. The tile's first column matters for legality, too.
// CHECK-LABEL: func.func @loads_in_pairs
// CHECK: %[[WORDS:.*]]:4 = scf.if
// CHECK-COUNT-4: ld.global.b32
// CHECK-NOT: ld.global
// CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : i32, i32, i32, i32
// CHECK: } else {
// CHECK-COUNT-8: ld.global.b16
// CHECK: scf.yield %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : i32, i32, i32, i32
// CHECK: }
// CHECK-COUNT-8: st.global.b16
func.func @loads_in_pairs(%x: !tile.view<2xbf16>, %i: index) {
  %a = tile.load %x[%i, %i] : !tile.view<2xbf16> -> tensor<64x16xbf16, #acc>
  tile.store %a, %x[%i, %i] : tensor<64x16xbf16, #acc>, !tile.view<2xbf16>
  return
}

// -----

#vectors = #sm.layout<registers = [0:4:1], lanes = [0:32:4], warps = [*:4]>

// Four neighbours of a thread are one access of 16 bytes, if all of them are inside the tensor or all outside.
// CHECK-LABEL: func.func @vectors
// CHECK: ld.global.v4.b32
// CHECK-COUNT-4: ld.global.b32
// CHECK: st.global.v4.b32
// CHECK-COUNT-4: st.global.b32
func.func @vectors(%x: !tile.view<1xf32>, %y: !tile.view<1xf32>) {
  %c0 = arith.constant 0 : index
  %0 = tile.load %x[%c0] : !tile.view<1xf32> -> tensor<128xf32, #vectors>
  tile.store %0, %y[%c0] : tensor<128xf32, #vectors>, !tile.view<1xf32>
  return
}

// -----

#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// In a row of 15 elements, the last column has no neighbour.
// CHECK-LABEL: func.func @loads_without_pairs
// CHECK-NOT: ld.global.b32
// CHECK: ld.global.b16
func.func @loads_without_pairs(%x: !tile.view<2xbf16>, %i: index) {
  %a = tile.load %x[%i, %i] : !tile.view<2xbf16> -> tensor<64x15xbf16, #acc>
  return
}

// -----

#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// CHECK-LABEL: func.func @tiles_of_16_bits_leave_branches_in_words
// CHECK: scf.if %{{.*}} -> (i32, i32, i32, i32)
func.func @tiles_of_16_bits_leave_branches_in_words(%c: i1) {
  %one = arith.constant dense<1.0> : tensor<64x16xf16, #acc>
  %two = arith.constant dense<2.0> : tensor<64x16xf16, #acc>
  %a = scf.if %c -> tensor<64x16xf16, #acc> {
    scf.yield %one : tensor<64x16xf16, #acc>
  } else {
    scf.yield %two : tensor<64x16xf16, #acc>
  }
  return
}

// -----

#row = #sm.layout<registers = [0:2:32], lanes = [0:32:1], warps = [*:4]>

// Indices are compared as unsigned numbers. Padding, here from element 50 on, is not added, and neither are replicas.
// CHECK-LABEL: func.func @single_elements
// CHECK: arith.cmpi ult, %{{.*}} : i32
// CHECK: ld.global.b32
// CHECK: ld.global.b32
// CHECK: red.relaxed.gpu.global.add.f32
// CHECK: arith.cmpi slt, %{{.*}}, %c18_i32
// CHECK: red.relaxed.gpu.global.add.f32
func.func @single_elements(%x: !tile.view<1xf32>, %y: !tile.view<1xf32>) {
  %i = tile.iota : tensor<50xi32, #row>
  %a = tile.gather %x[%i] : !tile.view<1xf32>, tensor<50xi32, #row> -> tensor<50xf32, #row>
  tile.scatter_add %a, %y[%i] : tensor<50xf32, #row>, !tile.view<1xf32>, tensor<50xi32, #row>
  return
}

// -----

#row = #sm.layout<registers = [0:2:32], lanes = [0:32:1], warps = [*:4]>

// CHECK-LABEL: func.func @scattered_elements
// CHECK: arith.cmpi ult, %{{.*}} : i32
// CHECK: st.global.b8
// CHECK: arith.cmpi slt, %{{.*}}, %c18_i32
// CHECK: st.global.b8
func.func @scattered_elements(%y: !tile.view<1xi8>) {
  %x = arith.constant dense<1> : tensor<50xi8, #row>
  %i = tile.iota : tensor<50xi32, #row>
  tile.scatter %x, %y[%i] : tensor<50xi8, #row>, !tile.view<1xi8>, tensor<50xi32, #row>
  return
}

// -----

#rows = #sm.layout<registers = [1:4:1], lanes = [1:4:4, 0:8:1], warps = [0:4:8]>
#column = #sm.layout<registers = [], lanes = [*:4, 0:8:1], warps = [0:4:8]>

// Neighbours in a row share a condition of the row, so they are still written together.
// CHECK-LABEL: func.func @stores_of_whole_rows
// CHECK: scf.if
// CHECK: st.global.v4.b32
// CHECK: } else {
// CHECK-COUNT-4: st.global.b32
func.func @stores_of_whole_rows(%y: !tile.view<2xf32>, %row: index) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant dense<5> : tensor<32x1xi32, #column>
  %x = arith.constant dense<1.0> : tensor<32x16xf32, #rows>
  %i = tile.iota : tensor<32xi32, #sm.layout<registers = [], lanes = [*:4, 0:8:1], warps = [0:4:8]>>
  %j = tile.reshape %i : tensor<32xi32, #sm.layout<registers = [], lanes = [*:4, 0:8:1], warps = [0:4:8]>> -> tensor<32x1xi32, #column>
  %low = arith.cmpi slt, %j, %c5 : tensor<32x1xi32, #column>
  %where = tile.broadcast %low : tensor<32x1xi1, #column> -> tensor<32x16xi1, #rows>
  tile.store %x, %y[%row, %c0] where %where : tensor<32x16xf32, #rows>, !tile.view<2xf32>, tensor<32x16xi1, #rows>
  return
}

// -----

#rows = #sm.layout<registers = [1:4:1], lanes = [1:4:4, 0:8:1], warps = [0:4:8]>
#line = #sm.layout<registers = [1:4:1], lanes = [1:4:4, *:8], warps = [*:4]>

// Neighbours with conditions of their own are written one by one.
// CHECK-LABEL: func.func @stores_of_single_elements
// CHECK-NOT: st.global.v4
// CHECK-COUNT-4: st.global.b32
// CHECK-NOT: st.global
func.func @stores_of_single_elements(%y: !tile.view<2xf32>, %row: index) {
  %c0 = arith.constant 0 : index
  %c5 = arith.constant dense<5> : tensor<1x16xi32, #line>
  %x = arith.constant dense<1.0> : tensor<32x16xf32, #rows>
  %i = tile.iota : tensor<16xi32, #sm.layout<registers = [0:4:1], lanes = [0:4:4, *:8], warps = [*:4]>>
  %j = tile.reshape %i : tensor<16xi32, #sm.layout<registers = [0:4:1], lanes = [0:4:4, *:8], warps = [*:4]>> -> tensor<1x16xi32, #line>
  %low = arith.cmpi slt, %j, %c5 : tensor<1x16xi32, #line>
  %where = tile.broadcast %low : tensor<1x16xi1, #line> -> tensor<32x16xi1, #rows>
  tile.store %x, %y[%row, %c0] where %where : tensor<32x16xf32, #rows>, !tile.view<2xf32>, tensor<32x16xi1, #rows>
  return
}

// -----

#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#rows = #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16]>

// The reduction combines four values in a thread, then four lanes. Columns from 15 on are padding.
// CHECK-LABEL: func.func @rows_within_a_warp
// CHECK: } else {
// CHECK: scf.yield
// CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %c6_i32
// CHECK: %[[NONE:.*]] = arith.constant 0xFF800000 : f32
// CHECK: arith.select %[[INSIDE]], %{{.*}}, %[[NONE]] : f32
// CHECK-COUNT-6: arith.maxnumf
// CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c1_i32
// CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c1_i32
// CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c2_i32
// CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c2_i32
// CHECK-NOT: nvvm.shfl
// CHECK-NOT: barrier
func.func @rows_within_a_warp(%x: !tile.view<2xf32>, %y: !tile.view<1xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<64x15xf32, #acc>
  %m = tile.reduce max %a axis 1 : tensor<64x15xf32, #acc> -> tensor<64xf32, #rows>
  tile.store %m, %y[%c0] : tensor<64xf32, #rows>, !tile.view<1xf32>
  return
}

// -----

#acc = #sm.layout<registers = [], lanes = [1:32:1], warps = [0:2:1, 1:2:32]>
#columns = #sm.layout<registers = [], lanes = [0:32:1], warps = [*:2, 0:2:32]>

// Warps 0 and 1 hold the two rows of columns 0 to 31. They exchange their sums in scratch memory after the planned
// shared memory.
// CHECK: module attributes {tile.block_warps = 4 : i64, tile.num_warps = 4 : i64, tile.shared_bytes = 1536 : i64}
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 1024 : i64} {
// CHECK-LABEL: func.func @columns_between_warps
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync  idx
// CHECK: %[[DIGIT:.*]] = arith.remui %[[WARP]], %c2_i32
// CHECK: st.shared.b32
// CHECK: nvvm.barrier
// CHECK: arith.subi %[[WARP]], %[[DIGIT]]
// CHECK: %[[X:.*]] = llvm.inline_asm {{.*}}ld.shared.b32
// CHECK: %[[Y:.*]] = llvm.inline_asm {{.*}}ld.shared.b32
// CHECK: arith.addi %[[X]], %[[Y]] : i32
// CHECK: nvvm.barrier
func.func @columns_between_warps(%x: !tile.view<1xi32>) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<1> : tensor<2x64xi32, #acc>
  %s = tile.reduce add %a axis 0 : tensor<2x64xi32, #acc> -> tensor<64xi32, #columns>
  tile.store %s, %x[%c0] : tensor<64xi32, #columns>, !tile.view<1xi32>
  return
}
}

// -----

#parts = #sm.layout<registers = [0:2:8], lanes = [1:4:1, 0:8:1], warps = [0:4:16]>
#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// A warp may vote for itself on a branch that reads what others have written to shared memory, also if something else
// makes all warps take the branch, and on a select.
// CHECK-LABEL: func.func @own_reads
// CHECK: %[[ANY:.*]] = nvvm.vote.sync any
// CHECK: %[[TAKEN:.*]] = arith.ori %[[ANY]],
// CHECK: arith.select %[[ANY]],
// CHECK: scf.if %[[TAKEN]]
// CHECK: ldmatrix
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 8192 : i64} {
  func.func @own_reads(%s: !tile.view<2xf32>, %y: !tile.view<2xbf16>, %always: i1) {
    %c0 = arith.constant 0 : index
    %b = sm.alloc {offset = 0 : i64} : !sm.shared<64x16xbf16, 32>
    %a = tile.load %s[%c0, %c0] : !tile.view<2xf32> -> tensor<64x16xf32, #acc>
    %zero = arith.constant dense<0.0> : tensor<64x4xf32, #parts>
    %none = arith.constant dense<0.0> : tensor<64x16xbf16, #acc>
    %p = sm.partial_reduce max %a axis 1 : tensor<64x16xf32, #acc> -> tensor<64x4xf32, #parts>
    %positive = arith.cmpf ogt, %p, %zero : tensor<64x4xf32, #parts>
    %any = tile.any %positive : tensor<64x4xi1, #parts>
    %taken = arith.ori %any, %always : i1
    %largest = arith.select %any, %p, %zero : tensor<64x4xf32, #parts>
    %r = scf.if %taken -> tensor<64x16xbf16, #acc> {
      %read = sm.read %b : !sm.shared<64x16xbf16, 32> -> tensor<64x16xbf16, #acc>
      scf.yield %read : tensor<64x16xbf16, #acc>
    } else {
      scf.yield %none : tensor<64x16xbf16, #acc>
    }
    tile.store %r, %y[%c0, %c0] : tensor<64x16xbf16, #acc>, !tile.view<2xbf16>
    tile.store %largest, %s[%c0, %c0] : tensor<64x4xf32, #parts>, !tile.view<2xf32>
    return
  }
}

// -----

#parts = #sm.layout<registers = [0:2:8], lanes = [1:4:1, 0:8:1], warps = [0:4:16]>
#acc = #sm.layout<registers = [1:2:1, 0:2:8, 1:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#between = #sm.layout<registers = [], lanes = [1:32:1], warps = [0:4:1]>
#columns = #sm.layout<registers = [], lanes = [0:32:1], warps = [*:4]>
#number = #sm.layout<registers = [], lanes = [*:32], warps = [*:4]>

// Each thread reduces its own elements, and each warp votes for itself.
// CHECK-LABEL: func.func @parts
// CHECK-NOT: nvvm.shfl.sync bfly
// CHECK-COUNT-6: arith.maxnumf
// CHECK: %[[FIRST:.*]] = arith.cmpf ogt
// CHECK: %[[SECOND:.*]] = arith.cmpf ogt
// CHECK: %[[EITHER:.*]] = arith.ori %[[FIRST]], %[[SECOND]]
// CHECK: %[[ANY:.*]] = nvvm.vote.sync any{{.*}}%[[EITHER]]
// CHECK: scf.if %[[ANY]]
func.func @parts(%s: !tile.view<2xf32>, %y: !tile.view<1xi32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %s[%c0, %c0] : !tile.view<2xf32> -> tensor<64x16xf32, #acc>
  %zero = arith.constant dense<0.0> : tensor<64x4xf32, #parts>
  %p = sm.partial_reduce max %a axis 1 : tensor<64x16xf32, #acc> -> tensor<64x4xf32, #parts>
  %positive = arith.cmpf ogt, %p, %zero : tensor<64x4xf32, #parts>
  %any = tile.any %positive : tensor<64x4xi1, #parts>
  %one = arith.constant 1 : i32
  %none = arith.constant 0 : i32
  %r = scf.if %any -> i32 {
    scf.yield %one : i32
  } else {
    scf.yield %none : i32
  }
  %tile = tile.broadcast %r : i32 -> tensor<32xi32, #columns>
  tile.store %tile, %y[%c0] : tensor<32xi32, #columns>, !tile.view<1xi32>
  return
}

// All warps vote alike on a single element that all of them hold, so they may combine values in the branch.
// CHECK-LABEL: func.func @one_number
// CHECK: %[[ANY:.*]] = nvvm.vote.sync any
// CHECK: scf.if %[[ANY]]
// CHECK: nvvm.barrier
func.func @one_number(%x: !tile.view<1xi32>, %n: i32) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<1> : tensor<4x32xi32, #between>
  %given = tile.broadcast %n : i32 -> tensor<1xi32, #number>
  %none = arith.constant dense<0> : tensor<1xi32, #number>
  %positive = arith.cmpi sgt, %given, %none : tensor<1xi32, #number>
  %zero = arith.constant dense<0> : tensor<32xi32, #columns>
  %any = tile.any %positive : tensor<1xi1, #number>
  %r = scf.if %any -> tensor<32xi32, #columns> {
    %s = tile.reduce add %a axis 0 : tensor<4x32xi32, #between> -> tensor<32xi32, #columns>
    scf.yield %s : tensor<32xi32, #columns>
  } else {
    scf.yield %zero : tensor<32xi32, #columns>
  }
  tile.store %r, %x[%c0] : tensor<32xi32, #columns>, !tile.view<1xi32>
  return
}

// If warps combine values in the branch, all of them must take it.
// CHECK-LABEL: func.func @all_warps
// CHECK-NOT: vote
// CHECK: scf.if %true
// CHECK: nvvm.barrier
func.func @all_warps(%x: !tile.view<1xi32>) {
  %c0 = arith.constant 0 : index
  %a = arith.constant dense<1> : tensor<4x32xi32, #between>
  %yes = arith.constant dense<true> : tensor<32xi1, #columns>
  %zero = arith.constant dense<0> : tensor<32xi32, #columns>
  %any = tile.any %yes : tensor<32xi1, #columns>
  %r = scf.if %any -> tensor<32xi32, #columns> {
    %s = tile.reduce add %a axis 0 : tensor<4x32xi32, #between> -> tensor<32xi32, #columns>
    scf.yield %s : tensor<32xi32, #columns>
  } else {
    scf.yield %zero : tensor<32xi32, #columns>
  }
  tile.store %r, %x[%c0] : tensor<32xi32, #columns>, !tile.view<1xi32>
  return
}

// -----

#acc = #sm.layout<registers = [1:2:1, 0:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>
#column = #sm.layout<registers = [0:2:8], lanes = [*:4, 0:8:1], warps = [0:4:16]>
#turned = #sm.layout<registers = [0:2:1, 1:2:8], lanes = [0:4:2, 1:8:1], warps = [1:4:16]>

// CHECK-LABEL: func.func @changes_of_shape_rename_registers
// CHECK: %[[ROWS:.*]]:2 = scf.if
// CHECK: st.global{{.*}} %[[ROWS]]#0,
// CHECK: st.global{{.*}} %[[ROWS]]#0,
// CHECK: st.global{{.*}} %[[ROWS]]#1,
// CHECK: st.global{{.*}} %[[ROWS]]#1,
func.func @changes_of_shape_rename_registers(%x: !tile.view<1xf32>, %y: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] : !tile.view<1xf32> -> tensor<64xf32, #column>
  %b = tile.reshape %a : tensor<64xf32, #column> -> tensor<64x1xf32, #column>
  %c = tile.broadcast %b : tensor<64x1xf32, #column> -> tensor<64x8xf32, #acc>
  %d = tile.transpose %c [1, 0] : tensor<64x8xf32, #acc> -> tensor<8x64xf32, #turned>
  tile.store %d, %y[%c0, %c0] : tensor<8x64xf32, #turned>, !tile.view<2xf32>
  return
}

// -----

#row = #sm.layout<registers = [0:2:32], lanes = [0:32:1], warps = [*:4]>

// CHECK-LABEL: func.func @tiles_are_carried_register_by_register
// CHECK: %[[LOOP:.*]]:3 = scf.for {{.*}} iter_args(%[[A:.*]] = %{{.*}}, %[[B:.*]] = %{{.*}}, %[[N:.*]] = %{{.*}}) -> (f32, f32, i32) {
// CHECK: %[[IF:.*]]:2 = scf.if %{{.*}} -> (f32, f32) {
// CHECK: arith.addf %[[A]], %[[A]]
// CHECK: arith.addf %[[B]], %[[B]]
// CHECK: } else {
// CHECK: scf.yield %[[A]], %[[B]] : f32, f32
// CHECK: scf.yield %[[IF]]#0, %[[IF]]#1, %[[N]] : f32, f32, i32
// CHECK: st.global{{.*}} %[[LOOP]]#0,
func.func @tiles_are_carried_register_by_register(%x: !tile.view<1xf32>, %n: index, %c: i1, %k: i32) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %init = arith.constant dense<1.0> : tensor<64xf32, #row>
  %r:2 = scf.for %i = %c0 to %n step %c1 iter_args(%a = %init, %m = %k) -> (tensor<64xf32, #row>, i32) {
    %b = scf.if %c -> tensor<64xf32, #row> {
      %twice = arith.addf %a, %a : tensor<64xf32, #row>
      scf.yield %twice : tensor<64xf32, #row>
    } else {
      scf.yield %a : tensor<64xf32, #row>
    }
    scf.yield %b, %m : tensor<64xf32, #row>, i32
  }
  tile.store %r#0, %x[%c0] : tensor<64xf32, #row>, !tile.view<1xf32>
  return
}

// -----

#row = #sm.layout<registers = [], lanes = [0:32:1], warps = [*:4]>

// 16-bit floats are computed in f32, and each op rounds its result. No library call is left.
// CHECK-LABEL: func.func @arithmetic
// CHECK: %[[VALUE:.*]] = scf.if
// CHECK: ld.global.b16
// CHECK: %[[WIDE:.*]] = arith.extf %[[VALUE]] : bf16 to f32
// CHECK: %[[SUM:.*]] = arith.addf %[[WIDE]], %[[WIDE]] fastmath<contract> : f32
// CHECK: %[[ROUNDED:.*]] = arith.truncf %[[SUM]] : f32 to bf16
// CHECK: arith.cmpf olt
// CHECK: arith.select %{{.*}}, %[[VALUE]], %[[ROUNDED]] : bf16
// CHECK: llvm.nvvm.ex2.approx.ftz
// CHECK: llvm.nvvm.lg2.approx.ftz
// CHECK: math.sqrt {{.*}} : f32
// CHECK: llvm.nvvm.rcp.approx.ftz.f
// CHECK: math.copysign
// CHECK: llvm.nvvm.div.full
// CHECK: llvm.nvvm.rcp.approx.ftz.f
// CHECK-NOT: math.{{exp|log|tanh}}
// CHECK-NOT: arith.divf
func.func @arithmetic(%x: !tile.view<1xbf16>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] : !tile.view<1xbf16> -> tensor<32xbf16, #row>
  %b = arith.addf %a, %a fastmath<contract> : tensor<32xbf16, #row>
  %c = arith.cmpf olt, %a, %b : tensor<32xbf16, #row>
  %d = arith.select %c, %a, %b : tensor<32xi1, #row>, tensor<32xbf16, #row>
  %e = math.exp %d : tensor<32xbf16, #row>
  %f = math.log %e : tensor<32xbf16, #row>
  %g = math.sqrt %f : tensor<32xbf16, #row>
  %h = math.tanh %g : tensor<32xbf16, #row>
  %i = arith.divf %a, %h : tensor<32xbf16, #row>
  %one = arith.constant dense<1.0> : tensor<32xf32, #row>
  %j = arith.extf %i : tensor<32xbf16, #row> to tensor<32xf32, #row>
  %k = arith.divf %one, %j : tensor<32xf32, #row>
  %l = arith.truncf %k : tensor<32xf32, #row> to tensor<32xbf16, #row>
  tile.store %l, %x[%c0] : tensor<32xbf16, #row>, !tile.view<1xbf16>
  return
}

// -----

// CHECK-LABEL: func.func @shared_memory
// CHECK: %[[BASE:.*]] = llvm.ptrtoint
// CHECK: nvvm.cp.async.commit.group
// CHECK-NOT: nvvm.cp.async.commit.group
// CHECK: nvvm.cp.async.wait.group 1
// CHECK: nvvm.cp.async.wait.group 0
// CHECK: nvvm.barrier
func.func @shared_memory(%i: i32, %n: index) {
  %ring = sm.alloc {offset = 2048 : i64} : !sm.shared<2x32x64xbf16, 128>
  %slot = sm.slot %ring[%i] : !sm.shared<2x32x64xbf16, 128> -> !sm.shared<32x64xbf16, 128>
  %open = sm.commit joins_next
  %first = sm.commit
  sm.wait %open, %first pending 1
  sm.wait %first
  sm.barrier
  return
}

// -----

#row = #sm.layout<registers = [], lanes = [0:32:1], warps = [*:4]>

// CHECK-LABEL: func.func @functions_of_all_targets
// CHECK-NOT: math.{{erf|sin|cos|powf}}
// CHECK-COUNT-4: math.fma {{.*}} : f32
// CHECK-NOT: math.{{erf|sin|cos|powf}}
// CHECK: return
func.func @functions_of_all_targets(%x: !tile.view<1xbf16>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] : !tile.view<1xbf16> -> tensor<32xbf16, #row>
  %b = math.erf %a : tensor<32xbf16, #row>
  %c = math.sin %b : tensor<32xbf16, #row>
  %d = math.cos %c : tensor<32xbf16, #row>
  %e = math.powf %d, %a : tensor<32xbf16, #row>
  tile.store %e, %x[%c0] : tensor<32xbf16, #row>, !tile.view<1xbf16>
  return
}

// -----

#row = #sm.layout<registers = [], lanes = [0:32:1], warps = [*:4]>

func.func @a_library_function(%x: !tile.view<1xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] : !tile.view<1xf32> -> tensor<32xf32, #row>
  // expected-error @below {{the cuda target cannot lower this op}}
  %b = math.atan %a : tensor<32xf32, #row>
  return
}

// -----

module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 8192 : i64} {
  func.func @rows_that_no_warp_has(%y: !tile.view<2xbf16>) {
    %c0 = arith.constant 0 : index
    %a = sm.alloc {offset = 0 : i64} : !sm.shared<64x64xbf16, 128>
    // expected-error @below {{has rows_of_warp 32, but 4 warps share 64 rows}}
    sm.copy_out %a, %y[%c0, %c0] [64, 64] rows_of_warp 32 : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
    return
  }
}

// -----

module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 8192 : i64} {
  func.func @rows_that_no_warp_fills(%y: !tile.view<2xbf16>) {
    %c0 = arith.constant 0 : index
    %a = sm.alloc {offset = 0 : i64} : !sm.shared<64x64xbf16, 128>
    // expected-error @below {{has rows_of_warp 8, but 4 warps share 64 rows}}
    sm.fallback_copy %a, %y[%c0, %c0] [64, 64] rows_of_warp 8 : !sm.shared<64x64xbf16, 128>, !tile.view<2xbf16>
    return
  }
}

// -----

module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 8192 : i64} {
  func.func @a_fill_of_a_vector(%y: !tile.view<1xbf16>) {
    %c0 = arith.constant 0 : index
    %a = sm.alloc {offset = 0 : i64} : !sm.shared<64x64xbf16, 128>
    // expected-error @below {{fills only matrices}}
    sm.fallback_copy %a, %y[%c0] [64] rows_of_warp 16 : !sm.shared<64x64xbf16, 128>, !tile.view<1xbf16>
    return
  }
}

// -----

#c = #sm.layout<registers = [1:2:1], lanes = [1:4:2, 0:8:1], warps = [0:4:8]>

// One conversion for the thread's first element, then one addition for each element.
// CHECK-LABEL: func.func @linear
// CHECK: %[[PLACE:.*]] = arith.sitofp %{{.*}} : i32 to f32
// CHECK: %[[FIRST:.*]] = arith.addf %{{.*}}, %[[PLACE]] : f32
// CHECK-NOT: arith.sitofp
// CHECK: arith.addf %[[FIRST]], %cst
// CHECK: %[[MINUS_ONE:.*]] = arith.constant -1.000000e+00 : f32
// CHECK: arith.addf %[[FIRST]], %[[MINUS_ONE]]
func.func @linear(%first: f32, %y: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %x = sm.linear %first [1, -1] : tensor<32x8xf32, #c>
  tile.store %x, %y[%c0, %c0] : tensor<32x8xf32, #c>, !tile.view<2xf32>
  return
}

// -----

#c = #sm.layout<registers = [1:2:1], lanes = [1:4:2, 0:8:1], warps = [0:4:8]>

// For integers, the thread's coordinates are computed again from the lane, so that nothing stays in registers for code
// that runs rarely.
// CHECK-LABEL: func.func @integers
// CHECK: nvvm.shfl.sync bfly
// CHECK: %[[FIRST:.*]] = arith.addi %{{.*}}, %{{.*}} overflow<nsw> : i32
// CHECK: arith.addi %[[FIRST]], %c0_i32{{.*}} overflow<nsw> : i32
// CHECK: arith.addi %[[FIRST]], %c-1_i32{{.*}} overflow<nsw> : i32
func.func @integers(%first: i32, %y: !tile.view<2xi32>) {
  %c0 = arith.constant 0 : index
  %x = sm.linear %first [1, -1] : tensor<32x8xi32, #c>
  tile.store %x, %y[%c0, %c0] : tensor<32x8xi32, #c>, !tile.view<2xi32>
  return
}

// -----

#acc = #sm.layout<registers = [1:2:1, 0:2:8], lanes = [1:4:2, 0:8:1], warps = [0:4:16]>

// The first thread waits for the turn, and passes it on when all threads have added. A place outside the counters has
// no counter.
// CHECK-LABEL: func.func @turn
// CHECK: scf.if
// CHECK: scf.if
// CHECK: %[[COUNTER:.*]] = arith.select %{{.*}}, %{{.*}}, %c0_i64
// CHECK: arith.cmpi ne, %[[COUNTER]], %c0_i64
// CHECK: ld.acquire.gpu.global.b32 now, [$0];
// CHECK-SAME: %[[COUNTER]], %[[TURN:.*]] : (i64, i32)
// CHECK: nvvm.barrier0
// CHECK-COUNT-8: red.relaxed.gpu.global.add
// CHECK: nvvm.barrier0
// CHECK: scf.if
// CHECK: red.release.gpu.global.max.s32 [$0], $1;
func.func @turn(%x: !tile.view<2xf32>, %turns: !tile.view<1xi32>, %i: index, %n: i32, %m: i32) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<64x8xf32, #acc>
  sm.wait_memory_turn %turns[%i] until %n : !tile.view<1xi32>
  sm.barrier
  tile.atomic_add %one, %x[%i, %c0] : tensor<64x8xf32, #acc>, !tile.view<2xf32>
  sm.barrier
  sm.pass_memory_turn %turns[%i] next %m : !tile.view<1xi32>
  return
}

// -----

// The first thread draws the work index for all threads.
// CHECK-LABEL: func.func @next_work
// CHECK: scf.while : () -> i32 {
// CHECK: nvvm.barrier0
// CHECK: scf.if
// CHECK: %[[MINE:.*]] = llvm.inline_asm {{.*}}atom.relaxed.gpu.global.inc.u32 $0, [$1], $2;
// CHECK: st.shared.b32
// CHECK: nvvm.barrier0
// CHECK: %[[NUMBER:.*]] = llvm.inline_asm {{.*}}ld.shared.b32
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NUMBER]]
// CHECK: scf.condition(%[[MORE]]) %[[NUMBER]] : i32
func.func @next_work(%counter: !tile.view<1xi32>, %last: i32) {
  scf.while : () -> i32 {
    sm.barrier
    sm.draw_work %counter : !tile.view<1xi32>
    sm.barrier
    %number = sm.read_word : i32
    %more = arith.cmpi slt, %number, %last : i32
    scf.condition(%more) %number : i32
  } do {
  ^bb0(%number: i32):
    scf.yield
  }
  return
}

// -----

// The first thread arrives for all threads, after their stores and before their loads.
// CHECK-LABEL: func.func @arrive
// CHECK: nvvm.barrier0
// CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %c1_i32
// CHECK: %[[RESULT:.*]] = llvm.inline_asm {{.*}}atom.acq_rel.gpu.global.inc.u32 $0, [$1], $2;
// CHECK: %[[BEFORE:.*]] = llvm.extractvalue %[[RESULT]][0]
// CHECK: arith.cmpi eq, %[[BEFORE]], %[[LAST]]
// CHECK: st.shared.b32
// CHECK: nvvm.barrier0
// CHECK: %[[WORD:.*]] = llvm.inline_asm {{.*}}ld.shared.b32
// CHECK: %[[IS_LAST:.*]] = arith.cmpi ne, %[[WORD]]
// CHECK: scf.if %[[IS_LAST]]
#row = #sm.layout<registers = [0:2:1], lanes = [0:32:2], warps = [*:4]>
module attributes {tile.num_warps = 4 : i64} {
  func.func @arrive(%counters: !tile.view<1xi32>, %o: !tile.view<1xf32>, %i: index, %count: i32) {
    %zero = arith.constant 0 : i32
    sm.barrier
    sm.arrive %counters[%i] of %count : !tile.view<1xi32>
    sm.barrier
    %word = sm.read_word : i32
    %last = arith.cmpi ne, %word, %zero : i32
    scf.if %last {
      %x = arith.constant dense<1.0> : tensor<64xf32, #row>
      tile.store %x, %o[%i] : tensor<64xf32, #row>, !tile.view<1xf32>
    }
    return
  }
}

// -----

// The result of a shuffle is opaque, even if it equals the operand.
// CHECK-LABEL: func @opaque
// CHECK: nvvm.shfl.sync bfly
func.func @opaque(%x: i32, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = sm.opaque %x : i32
  %first = arith.index_cast %y : i32 to index
  scf.for %i = %first to %n step %c1 {
  }
  return
}

// -----

#c = #sm.layout<registers = [0:2:1], lanes = [0:32:2], warps = [1:4:1]>
#r = #sm.layout<registers = [0:2:1], lanes = [0:32:2], warps = [*:4]>
#many = #sm.layout<registers = [0:16:1], lanes = [0:32:16], warps = [1:4:1]>
#sums = #sm.layout<registers = [0:16:1], lanes = [0:32:16], warps = [*:4]>

// The memory of a work index does not overlap with the scratch memory of warps, even if that grows later.
// CHECK: module attributes {{.*}}tile.shared_bytes = 5136
// CHECK-LABEL: func @work_between_reductions
module attributes {tile.num_warps = 4 : i64, tile.shared_bytes = 0 : i64} {
  func.func @work_between_reductions(%counter: !tile.view<1xi32>, %last: i32, %o: !tile.view<1xf32>) {
    %c0 = arith.constant 0 : index
    %few = arith.constant dense<1.0> : tensor<64x4xf32, #c>
    %more = arith.constant dense<1.0> : tensor<512x4xf32, #many>
    %a = tile.reduce add %few axis 1 : tensor<64x4xf32, #c> -> tensor<64xf32, #r>
    tile.store %a, %o[%c0] : tensor<64xf32, #r>, !tile.view<1xf32>
    scf.while : () -> i32 {
      sm.barrier
      sm.draw_work %counter : !tile.view<1xi32>
      sm.barrier
      %number = sm.read_word : i32
      %exists = arith.cmpi slt, %number, %last : i32
      scf.condition(%exists) %number : i32
    } do {
    ^bb0(%i: i32):
      %b = tile.reduce add %more axis 1 : tensor<512x4xf32, #many> -> tensor<512xf32, #sums>
      tile.store %b, %o[%c0] : tensor<512xf32, #sums>, !tile.view<1xf32>
      scf.yield
    }
    return
  }
}

// -----

#four = #sm.layout<registers = [0:4:1], lanes = [0:32:4], warps = [*:4]>

// From sm_90 on, two e4m3 numbers are cast by one instruction.
// CHECK-LABEL: func.func @pairs_of_e4m3
// CHECK-COUNT-2: call_intrinsic "llvm.nvvm.e4m3x2.to.f16x2.rn"{{.*}} : (i16) -> vector<2xf16>
// CHECK-COUNT-4: arith.extf {{.*}} : f16 to f32
// CHECK-COUNT-2: call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"{{.*}} : (f32, f32) -> i16
// CHECK: st.global.b8
module attributes {tile.arch = 90 : i64} {
  func.func @pairs_of_e4m3(%x: !tile.view<1xf8E4M3FN>) {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0] : !tile.view<1xf8E4M3FN> -> tensor<128xf8E4M3FN, #four>
    %w = arith.extf %a : tensor<128xf8E4M3FN, #four> to tensor<128xf32, #four>
    %s = arith.mulf %w, %w : tensor<128xf32, #four>
    %n = arith.truncf %s : tensor<128xf32, #four> to tensor<128xf8E4M3FN, #four>
    tile.store %n, %x[%c0] : tensor<128xf8E4M3FN, #four>, !tile.view<1xf8E4M3FN>
    return
  }
}

// -----

#row = #sm.layout<registers = [], lanes = [0:32:1], warps = [*:4]>

// Other GPUs cast by arithmetic. An element without a neighbour is cast alone.
// CHECK-LABEL: func.func @e4m3_by_arithmetic
// CHECK-NOT: call_intrinsic
// CHECK-NOT: arith.extf
// CHECK: arith.trunci {{.*}} : i32 to i8
// CHECK: st.global.b8
func.func @e4m3_by_arithmetic(%x: !tile.view<1xf8E4M3FN>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] : !tile.view<1xf8E4M3FN> -> tensor<32xf8E4M3FN, #row>
  %b = arith.addf %a, %a : tensor<32xf8E4M3FN, #row>
  tile.store %b, %x[%c0] : tensor<32xf8E4M3FN, #row>, !tile.view<1xf8E4M3FN>
  return
}
