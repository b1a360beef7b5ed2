// RUN: tegula-opt %s --base2-exponentials --canonicalize | FileCheck %s

// CHECK-LABEL: @exp_becomes_exp2
// CHECK: %[[LOG2E:.*]] = arith.constant dense<1.44269502> : tensor<8xf32>
// CHECK: %[[EXPONENT:.*]] = arith.mulf %arg0, %[[LOG2E]] fastmath<reassoc,contract>
// CHECK: math.exp2 %[[EXPONENT]]
func.func @exp_becomes_exp2(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.exp %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @scalars_too
// CHECK: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK: %[[EXPONENT:.*]] = arith.mulf %arg0, %[[LOG2E]]
// CHECK: math.exp2 %[[EXPONENT]]
func.func @scalars_too(%x: f32) -> f32 {
  %0 = math.exp %x : f32
  return %0 : f32
}

// CHECK-LABEL: @log_becomes_log2
// CHECK: %[[LN2:.*]] = arith.constant dense<0.693147182> : tensor<8xf32>
// CHECK: %[[LOG2:.*]] = math.log2 %arg0
// CHECK: arith.mulf %[[LOG2]], %[[LN2]] fastmath<contract>
func.func @log_becomes_log2(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.log %x : tensor<8xf32>
  return %0 : tensor<8xf32>
}

// CHECK-LABEL: @f16_stays_because_the_factor_would_be_rounded
// CHECK-NEXT: math.exp %arg0
// CHECK-NEXT: math.log
func.func @f16_stays_because_the_factor_would_be_rounded(%x: tensor<8xf16>) -> tensor<8xf16> {
  %0 = math.exp %x : tensor<8xf16>
  %1 = math.log %0 : tensor<8xf16>
  return %1 : tensor<8xf16>
}

// CHECK-LABEL: @a_constant_scale_folds_into_the_exponent
// CHECK: %[[FACTOR:.*]] = arith.constant dense<0.180336878> : tensor<8xf32>
// CHECK: %[[EXPONENT:.*]] = arith.mulf %arg0, %[[FACTOR]]
// CHECK: math.exp2 %[[EXPONENT]]
func.func @a_constant_scale_folds_into_the_exponent(%x: tensor<8xf32>) -> tensor<8xf32> {
  %scale = arith.constant dense<0.125> : tensor<8xf32>
  %0 = arith.mulf %scale, %x : tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: @a_scalar_scale_folds_into_the_exponent
// CHECK: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK: %[[FACTOR:.*]] = arith.mulf %arg1, %[[LOG2E]]
// CHECK: %[[FACTORS:.*]] = tile.broadcast %[[FACTOR]] : f32 -> tensor<8xf32>
// CHECK: %[[EXPONENT:.*]] = arith.mulf %arg0, %[[FACTORS]]
// CHECK: math.exp2 %[[EXPONENT]]
func.func @a_scalar_scale_folds_into_the_exponent(%x: tensor<8xf32>, %scale: f32) -> tensor<8xf32> {
  %scales = tile.broadcast %scale : f32 -> tensor<8xf32>
  %0 = arith.mulf %x, %scales : tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: @a_scale_that_differs_between_elements_stays
// CHECK: %[[SCALED:.*]] = arith.mulf %arg0, %arg1 :
// CHECK: arith.mulf %[[SCALED]]
func.func @a_scale_that_differs_between_elements_stays(%x: tensor<8xf32>, %scale: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.mulf %x, %scale : tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: @a_negation_folds_into_the_exponent
// CHECK: %[[FACTOR:.*]] = arith.constant dense<-1.44269502> : tensor<8xf32>
// CHECK: %[[EXPONENT:.*]] = arith.mulf %arg0, %[[FACTOR]]
// CHECK: math.exp2 %[[EXPONENT]]
func.func @a_negation_folds_into_the_exponent(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.negf %x : tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// The probabilities of a backward pass: one fused multiply-add per element.
// CHECK-LABEL: @exp_of_scaled_scores_minus_log_sum_exp
// CHECK-SAME: (%[[QK:.*]]: tensor<4x8xf32>, %[[SCALE:.*]]: f32, %[[LSE:.*]]: tensor<4x1xf32>)
// CHECK-DAG: %[[FACTOR:.*]] = arith.mulf %[[SCALE]]
// CHECK-DAG: %[[FACTORS:.*]] = tile.broadcast %[[FACTOR]] : f32 -> tensor<4x8xf32>
// CHECK-DAG: %[[SCALED:.*]] = arith.mulf %[[QK]], %[[FACTORS]]
// CHECK-DAG: %[[ORIGIN:.*]] = arith.mulf %[[LSE]]
// CHECK-DAG: %[[ORIGINS:.*]] = tile.broadcast %[[ORIGIN]] : tensor<4x1xf32> -> tensor<4x8xf32>
// CHECK: %[[EXPONENT:.*]] = arith.subf %[[SCALED]], %[[ORIGINS]] fastmath<contract>
// CHECK: math.exp2 %[[EXPONENT]]
func.func @exp_of_scaled_scores_minus_log_sum_exp(%qk: tensor<4x8xf32>, %scale: f32, %lse: tensor<4x1xf32>) -> tensor<4x8xf32> {
  %scales = tile.broadcast %scale : f32 -> tensor<4x8xf32>
  %s = arith.mulf %qk, %scales : tensor<4x8xf32>
  %lses = tile.broadcast %lse : tensor<4x1xf32> -> tensor<4x8xf32>
  %0 = arith.subf %s, %lses : tensor<4x8xf32>
  %1 = math.exp %0 : tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// CHECK-LABEL: @a_difference_of_two_tiles_stays
// CHECK: %[[DIFFERENCE:.*]] = arith.subf %arg0, %arg1 :
// CHECK: arith.mulf %[[DIFFERENCE]]
func.func @a_difference_of_two_tiles_stays(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %0 = arith.subf %x, %y : tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK-LABEL: @products_outside_exponents_keep_their_rounding
// CHECK: %[[ONCE:.*]] = arith.mulf %arg0
// CHECK: arith.mulf %[[ONCE]]
func.func @products_outside_exponents_keep_their_rounding(%x: tensor<8xf32>) -> tensor<8xf32> {
  %c = arith.constant dense<0.1> : tensor<8xf32>
  %0 = arith.mulf %x, %c : tensor<8xf32>
  %1 = arith.mulf %0, %c : tensor<8xf32>
  return %1 : tensor<8xf32>
}

// The factor meets a base-2 logarithm: ln2 * log2e is 1.
// CHECK-LABEL: @a_power_is_one_product
// CHECK-NEXT: %[[LOG2:.*]] = math.log2 %arg0
// CHECK-NEXT: math.exp2 %[[LOG2]]
func.func @a_power_is_one_product(%x: tensor<8xf32>) -> tensor<8xf32> {
  %0 = math.log %x : tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
