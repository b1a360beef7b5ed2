// RUN: tegula-opt %s --split-input-file --verify-diagnostics

func.func @iota_of_rank_2() {
  // expected-error @+1 {{'tile.iota' op the result has rank 2; expected rank 1}}
  %0 = tile.iota : tensor<4x4xi32>
  return
}

// -----

func.func @broadcast_that_converts(%x: i32) {
  // expected-error @+1 {{'tile.broadcast' op the result holds 'f32' but the source holds 'i32'}}
  %0 = tile.broadcast %x : i32 -> tensor<4xf32>
  return
}

// -----

func.func @broadcast_to_another_rank(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tile.broadcast' op the source has rank 1; expected rank 2}}
  %0 = tile.broadcast %x : tensor<4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @broadcast_that_repeats_a_block(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{'tile.broadcast' op dimension 1 is 2 in the source and 4 in the result; only a dimension of size 1 can be repeated}}
  %0 = tile.broadcast %x : tensor<4x2xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @reshape_to_more_elements(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{'tile.reshape' op the source, 4x2, has 8 elements but the result, 3x3, has 9}}
  %0 = tile.reshape %x : tensor<4x2xf32> -> tensor<3x3xf32>
  return
}

// -----

func.func @reshape_that_converts(%x: tensor<4xf32>) {
  // expected-error @+1 {{'tile.reshape' op the result holds 'bf16' but the source holds 'f32'}}
  %0 = tile.reshape %x : tensor<4xf32> -> tensor<2x2xbf16>
  return
}

// -----

func.func @transpose_with_a_dimension_twice(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{'tile.transpose' op [1, 1] is not a permutation of the numbers 0 to 1}}
  %0 = tile.transpose %x [1, 1] : tensor<4x2xf32> -> tensor<2x2xf32>
  return
}

// -----

func.func @transpose_with_too_few_dimensions(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{'tile.transpose' op [0] is not a permutation of the numbers 0 to 1}}
  %0 = tile.transpose %x [0] : tensor<4x2xf32> -> tensor<4x2xf32>
  return
}

// -----

func.func @transpose_to_a_wrong_shape(%x: tensor<2x3x4xf32>) {
  // expected-error @+1 {{'tile.transpose' op the result is 3x4x2; expected 4x2x3}}
  %0 = tile.transpose %x [2, 0, 1] : tensor<2x3x4xf32> -> tensor<3x4x2xf32>
  return
}

// -----

func.func @transpose_that_converts(%x: tensor<4x2xf32>) {
  // expected-error @+1 {{'tile.transpose' op the result holds 'i32' but the source holds 'f32'}}
  %0 = tile.transpose %x [1, 0] : tensor<4x2xf32> -> tensor<2x4xi32>
  return
}

// -----

func.func @columns_beyond_the_end(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tile.columns' op takes 4 columns from 2 step 2, but the source has 8}}
  %0 = tile.columns %x from 2 step 2 : tensor<4x8xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @columns_of_other_rows(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tile.columns' op the result is 3x4; expected 4x4}}
  %0 = tile.columns %x from 0 step 1 : tensor<4x8xf32> -> tensor<3x4xf32>
  return
}

// -----

func.func @columns_that_convert(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tile.columns' op the result holds 'f16' but the source holds 'f32'}}
  %0 = tile.columns %x from 0 step 1 : tensor<4x8xf32> -> tensor<4x4xf16>
  return
}

// -----

func.func @join_of_other_rows(%x: tensor<4x8xf32>, %y: tensor<3x2xf32>) {
  // expected-error @+1 {{'tile.join' op right is 3x2; expected 4x2}}
  %0 = tile.join %x, %y : tensor<4x8xf32>, tensor<3x2xf32> -> tensor<4x10xf32>
  return
}

// -----

func.func @join_to_too_few_columns(%x: tensor<4x8xf32>, %y: tensor<4x2xf32>) {
  // expected-error @+1 {{'tile.join' op the result is 4x9; expected 4x10}}
  %0 = tile.join %x, %y : tensor<4x8xf32>, tensor<4x2xf32> -> tensor<4x9xf32>
  return
}

// -----

func.func @interleave_of_other_columns(%x: tensor<4x8xf32>, %y: tensor<4x2xf32>) {
  // expected-error @+1 {{'tile.join' op right is 4x2; expected 4x8}}
  %0 = tile.join %x, %y {interleave} : tensor<4x8xf32>, tensor<4x2xf32> -> tensor<4x10xf32>
  return
}

// -----

func.func @join_of_other_elements(%x: tensor<4x8xf32>, %y: tensor<4x8xf16>) {
  // expected-error @+1 {{'tile.join' op right holds 'f16' but left holds 'f32'}}
  %0 = tile.join %x, %y : tensor<4x8xf32>, tensor<4x8xf16> -> tensor<4x16xf32>
  return
}
