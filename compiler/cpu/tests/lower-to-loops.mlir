// RUN: tegula-opt --plan-buffers --lower-to-loops --cse --split-input-file %s | FileCheck %s

// A row of 96 bytes takes two cache lines. It is padded to an odd number of lines: 3 lines, 48 floats.
// CHECK: module attributes {tile.scratch = array<i64: 1536>}
// CHECK-LABEL: func @edges_are_filled_and_the_rest_is_copied_in_vectors
// CHECK-SAME: (%[[X:.*]]: memref<1xf32>, %[[WORDS:.*]]: memref<4xi64>, %{{.*}}: index, {{.*}}, %[[BUFFER:.*]]: memref<8x48xf32>)
// CHECK: scf.if
// CHECK: vector.store {{.*}}, %[[BUFFER]]
// CHECK: scf.for
// CHECK: vector.load {{.*}} : memref<?xf32>, vector<8xf32>
// CHECK: memref.load {{.*}} : memref<?xf32>
func.func @edges_are_filled_and_the_rest_is_copied_in_vectors(%x: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %a = tile.load %x[%c0, %c0] {fill = 1.0 : f32} : !tile.view<2xf32> -> tensor<8x24xf32>
  tile.store %a, %x[%c8, %c0] : tensor<8x24xf32>, !tile.view<2xf32>
  return
}

// -----

// Registers hold 6 x 2 vectors of accumulators. One iteration does two steps of the inner dimension.
// CHECK-LABEL: func @a_product_keeps_a_block_of_sums_in_registers
// CHECK: scf.for {{.*}} iter_args({{.*}}) -> ({{(vector<8xf32>(, )?)+}})
// CHECK-COUNT-24: math.fma {{.*}} : vector<8xf32>
func.func @a_product_keeps_a_block_of_sums_in_registers(%x: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<12x16xf32>
  %b = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %c = tile.dot %a, %b : tensor<12x16xf32>, tensor<16x16xf32> -> tensor<12x16xf32>
  tile.store %c, %x[%c0, %c0] : tensor<12x16xf32>, !tile.view<2xf32>
  return
}

// -----

// A long sum of f32 products is split into partial sums. A sum of bf16 products is not.
// CHECK-LABEL: func @exact_products_are_summed_in_chunks
// CHECK: %[[CHUNK:.*]] = arith.constant 32 : index
// CHECK: scf.for {{.*}} step %[[CHUNK]] {
// CHECK: arith.addf
func.func @exact_products_are_summed_in_chunks(%x: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<6x64xf32>
  %b = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<64x16xf32>
  %c = tile.dot %a, %b : tensor<6x64xf32>, tensor<64x16xf32> -> tensor<6x16xf32>
  tile.store %c, %x[%c0, %c0] : tensor<6x16xf32>, !tile.view<2xf32>
  return
}

// -----

// CHECK: memref.global "private" @tegula_locks
// CHECK-LABEL: func @a_row_is_added_under_its_lock
// CHECK: scf.while
// CHECK: memref.atomic_rmw assign
// CHECK: arith.addf
// CHECK: memref.atomic_rmw assign
func.func @a_row_is_added_under_its_lock(%x: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<4x8xf32>
  tile.atomic_add %one, %x[%c0, %c0] : tensor<4x8xf32>, !tile.view<2xf32>
  return
}

// -----

// Lanes past the end of a row of 5 must not affect the maximum.
// CHECK-LABEL: func @a_reduction_across_lanes_masks_the_padding
// CHECK: vector.create_mask
// CHECK: arith.select
// CHECK: vector.shuffle
func.func @a_reduction_across_lanes_masks_the_padding(%x: !tile.view<2xf32>, %y: !tile.view<1xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<4x5xf32>
  %m = tile.reduce max %a axis 1 : tensor<4x5xf32> -> tensor<4xf32>
  tile.store %m, %y[%c0] : tensor<4xf32>, !tile.view<1xf32>
  return
}

// -----

