// RUN: tegula-opt --plan-buffers --split-input-file %s | FileCheck %s

// The rows of keys are stored as they are used. The queries are transposed once, before the loop.
// CHECK-LABEL: func @scores_of_a_loop_over_keys_are_column_major
// CHECK: tile.load %arg0{{.*}} {tile.buffer = "column"}
// CHECK: scf.for
// CHECK: tile.load %arg1{{.*}} {tile.buffer = "row"}
// CHECK: tile.dot {{.*}} {tile.buffer = "column", transpose_rhs}
func.func @scores_of_a_loop_over_keys_are_column_major(%q: !tile.view<2xf32>, %k: !tile.view<2xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  %a = tile.load %q[%c0, %c0] : !tile.view<2xf32> -> tensor<16x8xf32>
  %r = scf.for %j = %c0 to %n step %c32 iter_args(%sum = %zero) -> tensor<16xf32> {
    %b = tile.load %k[%j, %c0] : !tile.view<2xf32> -> tensor<32x8xf32>
    %s = tile.dot %a, %b {transpose_rhs} : tensor<16x8xf32>, tensor<32x8xf32> -> tensor<16x32xf32>
    %x = tile.reduce add %s axis 1 : tensor<16x32xf32> -> tensor<16xf32>
    %next = arith.addf %sum, %x : tensor<16xf32>
    scf.yield %next : tensor<16xf32>
  }
  %out = tile.reshape %r : tensor<16xf32> -> tensor<16x1xf32>
  tile.store %out, %q[%c0, %c0] : tensor<16x1xf32>, !tile.view<2xf32>
  return
}

// -----

// CHECK-LABEL: func @a_load_that_two_products_want_in_different_orders_is_cloned
// CHECK-DAG: tile.load %arg1{{.*}} {tile.buffer = "column"}
// CHECK-DAG: tile.load %arg1{{.*}} {tile.buffer = "row"}
func.func @a_load_that_two_products_want_in_different_orders_is_cloned(%q: !tile.view<2xf32>, %k: !tile.view<2xf32>,
                                                                       %n: index) {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %b = tile.load %k[%c0, %c0] : !tile.view<2xf32> -> tensor<32x8xf32>
  scf.for %i = %c0 to %n step %c32 {
    %a = tile.load %q[%i, %c0] : !tile.view<2xf32> -> tensor<32x8xf32>
    %s = tile.dot %a, %b {transpose_rhs} : tensor<32x8xf32>, tensor<32x8xf32> -> tensor<32x32xf32>
    %t = tile.dot %s, %b : tensor<32x32xf32>, tensor<32x8xf32> -> tensor<32x8xf32>
    tile.store %t, %q[%i, %c0] : tensor<32x8xf32>, !tile.view<2xf32>
  }
  return
}

// -----

// CHECK-LABEL: func @cheap_values_are_recomputed_and_expensive_ones_kept
// CHECK: arith.mulf
// CHECK-NOT: tile.buffer
// CHECK: math.exp2 {{.*}} {tile.buffer = "row"}
func.func @cheap_values_are_recomputed_and_expensive_ones_kept(%x: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<8x16xf32>
  %two = arith.constant dense<2.0> : tensor<8x16xf32>
  %b = arith.mulf %a, %two : tensor<8x16xf32>
  %e = math.exp2 %b : tensor<8x16xf32>
  %m = tile.reduce max %e axis 1 : tensor<8x16xf32> -> tensor<8xf32>
  %l = tile.reduce add %e axis 1 : tensor<8x16xf32> -> tensor<8xf32>
  %s = arith.addf %m, %l : tensor<8xf32>
  %out = tile.reshape %s : tensor<8xf32> -> tensor<8x1xf32>
  tile.store %out, %x[%c0, %c0] : tensor<8x1xf32>, !tile.view<2xf32>
  return
}

// -----

