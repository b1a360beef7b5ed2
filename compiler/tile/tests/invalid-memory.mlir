// RUN: tegula-opt %s --split-input-file --verify-diagnostics

func.func @load_with_too_few_positions(%v: !tile.view<2xf32>, %i: index) {
  // expected-error @+1 {{'tile.load' op 1 positions for a view of rank 2}}
  %0 = tile.load %v[%i] : !tile.view<2xf32> -> tensor<64x64xf32>
  return
}

// -----

func.func @turns_counted_in_rows(%x: tensor<8xf32>, %v: !tile.view<1xf32>, %turns: !tile.view<1xi32>, %i: index, %n: i32) {
  %rows = tile.rows %turns[%i, %i] : !tile.view<1xi32>
  // expected-error @+1 {{'tile.atomic_add' op counts turns in rows of a tensor; add their begin to the place instead}}
  tile.atomic_add %x, %v[%i] turn %n of %rows[%i] next %n : tensor<8xf32>, !tile.view<1xf32>, !tile.view<1xi32>
  return
}

// -----

func.func @load_of_another_rank(%v: !tile.view<2xf32>, %i: index) {
  // expected-error @+1 {{'tile.load' op the tile has rank 1; expected rank 2}}
  %0 = tile.load %v[%i, %i] : !tile.view<2xf32> -> tensor<64xf32>
  return
}

// -----

func.func @load_that_converts(%v: !tile.view<1xbf16>, %i: index) {
  // expected-error @+1 {{'tile.load' op the tile holds 'f32' but the view holds 'bf16'}}
  %0 = tile.load %v[%i] : !tile.view<1xbf16> -> tensor<64xf32>
  return
}

// -----

func.func @load_with_a_fill_of_another_type(%v: !tile.view<1xf32>, %i: index) {
  // expected-error @+1 {{'tile.load' op fill holds 'i32' but the view holds 'f32'}}
  %0 = tile.load %v[%i] {fill = 0 : i32} : !tile.view<1xf32> -> tensor<64xf32>
  return
}

// -----

func.func @load_of_an_empty_tile(%v: !tile.view<2xf32>, %i: index) {
  // expected-error @+1 {{must be tile (1 to 5 static, positive dimensions, at most 1048576 elements) of}}
  %0 = tile.load %v[%i, %i] : !tile.view<2xf32> -> tensor<64x0xf32>
  return
}

// -----

func.func @load_of_a_dynamic_tile(%v: !tile.view<1xf32>, %i: index) {
  // expected-error @+1 {{must be tile (1 to 5 static, positive dimensions, at most 1048576 elements) of}}
  %0 = tile.load %v[%i] : !tile.view<1xf32> -> tensor<?xf32>
  return
}

// -----

func.func @load_of_a_tile_without_dimensions(%v: !tile.view<1xf32>, %i: index) {
  // expected-error @+1 {{must be tile (1 to 5 static, positive dimensions, at most 1048576 elements) of}}
  %0 = tile.load %v[%i] : !tile.view<1xf32> -> tensor<f32>
  return
}

// -----

func.func @load_of_a_tile_with_six_dimensions(%v: !tile.view<1xf32>, %i: index) {
  // expected-error @+1 {{must be tile (1 to 5 static, positive dimensions, at most 1048576 elements) of}}
  %0 = tile.load %v[%i] : !tile.view<1xf32> -> tensor<1x1x1x1x1x1xf32>
  return
}

// -----

func.func @load_of_a_tile_beyond_the_budget(%v: !tile.view<2xf32>, %i: index) {
  // expected-error @+1 {{must be tile (1 to 5 static, positive dimensions, at most 1048576 elements) of}}
  %0 = tile.load %v[%i, %i] : !tile.view<2xf32> -> tensor<1024x1025xf32>
  return
}

// -----

func.func @the_budget_is_not_fooled_by_overflow(%v: !tile.view<3xf32>, %i: index) {
  // expected-error @+1 {{must be tile (1 to 5 static, positive dimensions, at most 1048576 elements) of}}
  %0 = tile.load %v[%i, %i, %i] : !tile.view<3xf32> -> tensor<4294967296x4294967296x1xf32>
  return
}

// -----

func.func @a_tile_may_fill_the_budget(%v: !tile.view<2xf32>, %i: index) {
  %0 = tile.load %v[%i, %i] : !tile.view<2xf32> -> tensor<1024x1024xf32>
  return
}

// -----

func.func @store_with_too_many_positions(%t: tensor<64xf32>, %v: !tile.view<1xf32>, %i: index) {
  // expected-error @+1 {{'tile.store' op 2 positions for a view of rank 1}}
  tile.store %t, %v[%i, %i] : tensor<64xf32>, !tile.view<1xf32>
  return
}

// -----

func.func @pages_of_another_rank(%v: !tile.view<3xf32>, %table: !tile.view<1xi32>) {
  // expected-error @+1 {{'tile.pages' op makes a view of rank 3 of one of rank 3; expected rank 2}}
  %0 = tile.pages %v[%table] page 16 : !tile.view<3xf32>, !tile.view<1xi32> -> !tile.view<3xf32>
  return
}