// Lanes past the end must not make a condition true.
// CHECK-LABEL: func @a_condition_that_holds_for_some_element
// CHECK: vector.store %{{.*}}, %[[FOUND:.*]][%{{.*}}] : memref<64xi8>, vector<8xi8>
// CHECK: scf.for
// CHECK: %[[HOLDS:.*]] = arith.cmpf ogt
// CHECK: %[[INSIDE:.*]] = vector.create_mask
// CHECK: arith.andi %[[HOLDS]], %[[INSIDE]]
// CHECK: arith.ori
// CHECK: vector.store %{{.*}}, %[[FOUND]]
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %{{.*}} : vector<8xi8> into i8
// CHECK: %[[IS_ANY:.*]] = arith.cmpi ne, %[[ANY]]
// CHECK: scf.if %[[IS_ANY]]
func.func @a_condition_that_holds_for_some_element(%x: !tile.view<1xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : tensor<5xf32>
  %a = tile.load %x[%c0] : !tile.view<1xf32> -> tensor<5xf32>
  %exceeds = arith.cmpf ogt, %a, %one : tensor<5xf32>
  %some = tile.any %exceeds : tensor<5xi1>
  scf.if %some {
    tile.store %one, %x[%c0] : tensor<5xf32>, !tile.view<1xf32>
  }
  return
}

// -----

// bf16 is widened by a shift and narrowed by rounding in integers, because a conversion would be a library call.
// CHECK-LABEL: func @bf16_is_held_as_f32
// CHECK: arith.shli
// CHECK-NOT: arith.truncf
// CHECK: arith.trunci {{.*}} vector<8xi16>
func.func @bf16_is_held_as_f32(%x: !tile.view<1xbf16>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] : !tile.view<1xbf16> -> tensor<8xbf16>
  %w = arith.extf %a : tensor<8xbf16> to tensor<8xf32>
  %s = arith.addf %w, %w : tensor<8xf32>
  %n = arith.truncf %s : tensor<8xf32> to tensor<8xbf16>
  tile.store %n, %x[%c0] : tensor<8xbf16>, !tile.view<1xbf16>
  return
}

// -----

// e4m3 is a byte in memory, and an f32 elsewhere. Its conversions are arithmetic.
// CHECK-LABEL: func @e4m3_is_held_as_f32
// CHECK: vector.load {{.*}} vector<8xi8>
// CHECK-NOT: f8E4M3FN
// CHECK-NOT: arith.extf
// CHECK: arith.addf {{.*}} : vector<8xf32>
// CHECK-NOT: arith.truncf
// CHECK: arith.trunci {{.*}} vector<8xi8>
func.func @e4m3_is_held_as_f32(%x: !tile.view<1xf8E4M3FN>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] : !tile.view<1xf8E4M3FN> -> tensor<8xf8E4M3FN>
  %w = arith.extf %a : tensor<8xf8E4M3FN> to tensor<8xf32>
  %s = arith.addf %w, %w : tensor<8xf32>
  %n = arith.truncf %s : tensor<8xf32> to tensor<8xf8E4M3FN>
  tile.store %n, %x[%c0] : tensor<8xf8E4M3FN>, !tile.view<1xf8E4M3FN>
  return
}

// -----

// CHECK-LABEL: func.func @arrive
// CHECK: scf.if
// CHECK: %[[BEFORE:.*]] = memref.generic_atomic_rmw
// CHECK: ^bb0(%[[NOW:.*]]: i32):
// CHECK: %[[MORE:.*]] = arith.addi %[[NOW]]
// CHECK: %[[NEXT:.*]] = arith.select %{{.*}}, %{{.*}}, %[[MORE]]
// CHECK: memref.atomic_yield %[[NEXT]]
// CHECK: %[[LAST:.*]] = arith.cmpi sge, %[[BEFORE]]
// CHECK: scf.yield %[[LAST]]
func.func @arrive(%x: !tile.view<1xf32>, %counters: !tile.view<1xi32>, %i: index, %count: i32) {
  %last = tile.arrive %counters[%i] of %count : !tile.view<1xi32>
  scf.if %last {
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    tile.store %zero, %x[%i] : tensor<8xf32>, !tile.view<1xf32>
  }
  return
}

// -----

