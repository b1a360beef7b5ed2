// RUN: tegula-opt %s --split-input-file --verify-diagnostics

// expected-error @+1 {{expected a rank and an element type, such as '<2xbf16>'}}
func.func private @two_ranks(!tile.view<2x3xf32>)

// -----

// expected-error @+1 {{a view of rank 6; views have rank 1 to 5}}
func.func private @rank_6(!tile.view<6xf32>)

// -----

// expected-error @+1 {{a view of rank 0; views have rank 1 to 5}}
func.func private @rank_0(!tile.view<0xf32>)

// -----

// expected-error @+1 {{a view of 'i1'; tensors in memory hold f32, f16, bf16, f8E4M3FN, i64, i32 or i8}}
func.func private @conditions_in_memory(!tile.view<1xi1>)

// -----

// expected-error @+1 {{a view of 'index'; tensors in memory hold f32, f16, bf16, f8E4M3FN, i64, i32 or i8}}
func.func private @positions_in_memory(!tile.view<1xindex>)

// -----

// expected-error @+1 {{tile.version is 2 : i64; this compiler reads version 1}}
module attributes {tile.version = 2 : i64} {}

// -----

// expected-error @+1 {{tile.version is "1"; this compiler reads version 1}}
module attributes {tile.version = "1"} {}

// -----

func.func @branch_of_each_warp(%condition: i1) {
  // expected-error @+1 {{tile.warp_local is a unit attribute of a tile.dot}}
  scf.if %condition {
  } {tile.warp_local}
  return
}

// -----

func.func @fast_path_of_nothing(%condition: i1) {
  // expected-error @+1 {{tile.fast_path is a unit attribute of an scf.if with two sides}}
  scf.if %condition {
  } {tile.fast_path}
  return
}

// -----

func.func @rare_loop(%n: index) {
  // expected-error @+1 {{tile.rare is a unit attribute of an scf.if, a tile.load or a tile.atomic_add}}
  scf.for %i = %n to %n step %n {
  } {tile.rare}
  return
}

// -----

func.func @parallel_branch(%condition: i1) {
  // expected-error @+1 {{tile.parallel is a unit attribute of an scf.for or scf.while}}
  scf.if %condition {
  } {tile.parallel}
  return
}

// -----

func.func @grid_of_four_dimensions() {
  // expected-error @+1 {{attribute 'axis' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 0 whose maximum value is 2}}
  %0 = tile.program_id 3
  return
}

// -----

func.func @dim_of_an_axis_that_is_not_there(%v: !tile.view<2xf32>) {
  // expected-error @+1 {{'tile.dim' op axis is 2; expected 0 to 1}}
  %0 = tile.dim %v 2 : !tile.view<2xf32>
  return
}

// -----

func.func @dim_of_a_negative_axis(%v: !tile.view<2xf32>) {
  // expected-error @+1 {{attribute 'axis' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %0 = tile.dim %v -1 : !tile.view<2xf32>
  return
}

// -----

func.func @slice_to_a_wrong_rank(%v: !tile.view<4xf32>, %i: index) {
  // expected-error @+1 {{'tile.slice' op fixes 2 of 4 dimensions but the result has rank 3}}
  %0 = tile.slice %v[%i, %i] : !tile.view<4xf32> -> !tile.view<3xf32>
  return
}

// -----

func.func @slice_after_the_last_dimension(%v: !tile.view<4xf32>, %i: index) {
  // expected-error @+1 {{'tile.slice' op fixes dimensions from 3 on, but the result has rank 2}}
  %0 = tile.slice %v[%i, %i] axis 3 : !tile.view<4xf32> -> !tile.view<2xf32>
  return
}

// -----

func.func @slice_to_another_element_type(%v: !tile.view<4xbf16>, %i: index) {
  // expected-error @+1 {{'tile.slice' op the result holds 'f32' but the view holds 'bf16'}}
  %0 = tile.slice %v[%i, %i] : !tile.view<4xbf16> -> !tile.view<2xf32>
  return
}