// -----

func.func @pages_of_another_type(%v: !tile.view<3xf32>) {
  // expected-error @+1 {{'tile.pages' op the result holds 'f16' but the view holds 'f32'}}
  %0 = tile.pages %v : !tile.view<3xf32> -> !tile.view<2xf16>
  return
}

// -----

func.func @a_table_of_i64(%v: !tile.view<3xf32>, %table: !tile.view<1xi64>) {
  // expected-error @+1 {{'tile.pages' op has a table of '!tile.view<1xi64>'; a table is a view of i32 of rank 1}}
  %0 = tile.pages %v[%table] page 16 : !tile.view<3xf32>, !tile.view<1xi64> -> !tile.view<2xf32>
  return
}

// -----

func.func @a_table_that_is_written(%v: !tile.view<3xf32>, %table: !tile.view<1xi32> {tile.written}) {
  // expected-error @+1 {{'tile.pages' op has a table that the program writes, or that is not a tensor; take a tensor that it only reads}}
  %0 = tile.pages %v[%table] page 16 : !tile.view<3xf32>, !tile.view<1xi32> -> !tile.view<2xf32>
  return
}

// -----

func.func @a_table_without_a_page(%v: !tile.view<3xf32>, %table: !tile.view<1xi32>) {
  // expected-error @+1 {{'tile.pages' op has a table but no 'page'; say how many rows a page has}}
  %0 = tile.pages %v[%table] : !tile.view<3xf32>, !tile.view<1xi32> -> !tile.view<2xf32>
  return
}

// -----

func.func @lengths_of_i64(%v: !tile.view<3xf32>, %table: !tile.view<1xi32>, %lengths: !tile.view<1xi64>) {
  // expected-error @+1 {{'tile.pages' op has a list of lengths of '!tile.view<1xi64>'; a list of lengths is a view of i32 of rank 1}}
  %0 = tile.pages %v[%table] lengths %lengths page 16 : !tile.view<3xf32>, !tile.view<1xi32>, !tile.view<1xi64> -> !tile.view<2xf32>
  return
}

// -----

func.func @lengths_without_a_table(%v: !tile.view<3xf32>, %lengths: !tile.view<1xi32>) {
  // expected-error @+1 {{'tile.pages' op has lengths of pages but no table; say which pages these are}}
  %0 = "tile.pages"(%v, %lengths) <{operandSegmentSizes = array<i32: 1, 0, 1>, page = 16 : i64}> : (!tile.view<3xf32>, !tile.view<1xi32>) -> !tile.view<2xf32>
  return
}

// -----

func.func @pages_in_pages(%v: !tile.view<4xf32>, %i: index) {
  %0 = tile.pages %v page 16 : !tile.view<4xf32> -> !tile.view<3xf32>
  %1 = tile.rows %0[%i, %i] : !tile.view<3xf32>
  // expected-error @+1 {{'tile.pages' op has pages that lie in pages themselves}}
  %2 = tile.pages %1 page 16 : !tile.view<3xf32> -> !tile.view<2xf32>
  return
}

// -----

func.func @a_counter_in_pages(%v: !tile.view<2xi32>) {
  %0 = tile.pages %v page 16 : !tile.view<2xi32> -> !tile.view<1xi32>
  // expected-error @+1 {{'tile.next_work' op counts with rows in pages; a counter is the first element of a tensor}}
  %1 = tile.next_work %0 : !tile.view<1xi32>
  return
}

// -----

func.func @atomic_add_that_converts(%t: tensor<64xf32>, %v: !tile.view<1xbf16>, %i: index) {
  // expected-error @+1 {{'tile.atomic_add' op the tile holds 'f32' but the view holds 'bf16'}}
  tile.atomic_add %t, %v[%i] : tensor<64xf32>, !tile.view<1xbf16>
  return
}

// -----

func.func @turns_of_a_matrix(%t: tensor<64xf32>, %v: !tile.view<1xf32>, %turns: !tile.view<2xi32>, %i: index, %n: i32) {
  // expected-error @+1 {{'tile.atomic_add' op counts turns in '!tile.view<2xi32>'; counters are a view of i32 of rank 1}}
  tile.atomic_add %t, %v[%i] turn %n of %turns[%i] next %n : tensor<64xf32>, !tile.view<1xf32>, !tile.view<2xi32>
  return
}

// -----

func.func @arrivals_in_a_matrix(%counters: !tile.view<2xi32>, %i: index, %n: i32) -> i1 {
  // expected-error @+1 {{'tile.arrive' op counts arrivals in '!tile.view<2xi32>'; counters are a view of i32 of rank 1}}
  %last = tile.arrive %counters[%i] of %n : !tile.view<2xi32>
  return %last : i1
}

// -----

func.func @a_part_of_a_turn(%t: tensor<64xf32>, %v: !tile.view<1xf32>, %i: index, %n: i32) {
  // expected-error @+1 {{'tile.atomic_add' op has a part of a turn; turn, turns, place and next belong together}}
  "tile.atomic_add"(%t, %v, %i, %n) <{operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0>}>
    : (tensor<64xf32>, !tile.view<1xf32>, index, i32) -> ()
  return
}