// CHECK-LABEL: func @iterations_are_dynamic
// CHECK: scf.while : () -> i32 {
// CHECK: %[[NUMBER:.*]] = memref.atomic_rmw addi %c1_i32
// CHECK: %[[MORE:.*]] = arith.cmpi slt, %[[NUMBER]]
// CHECK: scf.condition(%[[MORE]]) %[[NUMBER]] : i32
// CHECK: ^bb0(%[[I:.*]]: i32):
func.func @iterations_are_dynamic(%x: !tile.view<1xf32>, %counter: !tile.view<1xi32>, %last: i32) {
  scf.while : () -> i32 {
    %number = tile.next_work %counter : !tile.view<1xi32>
    %more = arith.cmpi slt, %number, %last : i32
    scf.condition(%more) %number : i32
  } do {
  ^bb0(%i: i32):
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %row = arith.index_cast %i : i32 to index
    tile.store %zero, %x[%row] : tensor<8xf32>, !tile.view<1xf32>
    scf.yield
  } attributes {tile.parallel}
  return
}

// -----

// The loop along the axis carries the sum. Columns are added as vectors.
// CHECK-LABEL: func @a_cumulative_sum_of_columns_uses_vectors
// CHECK: scf.for %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (vector<8xf32>)
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %{{.*}} : vector<8xf32>
// CHECK: vector.store %[[NEXT]]
// CHECK: scf.yield %[[NEXT]]

// A row is added one element after another, here from the last one on.
// CHECK: scf.for %[[I:[a-z0-9]*]] = {{.*}} iter_args(%[[SUM:.*]] = %{{.*}}) -> (f32)
// CHECK: arith.subi %{{.*}}, %[[I]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]], %{{.*}} : f32
// CHECK: memref.store %[[NEXT]]
func.func @a_cumulative_sum_of_columns_uses_vectors(%x: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %c8 = arith.constant 8 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<8x24xf32>
  %b = tile.cumsum %a axis 0 : tensor<8x24xf32>
  %c = tile.cumsum %b axis 1 {reverse} : tensor<8x24xf32>
  tile.store %c, %x[%c8, %c0] : tensor<8x24xf32>, !tile.view<2xf32>
  return
}

// -----

// A thread waits for its turn with an atomic access, which also orders what it reads, and passes the turn on.
// CHECK-LABEL: func @turn
// CHECK: scf.if
// CHECK: scf.while
// CHECK: %[[NOW:.*]] = memref.atomic_rmw addi %c0_i32
// CHECK: %[[EARLY:.*]] = arith.cmpi slt, %[[NOW]], %[[TURN:.*]] : i32
// CHECK: scf.condition(%[[EARLY]])
// CHECK: memref.atomic_rmw assign
// CHECK: memref.atomic_rmw assign
// CHECK: scf.if
// CHECK: memref.atomic_rmw maxs %{{.*}} : (i32, memref<?xi32>) -> i32
func.func @turn(%sum: !tile.view<1xf32>, %turns: !tile.view<1xi32>, %i: index, %n: i32, %m: i32) {
  %x = arith.constant dense<1.0> : tensor<8xf32>
  tile.atomic_add %x, %sum[%i] turn %n of %turns[%i] next %m : tensor<8xf32>, !tile.view<1xf32>, !tile.view<1xi32>
  return
}

// -----

// Whole vectors are stored under a mask, the rest of a row element by element under its condition.
// CHECK-LABEL: func @stores_where_a_condition_holds
// CHECK: vector.maskedstore
// CHECK: vector.extract {{.*}} : i1 from vector<8xi1>
// CHECK: scf.if
// CHECK: memref.store
func.func @stores_where_a_condition_holds(%x: !tile.view<1xf32>, %y: !tile.view<1xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0] : !tile.view<1xf32> -> tensor<32xf32>
  %holds = arith.cmpf ogt, %a, %a : tensor<32xf32>
  tile.store %a, %y[%c0] where %holds : tensor<32xf32>, !tile.view<1xf32>, tensor<32xi1>
  return
}

// -----

// A vector of 16 i64 is two cache lines long, so a row of 49 elements takes four vectors, and a line of padding.
// CHECK-LABEL: func @rows_hold_whole_vectors
// CHECK-SAME: memref<6x72xi64>
module attributes {tile.lanes = 16 : i64} {
  func.func @rows_hold_whole_vectors(%x: !tile.view<2xi64>) {
    %c0 = arith.constant 0 : index
    %a = tile.load %x[%c0, %c0] : !tile.view<2xi64> -> tensor<6x49xi64>
    tile.store %a, %x[%c0, %c0] : tensor<6x49xi64>, !tile.view<2xi64>
    return
  }
}

