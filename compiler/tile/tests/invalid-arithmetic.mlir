// RUN: tegula-opt %s --split-input-file --verify-diagnostics

func.func @dot_of_vectors(%a: tensor<4xf32>, %b: tensor<4x4xf32>) {
  // expected-error @+1 {{'tile.dot' op lhs has rank 1; expected rank 2}}
  %0 = tile.dot %a, %b : tensor<4xf32>, tensor<4x4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @dot_with_a_vector(%a: tensor<4x4xf32>, %b: tensor<4xf32>) {
  // expected-error @+1 {{'tile.dot' op rhs has rank 1; expected rank 2}}
  %0 = tile.dot %a, %b : tensor<4x4xf32>, tensor<4xf32> -> tensor<4x4xf32>
  return
}

// -----

func.func @dot_of_other_inner_sizes(%a: tensor<64x128xf32>, %b: tensor<64x32xf32>) {
  // expected-error @+1 {{'tile.dot' op inner sizes differ: lhs is 64x128, rhs is 64x32; expected rhs to have 128 rows}}
  %0 = tile.dot %a, %b : tensor<64x128xf32>, tensor<64x32xf32> -> tensor<64x32xf32>
  return
}

// -----

func.func @dot_of_other_inner_sizes_transposed(%a: tensor<64x128xf32>, %b: tensor<64x32xf32>) {
  // expected-error @+1 {{'tile.dot' op inner sizes differ: lhs is 64x128 (transposed), rhs is 64x32 (transposed); expected rhs to have 64 columns}}
  %0 = tile.dot %a, %b {transpose_lhs, transpose_rhs} : tensor<64x128xf32>, tensor<64x32xf32> -> tensor<128x64xf32>
  return
}

// -----

func.func @dot_onto_a_wrong_acc(%a: tensor<64x128xf32>, %b: tensor<128x32xf32>, %c: tensor<32x64xf32>) {
  // expected-error @+1 {{'tile.dot' op acc is 32x64; expected 64x32}}
  %0 = tile.dot %a, %b acc %c : tensor<64x128xf32>, tensor<128x32xf32>, tensor<32x64xf32> -> tensor<64x32xf32>
  return
}

// -----

func.func @dot_to_a_wrong_shape(%a: tensor<64x128xf32>, %b: tensor<32x128xf32>) {
  // expected-error @+1 {{'tile.dot' op the result is 64x128; expected 64x32}}
  %0 = tile.dot %a, %b {transpose_rhs} : tensor<64x128xf32>, tensor<32x128xf32> -> tensor<64x128xf32>
  return
}

// -----

func.func @dot_of_integers(%a: tensor<4x4xi8>) {
  // expected-error @+1 {{operand #0 must be tile (1 to 5 static, positive dimensions, at most 1048576 elements) of 32-bit float or 16-bit float or bfloat16 type or f8E4M3FN type values, but got 'tensor<4x4xi8>'}}
  %0 = tile.dot %a, %a : tensor<4x4xi8>, tensor<4x4xi8> -> tensor<4x4xf32>
  return
}

// -----

func.func @reduce_along_an_axis_that_is_not_there(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tile.reduce' op axis is 2; expected 0 to 1}}
  %0 = tile.reduce add %x axis 2 : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @reduce_to_a_wrong_shape(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tile.reduce' op the result is 8; expected 4}}
  %0 = tile.reduce add %x axis 1 : tensor<4x8xf32> -> tensor<8xf32>
  return
}

// -----

func.func @reduce_that_converts(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tile.reduce' op the result holds 'i32' but the source holds 'f32'}}
  %0 = tile.reduce add %x axis 1 : tensor<4x8xf32> -> tensor<4xi32>
  return
}

// -----

func.func @reduce_to_a_scalar(%x: tensor<8xf32>) {
  // expected-error @+1 {{'tile.reduce' op the source has rank 1; reshape it to rank 2 first, so that a tile remains}}
  %0 = tile.reduce add %x axis 0 : tensor<8xf32> -> tensor<1xf32>
  return
}

// -----

func.func @reduce_of_an_unknown_kind(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{expected string or keyword containing one of the following enum values for attribute 'kind' [add, max, min]}}
  %0 = tile.reduce mean %x axis 1 : tensor<4x8xf32> -> tensor<4xf32>
  return
}

// -----

func.func @cumsum_along_no_axis(%x: tensor<4x8xf32>) {
  // expected-error @+1 {{'tile.cumsum' op axis is 2; expected 0 to 1}}
  %0 = tile.cumsum %x axis 2 : tensor<4x8xf32>
  return
}

// -----

func.func @random_numbers_of_16_bits(%seed: i64, %stream: i32, %row: tensor<4xi32>) {
  // expected-error @+1 {{'tile.random' op attribute 'bits' failed to satisfy constraint: 64-bit signless integer attribute whose value is 8 or 32}}
  %0 = tile.random %seed, %seed, %stream at %row, %row bits 16 rounds 10 : tensor<4xi32>
  return
}

// -----

func.func @random_numbers_of_few_rounds(%seed: i64, %stream: i32, %row: tensor<4xi32>) {
  // expected-error @+1 {{'tile.random' op attribute 'rounds' failed to satisfy constraint: 64-bit signless integer attribute whose minimum value is 7 whose maximum value is 16}}
  %0 = tile.random %seed, %seed, %stream at %row, %row bits 8 rounds 6 : tensor<4xi32>
  return
}