// The old value is read after the new one is computed, so they need two buffers.
// CHECK-LABEL: func @a_carried_tile_that_is_read_later_is_not_overwritten
// CHECK: arith.maxnumf {{.*}} {tile.buffer = "row"}
// CHECK: arith.addf {{.*}} {tile.buffer = "row", tile.in_place}
func.func @a_carried_tile_that_is_read_later_is_not_overwritten(%x: !tile.view<1xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %zero = arith.constant dense<0.0> : tensor<16xf32>
  %m, %l = scf.for %j = %c0 to %n step %c16 iter_args(%m0 = %zero, %l0 = %zero) -> (tensor<16xf32>, tensor<16xf32>) {
    %a = tile.load %x[%j] : !tile.view<1xf32> -> tensor<16xf32>
    %m1 = arith.maxnumf %m0, %a : tensor<16xf32>
    %d = arith.subf %m0, %m1 : tensor<16xf32>
    %l1 = arith.addf %l0, %d : tensor<16xf32>
    scf.yield %m1, %l1 : tensor<16xf32>, tensor<16xf32>
  }
  %s = arith.addf %m, %l : tensor<16xf32>
  tile.store %s, %x[%c0] : tensor<16xf32>, !tile.view<1xf32>
  return
}

// -----

// The dot reads whole rows of its lhs, so the tile is in memory although the dot also adds to it.
// CHECK-LABEL: func @a_computed_tile_that_is_a_factor_and_the_accumulator_has_a_buffer
// CHECK: %[[TILE:.*]] = math.absf {{.*}} {tile.buffer = "row"}
// CHECK: tile.dot %[[TILE]], %{{.*}} acc %[[TILE]]
func.func @a_computed_tile_that_is_a_factor_and_the_accumulator_has_a_buffer(%x: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %b = math.absf %a : tensor<16x16xf32>
  %c = tile.dot %b, %a acc %b : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  tile.store %c, %x[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  return
}

// -----

// Later blocks of the dot read the factor, so the result does not overwrite it.
// CHECK-LABEL: func @a_carried_tile_that_is_a_factor_is_not_overwritten
// CHECK: tile.dot %{{.*}}, %{{.*}} acc %{{.*}} {tile.buffer = "row"}
// CHECK: tile.dot %{{.*}}, %{{.*}} acc %{{.*}} {tile.buffer = "row", tile.in_place}
func.func @a_carried_tile_that_is_a_factor_is_not_overwritten(%x: !tile.view<2xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %r, %s = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a, %q = %a) -> (tensor<16x16xf32>, tensor<16x16xf32>) {
    %b = tile.dot %p, %a acc %p : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %c = tile.dot %a, %a acc %q : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    scf.yield %b, %c : tensor<16x16xf32>, tensor<16x16xf32>
  }
  tile.store %r, %x[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  tile.store %s, %x[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  return
}

// -----

// The transpose is complete before it overwrites the tile that it reads.
// CHECK-LABEL: func @a_carried_tile_that_is_transposed_has_a_second_buffer
// CHECK: tile.transpose {{.*}} {tile.buffer = "{{row|column}}"}
func.func @a_carried_tile_that_is_transposed_has_a_second_buffer(%x: !tile.view<2xf32>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a) -> tensor<16x16xf32> {
    %t = tile.transpose %p [1, 0] : tensor<16x16xf32> -> tensor<16x16xf32>
    scf.yield %t : tensor<16x16xf32>
  }
  tile.store %r, %x[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  return
}

// -----

// The dot's operands are for a row-major result. The transpose leads back to the carried tile, which is column-major.
// CHECK-LABEL: func @a_carried_tile_of_another_order_is_not_overwritten
// CHECK: tile.dot {{.*}} {tile.buffer = "row"}
// CHECK: tile.dot {{.*}} {tile.buffer = "row"} :
// CHECK: tile.buffers = ["column"]
func.func @a_carried_tile_of_another_order_is_not_overwritten(%x: !tile.view<2xf32>, %y: !tile.view<2xf32>,
                                                              %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %b = tile.load %y[%c0, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%p = %a) -> tensor<16x16xf32> {
    %t = tile.transpose %p [1, 0] : tensor<16x16xf32> -> tensor<16x16xf32>
    %s = tile.dot %a, %b acc %t : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    %u = arith.addf %s, %p : tensor<16x16xf32>
    %v = tile.dot %a, %b acc %u : tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
    scf.yield %v : tensor<16x16xf32>
  }
  tile.store %r, %x[%c0, %c0] : tensor<16x16xf32>, !tile.view<2xf32>
  return
}

// -----

// Two loads of one line, as in a helper function, are not the same load: a store may be between them.
// CHECK-LABEL: func @equal_loads_around_a_store
// CHECK: %[[FIRST:.*]] = tile.load %arg0
// CHECK: tile.dot %[[FIRST]], %
// CHECK: tile.store
// CHECK: %[[SECOND:.*]] = tile.load %arg0
// CHECK: tile.dot %{{.*}}, %[[SECOND]]
func.func @equal_loads_around_a_store(%x: !tile.view<2xf32>, %y: !tile.view<2xf32>) {
  %c0 = arith.constant 0 : index
  %w = tile.load %y[%c0, %c0] : !tile.view<2xf32> -> tensor<16x16xf32>
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<64x16xf32> loc(#helper)
  %p = tile.dot %a, %w : tensor<64x16xf32>, tensor<16x16xf32> -> tensor<64x16xf32>
  tile.store %p, %x[%c0, %c0] : tensor<64x16xf32>, !tile.view<2xf32>
  %b = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<64x16xf32> loc(#helper)
  %v = tile.load %y[%c0, %c0] : !tile.view<2xf32> -> tensor<64x64xf32>
  %q = tile.dot %v, %b : tensor<64x64xf32>, tensor<64x16xf32> -> tensor<64x16xf32>
  tile.store %q, %y[%c0, %c0] : tensor<64x16xf32>, !tile.view<2xf32>
  return
}
#helper = loc("helper.cpp":1:1)

// -----

// Four queries read each key once, and their product with the scores each value. A copy would only wait for memory.
// Vectors along four queries would be half empty, so those of the scores run along the depth.
// CHECK-LABEL: func @few_rows_read_the_tensor
// CHECK: tile.load %arg1{{.*}} {tile.alias, tile.buffer = "row", tile.continues}
// CHECK: tile.dot {{.*}} {tile.along_depth, tile.buffer = "row", transpose_rhs}
// CHECK: tile.load %arg2{{.*}} {tile.alias, tile.buffer = "row", tile.continues}
// CHECK: tile.load %arg3{{.*}} {tile.alias, tile.buffer = "row", tile.continues}
// CHECK: tile.load %arg4{{.*}} {tile.buffer = "row"}
// CHECK-NOT: tile.along_depth
func.func @few_rows_read_the_tensor(%q: !tile.view<2xf32>, %k: !tile.view<2xf32>, %v: !tile.view<2xf32>,
                                    %narrow: !tile.view<2xbf16>, %out: !tile.view<2xf32> {tile.written}, %n: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %a = tile.load %q[%c0, %c0] : !tile.view<2xf32> -> tensor<4x32xf32>
  scf.for %j = %c0 to %n step %c16 {
    %b = tile.load %k[%j, %c0] : !tile.view<2xf32> -> tensor<16x32xf32>
    %s = tile.dot %a, %b {transpose_rhs} : tensor<4x32xf32>, tensor<16x32xf32> -> tensor<4x16xf32>
    %c = tile.load %v[%j, %c0] : !tile.view<2xf32> -> tensor<16x32xf32>
    %d = tile.load %narrow[%j, %c0] : !tile.view<2xbf16> -> tensor<16x32xbf16>
    %e = tile.load %out[%j, %c0] : !tile.view<2xf32> -> tensor<16x32xf32>
    %x = tile.dot %s, %c : tensor<4x16xf32>, tensor<16x32xf32> -> tensor<4x32xf32>
    %t = arith.truncf %s : tensor<4x16xf32> to tensor<4x16xbf16>
    %y = tile.dot %t, %d acc %x : tensor<4x16xbf16>, tensor<16x32xbf16>, tensor<4x32xf32> -> tensor<4x32xf32>
    %z = tile.dot %s, %e acc %y : tensor<4x16xf32>, tensor<16x32xf32>, tensor<4x32xf32> -> tensor<4x32xf32>
    tile.store %z, %out[%j, %c0] : tensor<4x32xf32>, !tile.view<2xf32>
  }
  return
}

// -----

// Each of 32 queries reads the keys again. Their copy is in the cache.
// CHECK-LABEL: func @many_rows_read_a_copy
// CHECK-NOT: tile.alias
func.func @many_rows_read_a_copy(%q: !tile.view<2xf32>, %k: !tile.view<2xf32>, %out: !tile.view<2xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %a = tile.load %q[%c0, %c0] : !tile.view<2xf32> -> tensor<32x32xf32>
  %b = tile.load %k[%c0, %c0] : !tile.view<2xf32> -> tensor<32x32xf32>
  %s = tile.dot %a, %b {transpose_rhs} : tensor<32x32xf32>, tensor<32x32xf32> -> tensor<32x32xf32>
  tile.store %s, %out[%c0, %c0] : tensor<32x32xf32>, !tile.view<2xf32>
  return
}

// -----

// The rows of the next tile lie in another page, so they do not follow.
// CHECK-LABEL: func @rows_of_pages_do_not_continue
// CHECK: tile.load {{.*}} {tile.alias, tile.buffer = "row"} : !tile.view<2xbf16>
func.func @rows_of_pages_do_not_continue(%q: !tile.view<2xf32>, %k: !tile.view<3xbf16>, %pages: !tile.view<1xi32>,
                                         %out: !tile.view<2xf32> {tile.written}, %n: index) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %a = tile.load %q[%c0, %c0] : !tile.view<2xf32> -> tensor<4x32xf32>
  scf.for %j = %c0 to %n step %c16 {
    %number = arith.divui %j, %c16 : index
    %entry = tile.gather %pages[%number] : !tile.view<1xi32>, index -> i32
    %page = arith.index_cast %entry : i32 to index
    %rows = tile.slice %k[%page] : !tile.view<3xbf16> -> !tile.view<2xbf16>
    %b = tile.load %rows[%c0, %c0] : !tile.view<2xbf16> -> tensor<16x32xbf16>
    %s = tile.dot %a, %b {transpose_rhs} : tensor<4x32xf32>, tensor<16x32xbf16> -> tensor<4x16xf32>
    tile.store %s, %out[%c0, %j] : tensor<4x16xf32>, !tile.view<2xf32>
  }
  return
}

// -----

// A few columns are as good as a few rows.
// CHECK-LABEL: func @few_columns
// CHECK: tile.dot {{.*}} {tile.along_depth, tile.buffer = "{{row|column}}", transpose_rhs}
func.func @few_columns(%x: !tile.view<2xf32>, %y: !tile.view<2xf32>, %out: !tile.view<2xf32> {tile.written}) {
  %c0 = arith.constant 0 : index
  %a = tile.load %x[%c0, %c0] : !tile.view<2xf32> -> tensor<64x32xf32>
  %b = tile.load %y[%c0, %c0] : !tile.view<2xf32> -> tensor<2x32xf32>
  %s = tile.dot %a, %b {transpose_rhs} : tensor<64x32xf32>, tensor<2x32xf32> -> tensor<64x2xf32>
  tile.store %s, %out[%c0, %c0] : tensor<64x2xf32>, !tile.view<2xf32>
  return
}