// -----

// Rows that only the kernel knows: no numbers of %begin and %end make them reach outside the tensor.
// CHECK-LABEL: func.func @rows_of_a_tensor
// CHECK: %[[FIRST:.*]] = arith.minui %{{.*}}, %[[SIZE:.*]] : index
// CHECK-NEXT: %[[ATLEAST:.*]] = arith.maxsi %{{.*}}, %[[FIRST]] : index
// CHECK-NEXT: %[[END:.*]] = arith.minsi %[[ATLEAST]], %[[SIZE]] : index
// CHECK-NEXT: %[[BASE:.*]] = arith.muli %[[FIRST]], %{{.*}} : index
// CHECK-NEXT: %[[COUNT:.*]] = arith.subi %[[END]], %[[FIRST]] : index
// CHECK: arith.subi %[[COUNT]], %c0
// CHECK: %[[ROW:.*]] = arith.addi %[[BASE]], %{{.*}} : index
// CHECK: vector.load
func.func @rows_of_a_tensor(%x: !tile.view<2xf32> {tile.name = "x"}, %y: !tile.view<2xf32> {tile.name = "y", tile.written}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %end = tile.program_id 1
  %begin = tile.program_id 0
  %rows = tile.rows %x[%begin, %end] : !tile.view<2xf32>
  %tile = tile.load %rows[%c0, %c0] : !tile.view<2xf32> -> tensor<4x16xf32>
  tile.store %tile, %y[%c0, %c0] : tensor<4x16xf32>, !tile.view<2xf32>
  return
}

// -----

// A whole tile with contiguous rows is read where it lies. Any other tile is copied.
// CHECK-LABEL: func @aliased_rows
// CHECK: %[[ROWS:.*]] = scf.if {{.*}} -> (memref<16x16xf32, strided<[?, 1], offset: ?>>) {
// CHECK-NOT: vector.store
// CHECK: memref.reinterpret_cast {{.*}} strides: [%{{.*}}, 1]
// CHECK: } else {
// CHECK: vector.store
// CHECK: memref.reinterpret_cast %{{.*}} strides: [%c16{{.*}}, 1]
// CHECK: vector.load %[[ROWS]]
func.func @aliased_rows(%x: !tile.view<2xf32>, %out: !tile.view<2xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<4x16xf32>
  %b = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %s = tile.dot %a, %b : tensor<4x16xf32>, tensor<16x16xf32> -> tensor<4x16xf32>
  tile.store %s, %out[%c0, %c0] : tensor<4x16xf32>, !tile.view<2xf32>
  return
}

// -----

// Narrow floats of the tensor are widened where the dot reads them. A prefetch is 128 rows of 64 bytes ahead, in tiles
// that follow. Registers have room for a whole row of the result.
// CHECK-LABEL: func @aliased_rows_of_narrow_floats
// CHECK: scf.if {{.*}} -> (memref<16x32xi16, strided<[?, 1], offset: ?>>) {
// CHECK: scf.for {{.*}} -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>)
// CHECK: %[[AHEAD:.*]] = arith.addi %{{.*}}, %c128
// CHECK: memref.prefetch %{{.*}}[%[[AHEAD]], %{{.*}}], read
// CHECK: %[[BITS:.*]] = vector.load %{{.*}} : memref<16x32xi16, strided<[?, 1], offset: ?>>, vector<8xi16>
// CHECK: arith.extui %[[BITS]] : vector<8xi16> to vector<8xi32>
func.func @aliased_rows_of_narrow_floats(%x: !tile.view<2xbf16>, %out: !tile.view<2xf32> {tile.written}, %n: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xbf16> -> tensor<1x16xbf16>
  scf.for %j = %c0 to %n step %c16 {
    %b = tile.load %x[%j, %c0] : !tile.view<2xbf16> -> tensor<16x32xbf16>
    %s = tile.dot %a, %b : tensor<1x16xbf16>, tensor<16x32xbf16> -> tensor<1x32xf32>
    tile.store %s, %out[%c0, %c0] : tensor<1x32xf32>, !tile.view<2xf32>
  }
  return
}

// -----

