// RUN: tegula-opt %s --split-input-file --verify-diagnostics

func.func @scores_of_rank_1(%s: tensor<8xf32>, %v: tensor<8x16xf32>, %m: tensor<4xf32>, %o: tensor<4x16xf32>) {
  // expected-error @+1 {{'tile.softmax_update' op scores has rank 1; expected rank 2}}
  %0:3 = tile.softmax_update %s, %v, %m, %m, %o
    : tensor<8xf32>, tensor<8x16xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>
  return
}

// -----

func.func @values_of_rank_1(%s: tensor<4x8xf32>, %v: tensor<16xf32>, %m: tensor<4xf32>, %o: tensor<4x16xf32>) {
  // expected-error @+1 {{'tile.softmax_update' op values has rank 1; expected rank 2}}
  %0:3 = tile.softmax_update %s, %v, %m, %m, %o
    : tensor<4x8xf32>, tensor<16xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>
  return
}

// -----

func.func @values_for_other_keys(%s: tensor<4x8xf32>, %v: tensor<4x16xf32>, %m: tensor<4xf32>, %o: tensor<4x16xf32>) {
  // expected-error @+1 {{'tile.softmax_update' op values is 4x16; expected 8x16}}
  %0:3 = tile.softmax_update %s, %v, %m, %m, %o
    : tensor<4x8xf32>, tensor<4x16xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>
  return
}

// -----

func.func @max_of_other_rows(%s: tensor<4x8xf32>, %v: tensor<8x16xf32>, %m: tensor<8xf32>, %l: tensor<4xf32>, %o: tensor<4x16xf32>) {
  // expected-error @+1 {{'tile.softmax_update' op max is 8; expected 4}}
  %0:3 = tile.softmax_update %s, %v, %m, %l, %o
    : tensor<4x8xf32>, tensor<8x16xf32>, tensor<8xf32>, tensor<4xf32>, tensor<4x16xf32>
  return
}

// -----

func.func @sum_of_other_rows(%s: tensor<4x8xf32>, %v: tensor<8x16xf32>, %m: tensor<4xf32>, %l: tensor<4x1xf32>, %o: tensor<4x16xf32>) {
  // expected-error @+1 {{'tile.softmax_update' op sum is 4x1; expected 4}}
  %0:3 = tile.softmax_update %s, %v, %m, %l, %o
    : tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xf32>, tensor<4x1xf32>, tensor<4x16xf32>
  return
}

// -----

func.func @output_of_other_columns(%s: tensor<4x8xf32>, %v: tensor<8x16xf32>, %m: tensor<4xf32>, %o: tensor<4x8xf32>) {
  // expected-error @+1 {{'tile.softmax_update' op output is 4x8; expected 4x16}}
  %0:3 = tile.softmax_update %s, %v, %m, %m, %o
    : tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x8xf32>
  return
}

// -----

func.func @another_type_of_new_max(%s: tensor<4x8xf32>, %v: tensor<8x16xf32>, %m: tensor<4xf32>, %o: tensor<4x16xf32>) {
  // expected-error @+1 {{'tile.softmax_update' op failed to verify that new_max has the type of max}}
  %0:3 = "tile.softmax_update"(%s, %v, %m, %m, %o)
    : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>)
    -> (tensor<5xf32>, tensor<4xf32>, tensor<4x16xf32>)
  return
}

// -----

func.func @another_type_of_new_sum(%s: tensor<4x8xf32>, %v: tensor<8x16xf32>, %m: tensor<4xf32>, %o: tensor<4x16xf32>) {
  // expected-error @+1 {{'tile.softmax_update' op failed to verify that new_sum has the type of sum}}
  %0:3 = "tile.softmax_update"(%s, %v, %m, %m, %o)
    : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>)
    -> (tensor<4xf32>, tensor<5xf32>, tensor<4x16xf32>)
  return
}

// -----

func.func @another_type_of_new_output(%s: tensor<4x8xf32>, %v: tensor<8x16xf32>, %m: tensor<4xf32>, %o: tensor<4x16xf32>) {
  // expected-error @+1 {{'tile.softmax_update' op failed to verify that new_output has the type of output}}
  %0:3 = "tile.softmax_update"(%s, %v, %m, %m, %o)
    : (tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>)
    -> (tensor<4xf32>, tensor<4xf32>, tensor<4x8xf32>)
  return
}

// -----

func.func @output_of_rank_1(%l: tensor<4xf32>, %o: tensor<4xf32>) {
  // expected-error @+1 {{'tile.softmax_output' op output has rank 1; expected rank 2}}
  %0 = tile.softmax_output %l, %o : tensor<4xf32>, tensor<4xf32>
  return
}

// -----

func.func @sum_of_other_rows_than_the_output(%l: tensor<8xf32>, %o: tensor<4x16xf32>) {
  // expected-error @+1 {{'tile.softmax_output' op sum is 8; expected 4}}
  %0 = tile.softmax_output %l, %o : tensor<8xf32>, tensor<4x16xf32>
  return
}

// -----

func.func @another_type_of_result(%l: tensor<4xf32>, %o: tensor<4x16xf32>) {
  // expected-error @+1 {{'tile.softmax_output' op failed to verify that result has the type of output}}
  %0 = "tile.softmax_output"(%l, %o) : (tensor<4xf32>, tensor<4x16xf32>) -> tensor<4x8xf32>
  return
}

// -----

func.func @sum_of_another_shape_than_max(%m: tensor<4xf32>, %l: tensor<8xf32>) {
  // expected-error @+1 {{'tile.softmax_lse' op requires the same type for all operands and results}}
  %0 = "tile.softmax_lse"(%m, %l) : (tensor<4xf32>, tensor<8xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @values_of_8_bits(%s: tensor<4x8xf32>, %v: tensor<8x16xf8E4M3FN>, %m: tensor<4xf32>, %o: tensor<4x16xf32>) {
  // expected-error-re @+1 {{'tile.softmax_update' op operand #1 must be tile {{.*}} of 32-bit float or 16-bit float or bfloat16 type values, but got 'tensor<8x16xf8E4M3FN>'}}
  %0:3 = tile.softmax_update %s, %v, %m, %m, %o
    : tensor<4x8xf32>, tensor<8x16xf8E4M3FN>, tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>
  return
}

// -----

func.func @keep_of_other_keys(%s: tensor<4x8xf32>, %v: tensor<8x16xf32>, %m: tensor<4xf32>, %o: tensor<4x16xf32>, %keep: tensor<4x16xi1>) {
  // expected-error @+1 {{'tile.softmax_update' op keep is 4x16; expected 4x8}}
  %0:3 = tile.softmax_update %s, %v, %m, %m, %o keep %keep
    : tensor<4x8xf32>, tensor<8x16xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4x16xf32>, tensor<4x16xi1>
  return
}