// -----

func.func @atomic_add_of_bf16(%t: tensor<64xbf16>, %v: !tile.view<1xbf16>, %i: index) {
  // expected-error @+1 {{operand #0 must be tile (1 to 5 static, positive dimensions, at most 1048576 elements) of 32-bit float or 32-bit signless integer values, but got 'tensor<64xbf16>'}}
  tile.atomic_add %t, %v[%i] : tensor<64xbf16>, !tile.view<1xbf16>
  return
}

// -----

func.func @gather_with_too_few_indices(%v: !tile.view<2xf32>, %i: tensor<8xi32>) {
  // expected-error @+1 {{'tile.gather' op 1 index tiles for a view of rank 2}}
  %0 = tile.gather %v[%i] : !tile.view<2xf32>, tensor<8xi32> -> tensor<8xf32>
  return
}

// -----

func.func @gather_with_indices_of_another_shape(%v: !tile.view<2xf32>, %i: tensor<8x4xi32>, %j: tensor<8x1xi32>) {
  // expected-error @+1 {{'tile.gather' op an index tile is 8x1; expected 8x4}}
  %0 = tile.gather %v[%i, %j] : !tile.view<2xf32>, tensor<8x4xi32>, tensor<8x1xi32> -> tensor<8x4xf32>
  return
}

// -----

func.func @gather_of_one_element_by_tiles(%v: !tile.view<2xf32>, %i: index, %j: tensor<8xi32>) {
  // expected-error @+1 {{'tile.gather' op an index tile is 8; expected a scalar}}
  %0 = tile.gather %v[%i, %j] : !tile.view<2xf32>, index, tensor<8xi32> -> f32
  return
}

// -----

func.func @gather_that_converts(%v: !tile.view<1xf16>, %i: tensor<8xi32>) {
  // expected-error @+1 {{'tile.gather' op the tile holds 'f32' but the view holds 'f16'}}
  %0 = tile.gather %v[%i] : !tile.view<1xf16>, tensor<8xi32> -> tensor<8xf32>
  return
}

// -----

func.func @gather_with_fractional_indices(%v: !tile.view<1xf32>, %i: tensor<8xf32>) {
  // expected-error @+1 {{operand #1 must be variadic of tile (1 to 5 static, positive dimensions, at most 1048576 elements) of 32-bit signless integer or 64-bit signless integer or index values or integer scalar, but got 'tensor<8xf32>'}}
  %0 = tile.gather %v[%i] : !tile.view<1xf32>, tensor<8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @scatter_add_with_indices_of_another_shape(%t: tensor<4xf32>, %v: !tile.view<1xf32>, %i: tensor<8xi32>) {
  // expected-error @+1 {{'tile.scatter_add' op an index tile is 8; expected 4}}
  tile.scatter_add %t, %v[%i] : tensor<4xf32>, !tile.view<1xf32>, tensor<8xi32>
  return
}

// -----

func.func @work_counted_in_a_float(%v: !tile.view<1xf32>) -> i32 {
  // expected-error @+1 {{'tile.next_work' op counts with '!tile.view<1xf32>'; a counter is an i32 of a view of rank 1}}
  %0 = tile.next_work %v : !tile.view<1xf32>
  return %0 : i32
}

// -----

func.func @work_counted_in_a_matrix(%v: !tile.view<2xi32>) -> i32 {
  // expected-error @+1 {{a counter is an i32 of a view of rank 1}}
  %0 = tile.next_work %v : !tile.view<2xi32>
  return %0 : i32
}

// -----

func.func @scatter_with_indices_of_another_shape(%t: tensor<4xi8>, %v: !tile.view<1xi8>, %i: tensor<8xi32>) {
  // expected-error @+1 {{'tile.scatter' op an index tile is 8; expected 4}}
  tile.scatter %t, %v[%i] : tensor<4xi8>, !tile.view<1xi8>, tensor<8xi32>
  return
}

// -----

func.func @scatter_with_too_few_indices(%t: tensor<8xi8>, %v: !tile.view<2xi8>, %i: tensor<8xi32>) {
  // expected-error @+1 {{'tile.scatter' op 1 index tiles for a view of rank 2}}
  tile.scatter %t, %v[%i] : tensor<8xi8>, !tile.view<2xi8>, tensor<8xi32>
  return
}

// -----

func.func @scatter_that_converts(%t: tensor<8xf32>, %v: !tile.view<1xf16>, %i: tensor<8xi32>) {
  // expected-error @+1 {{'tile.scatter' op the tile holds 'f32' but the view holds 'f16'}}
  tile.scatter %t, %v[%i] : tensor<8xf32>, !tile.view<1xf16>, tensor<8xi32>
  return
}

// -----

func.func @store_where_another_shape_holds(%t: tensor<64xf32>, %v: !tile.view<1xf32>, %i: index, %c: tensor<32xi1>) {
  // expected-error @+1 {{'tile.store' op the condition is 32; expected 64}}
  tile.store %t, %v[%i] where %c : tensor<64xf32>, !tile.view<1xf32>, tensor<32xi1>
  return
}
