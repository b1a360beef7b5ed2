// RUN: tegula-opt %s --base2-exponentials --canonicalize | FileCheck %s

// CHECK-LABEL: @exp_becomes_exp2
// CHECK: %[[LOG2E:.*]] = arith.constant dense<1.44269502> : tensor<8xf32>
// CHECK: %[[EXPONENT:.*]] = arith.mulf %arg0, %[[LOG2E]]
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
// CHECK: arith.mulf %[[LOG2]], %[[LN2]]
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

// CHECK-LABEL: @a_difference_is_taken_before_it_is_scaled
// CHECK: %[[DIFFERENCE:.*]] = arith.subf
// CHECK: %[[EXPONENT:.*]] = arith.mulf %[[DIFFERENCE]]
// CHECK: math.exp2 %[[EXPONENT]]
func.func @a_difference_is_taken_before_it_is_scaled(%s: tensor<8xf32>, %lse: f32) -> tensor<8xf32> {
  %lses = tile.broadcast %lse : f32 -> tensor<8xf32>
  %0 = arith.subf %s, %lses : tensor<8xf32>
  %1 = math.exp %0 : tensor<8xf32>
  return %1 : tensor<8xf32>
}