// Eight accumulators, of 2 x 4 elements of the result, become one vector of sums. Each of its halves is in a row. No
// prefetch goes beyond the tile, because nothing follows.
// CHECK-LABEL: func @a_product_along_its_depth
// CHECK: %[[AHEAD:.*]] = arith.minsi %{{.*}}, %c17
// CHECK: memref.prefetch %{{.*}}[%[[AHEAD]], %{{.*}}], read
// CHECK: scf.for {{.*}} -> ({{(vector<8xf32>(, )?)+}})
// CHECK-COUNT-8: math.fma {{.*}} : vector<8xf32>
// CHECK-COUNT-14: vector.shuffle
// CHECK: vector.extract_strided_slice %{{.*}} {offsets = [0], sizes = [4]
// CHECK: vector.store {{.*}} vector<4xf32>
// CHECK: vector.extract_strided_slice %{{.*}} {offsets = [4], sizes = [4]
func.func @a_product_along_its_depth(%x: !tile.view<2xf32>, %y: !tile.view<2xf32>, %out: !tile.view<2xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<2x32xf32>
  %b = tile.load %y[%c0, %c0] : !tile.view<2xf32> -> tensor<18x32xf32>
  %s = tile.dot %a, %b {transpose_rhs} : tensor<2x32xf32>, tensor<18x32xf32> -> tensor<2x18xf32>
  tile.store %s, %out[%c0, %c0] : tensor<2x18xf32>, !tile.view<2xf32>
  return
}

// -----

// Rows in pages of a table: the place of a page is read for each row, and a row without a place is skipped.
// CHECK-LABEL: func.func @rows_in_pages
// CHECK: %[[ROWS:.*]] = arith.muli %[[ENTRIES:.*]], %c16 : index
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %{{.*}}, %{{.*}} : index
// CHECK: %[[ENTRY:.*]] = scf.if %{{.*}} -> (i32)
// CHECK: %[[PAGE:.*]] = arith.index_cast %[[ENTRY]] : i32 to index
// CHECK: arith.cmpi ult, %[[PAGE]], %{{.*}} : index
// CHECK: arith.muli %[[PAGE]], %{{.*}} : index
// CHECK: scf.if
// CHECK: vector.load
func.func @rows_in_pages(%x: !tile.view<3xf32> {tile.name = "x"}, %table: !tile.view<1xi32> {tile.name = "table"}, %y: !tile.view<2xf32> {tile.name = "y", tile.written}) {
  %c0 = arith.constant 0 : index
  %rows = tile.pages %x[%table] page 16 : !tile.view<3xf32>, !tile.view<1xi32> -> !tile.view<2xf32>
  %tile = tile.load %rows[%c0, %c0] : !tile.view<2xf32> -> tensor<4x16xf32>
  tile.store %tile, %y[%c0, %c0] : tensor<4x16xf32>, !tile.view<2xf32>
  return
}

// -----

// A row after the length of its page is skipped.
// CHECK-LABEL: func.func @pages_of_some_rows
// CHECK: scf.for %[[ROW:.*]] =
// CHECK: %[[PAGE:.*]] = scf.if %{{.*}} -> (i32)
// CHECK: %[[ENTRY:.*]] = scf.if %{{.*}} -> (i32)
// CHECK: %[[LENGTH:.*]] = arith.index_cast %[[ENTRY]] : i32 to index
// CHECK: arith.cmpi slt, %{{.*}}, %[[LENGTH]] : index
// CHECK: scf.if
// CHECK: vector.load
func.func @pages_of_some_rows(%x: !tile.view<3xf32> {tile.name = "x"}, %table: !tile.view<1xi32> {tile.name = "table"}, %lengths: !tile.view<1xi32> {tile.name = "lengths"}, %y: !tile.view<2xf32> {tile.name = "y", tile.written}) {
  %c0 = arith.constant 0 : index
  %rows = tile.pages %x[%table] lengths %lengths page 16 : !tile.view<3xf32>, !tile.view<1xi32>, !tile.view<1xi32> -> !tile.view<2xf32>
  %tile = tile.load %rows[%c0, %c0] : !tile.view<2xf32> -> tensor<4x16xf32>
  tile.store %tile, %y[%c0, %c0] : tensor<4x16xf32>, !tile.view<2xf32>
  return
}
