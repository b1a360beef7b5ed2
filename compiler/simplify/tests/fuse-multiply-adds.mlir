// RUN: tegula-opt %s --fuse-multiply-adds --canonicalize | FileCheck %s

// CHECK-LABEL: @masked_and_scaled
// CHECK-SAME: %[[C:[a-z0-9]*]]: f32, %[[LSE:[a-z0-9]*]]: tensor<64x1xf32>, %[[MASK:[a-z0-9]*]]: tensor<64x32xi1>
// CHECK-DAG: %[[LOG2E:.*]] = arith.constant 1.44269502 : f32
// CHECK-DAG: %[[MINUS_LOG2E:.*]] = arith.constant dense<-1.44269502> : tensor<64x1xf32>
// CHECK-DAG: %[[MINUS_INF:.*]] = arith.constant dense<0xFF800000> : tensor<64x32xf32>
// CHECK: %[[X:.*]] = tile.dot
// CHECK-DAG: %[[SCALE:.*]] = arith.mulf %[[C]], %[[LOG2E]] : f32
// CHECK-DAG: %[[SCALES:.*]] = tile.broadcast %[[SCALE]] : f32 -> tensor<64x32xf32>
// CHECK-DAG: %[[SHIFT:.*]] = arith.mulf %[[LSE]], %[[MINUS_LOG2E]] : tensor<64x1xf32>
// CHECK-DAG: %[[SHIFTS:.*]] = tile.broadcast %[[SHIFT]] : tensor<64x1xf32> -> tensor<64x32xf32>
// CHECK: %[[EXPONENT:.*]] = math.fma %[[X]], %[[SCALES]], %[[SHIFTS]]
// CHECK: %[[MASKED:.*]] = arith.select %[[MASK]], %[[EXPONENT]], %[[MINUS_INF]]
// CHECK: %[[P:.*]] = math.exp2 %[[MASKED]]
// CHECK: return %[[P]]
func.func @masked_and_scaled(%q: tensor<64x16xbf16>, %k: tensor<32x16xbf16>, %c: f32, %lse: tensor<64x1xf32>,
                             %mask: tensor<64x32xi1>) -> tensor<64x32xf32> {
  %minus_inf = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %x = tile.dot %q, %k {transpose_rhs} : tensor<64x16xbf16>, tensor<32x16xbf16> -> tensor<64x32xf32>
  %cs = tile.broadcast %c : f32 -> tensor<64x32xf32>
  %s = arith.mulf %x, %cs : tensor<64x32xf32>
  %masked = arith.select %mask, %s, %minus_inf : tensor<64x32xi1>, tensor<64x32xf32>
  %lses = tile.broadcast %lse : tensor<64x1xf32> -> tensor<64x32xf32>
  %0 = arith.subf %masked, %lses : tensor<64x32xf32>
  %1 = math.exp %0 : tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}

// CHECK-LABEL: @any_score
// CHECK-DAG: %[[LOG2E:.*]] = arith.constant dense<1.44269502> : tensor<64x32xf32>
// CHECK: %[[SCORE:.*]] = math.tanh
// CHECK: math.fma %[[SCORE]], %[[LOG2E]], %{{.*}} : tensor<64x32xf32>
// CHECK-NEXT: math.exp2
func.func @any_score(%q: tensor<64x16xbf16>, %k: tensor<32x16xbf16>, %lse: tensor<64x1xf32>) -> tensor<64x32xf32> {
  %x = tile.dot %q, %k {transpose_rhs} : tensor<64x16xbf16>, tensor<32x16xbf16> -> tensor<64x32xf32>
  %s = math.tanh %x : tensor<64x32xf32>
  %lses = tile.broadcast %lse : tensor<64x1xf32> -> tensor<64x32xf32>
  %0 = arith.subf %s, %lses : tensor<64x32xf32>
  %1 = math.exp %0 : tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}

// The difference from a maximum stays exact.
// CHECK-LABEL: @relative_to_a_maximum
// CHECK: %[[DIFFERENCE:.*]] = arith.subf
// CHECK-NEXT: math.exp %[[DIFFERENCE]]
func.func @relative_to_a_maximum(%s: tensor<64x32xf32>, %old: tensor<64xf32>, %a: tensor<64x16xbf16>,
                                 %b: tensor<16x32xbf16>) -> (tensor<64x32xf32>, tensor<64x32xf32>) {
  %d = tile.dot %a, %b : tensor<64x16xbf16>, tensor<16x32xbf16> -> tensor<64x32xf32>
  %largest = tile.reduce max %s axis 1 : tensor<64x32xf32> -> tensor<64xf32>
  %m = arith.maxnumf %old, %largest : tensor<64xf32>
  %column = tile.reshape %m : tensor<64xf32> -> tensor<64x1xf32>
  %ms = tile.broadcast %column : tensor<64x1xf32> -> tensor<64x32xf32>
  %0 = arith.subf %s, %ms : tensor<64x32xf32>
  %1 = math.exp %0 : tensor<64x32xf32>
  return %1, %d : tensor<64x32xf32>, tensor<64x32xf32>
}

// Of exp(-(c x + shift)), one multiply-add is left beside the exponential.

// CHECK-LABEL: @negated
// CHECK-SAME: %[[C:[a-z0-9]*]]: f32, %[[SHIFT:[a-z0-9]*]]: f32)
// CHECK-DAG: %[[MINUS_LOG2E:.*]] = arith.constant -1.44269502 : f32
// CHECK: %[[X:.*]] = tile.dot
// CHECK-DAG: %[[FACTOR:.*]] = arith.mulf %[[C]], %[[MINUS_LOG2E]] : f32
// CHECK-DAG: %[[FACTORS:.*]] = tile.broadcast %[[FACTOR]] : f32 -> tensor<64x32xf32>
// CHECK-DAG: %[[ADDEND:.*]] = arith.mulf %[[SHIFT]], %[[MINUS_LOG2E]] : f32
// CHECK-DAG: %[[ADDENDS:.*]] = tile.broadcast %[[ADDEND]] : f32 -> tensor<64x32xf32>
// CHECK: %[[EXPONENT:.*]] = math.fma %[[X]], %[[FACTORS]], %[[ADDENDS]]
// CHECK-NEXT: math.exp2 %[[EXPONENT]]
func.func @negated(%q: tensor<64x16xbf16>, %k: tensor<32x16xbf16>, %c: f32, %shift: f32) -> tensor<64x32xf32> {
  %x = tile.dot %q, %k {transpose_rhs} : tensor<64x16xbf16>, tensor<32x16xbf16> -> tensor<64x32xf32>
  %cs = tile.broadcast %c : f32 -> tensor<64x32xf32>
  %s = arith.mulf %x, %cs : tensor<64x32xf32>
  %shifts = tile.broadcast %shift : f32 -> tensor<64x32xf32>
  %0 = arith.addf %s, %shifts : tensor<64x32xf32>
  %1 = arith.negf %0 : tensor<64x32xf32>
  %2 = math.exp %1 : tensor<64x32xf32>
  return %2 : tensor<64x32xf32>
}

// A mask of -inf inside a negation would become +inf. It stays where it is.

// CHECK-LABEL: @negated_mask
// CHECK: %[[MASKED:.*]] = arith.select
// CHECK: %[[EXPONENT:.*]] = arith.mulf %[[MASKED]],
// CHECK-NEXT: math.exp2 %[[EXPONENT]]
func.func @negated_mask(%q: tensor<64x16xbf16>, %k: tensor<32x16xbf16>, %mask: tensor<64x32xi1>)
    -> tensor<64x32xf32> {
  %minus_inf = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %x = tile.dot %q, %k {transpose_rhs} : tensor<64x16xbf16>, tensor<32x16xbf16> -> tensor<64x32xf32>
  %masked = arith.select %mask, %x, %minus_inf : tensor<64x32xi1>, tensor<64x32xf32>
  %0 = arith.negf %masked : tensor<64x32xf32>
  %1 = math.exp %0 : tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}

// CHECK-LABEL: @f32_products_keep_their_accuracy
// CHECK: math.exp %
func.func @f32_products_keep_their_accuracy(%q: tensor<64x16xf32>, %k: tensor<32x16xf32>, %lse: tensor<64x1xf32>)
    -> tensor<64x32xf32> {
  %x = tile.dot %q, %k {transpose_rhs} : tensor<64x16xf32>, tensor<32x16xf32> -> tensor<64x32xf32>
  %lses = tile.broadcast %lse : tensor<64x1xf32> -> tensor<64x32xf32>
  %0 = arith.subf %x, %lses : tensor<64x32xf32>
  %1 = math.exp %0 : tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}

// The scores, rounded after scaling, must cancel against an LSE that came from the same rounded scores.

// CHECK-LABEL: @f16_products_keep_it_too
// CHECK: %[[SCORES:.*]] = arith.mulf
// CHECK: %[[DIFFERENCE:.*]] = arith.subf %[[SCORES]],
// CHECK: math.exp %[[DIFFERENCE]]
func.func @f16_products_keep_it_too(%q: tensor<64x16xf16>, %k: tensor<32x16xf16>, %c: f32, %lse: tensor<64x1xf32>)
    -> tensor<64x32xf32> {
  %x = tile.dot %q, %k {transpose_rhs} : tensor<64x16xf16>, tensor<32x16xf16> -> tensor<64x32xf32>
  %cs = tile.broadcast %c : f32 -> tensor<64x32xf32>
  %s = arith.mulf %x, %cs : tensor<64x32xf32>
  %lses = tile.broadcast %lse : tensor<64x1xf32> -> tensor<64x32xf32>
  %0 = arith.subf %s, %lses : tensor<64x32xf32>
  %1 = math.exp %0 : tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}

// Fusing a difference of two full tiles would cost one more multiplication.

// CHECK-LABEL: @nothing_is_gained_without_a_broadcast
// CHECK: math.exp %
func.func @nothing_is_gained_without_a_broadcast(%q: tensor<64x16xbf16>, %k: tensor<32x16xbf16>, %y: tensor<64x32xf32>)
    -> tensor<64x32xf32> {
  %x = tile.dot %q, %k {transpose_rhs} : tensor<64x16xbf16>, tensor<32x16xbf16> -> tensor<64x32xf32>
  %0 = arith.subf %x, %y : tensor<64x32xf32>
  %1 = math.exp %0 : tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}

// CHECK-LABEL: @sums_of_products
// CHECK-SAME: %[[Q:[a-z0-9]*]]: tensor<64x16xbf16>, %[[K:[a-z0-9]*]]: tensor<32x16xbf16>, %[[Y:[a-z0-9]*]]: tensor<64x32xf32>
// CHECK: %[[X:.*]] = tile.dot
// CHECK: %[[YY:.*]] = arith.mulf %[[Y]], %[[Y]]
// CHECK: %[[MINUS:.*]] = arith.negf %[[YY]]
// CHECK: %[[FIRST:.*]] = math.fma %[[X]], %[[Y]], %[[MINUS]]
// CHECK: %[[MINUS_X:.*]] = arith.negf %[[X]]
// CHECK: %[[SECOND:.*]] = math.fma %[[MINUS_X]], %[[FIRST]], %[[Y]]
// CHECK: return %[[SECOND]]
func.func @sums_of_products(%q: tensor<64x16xbf16>, %k: tensor<32x16xbf16>, %y: tensor<64x32xf32>) -> tensor<64x32xf32> {
  %x = tile.dot %q, %k {transpose_rhs} : tensor<64x16xbf16>, tensor<32x16xbf16> -> tensor<64x32xf32>
  %xy = arith.mulf %x, %y : tensor<64x32xf32>
  %yy = arith.mulf %y, %y : tensor<64x32xf32>
  %0 = arith.subf %xy, %yy : tensor<64x32xf32>
  %x0 = arith.mulf %x, %0 : tensor<64x32xf32>
  %1 = arith.subf %y, %x0 : tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}

// CHECK-LABEL: @products_with_other_uses
// CHECK: arith.mulf
// CHECK: arith.addf
func.func @products_with_other_uses(%q: tensor<64x16xbf16>, %k: tensor<32x16xbf16>, %y: tensor<64x32xf32>)
    -> (tensor<64x32xf32>, tensor<64x32xf32>) {
  %x = tile.dot %q, %k {transpose_rhs} : tensor<64x16xbf16>, tensor<32x16xbf16> -> tensor<64x32xf32>
  %xy = arith.mulf %x, %y : tensor<64x32xf32>
  %0 = arith.addf %xy, %y : tensor<64x32xf32>
  return %0, %xy : tensor<64x32xf32>, tensor<64x32xf32>
}

// CHECK-LABEL: @one_factor
// CHECK-SAME: %[[C:[a-z0-9]*]]: f32
// CHECK-DAG: %[[FIFTH:.*]] = arith.constant 2.000000e-01 : f32
// CHECK: %[[X:.*]] = tile.dot
// CHECK: %[[FACTOR:.*]] = arith.mulf %[[C]], %[[FIFTH]] : f32
// CHECK: %[[FACTORS:.*]] = tile.broadcast %[[FACTOR]] : f32 -> tensor<64x32xf32>
// CHECK: %[[SMALL:.*]] = arith.mulf %[[X]], %[[FACTORS]] : tensor<64x32xf32>
// CHECK-NOT: arith.divf
// CHECK: return %[[SMALL]]
func.func @one_factor(%q: tensor<64x16xbf16>, %k: tensor<32x16xbf16>, %c: f32) -> tensor<64x32xf32> {
  %x = tile.dot %q, %k {transpose_rhs} : tensor<64x16xbf16>, tensor<32x16xbf16> -> tensor<64x32xf32>
  %cs = tile.broadcast %c : f32 -> tensor<64x32xf32>
  %0 = arith.mulf %cs, %x : tensor<64x32xf32>
  %five = arith.constant dense<5.0> : tensor<64x32xf32>
  %1 = arith.divf %0, %five : tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}

// CHECK-LABEL: @one_factor_for_f16
// CHECK: %[[FACTORS:.*]] = tile.broadcast %{{.*}} : f32 -> tensor<64x32xf32>
// CHECK: arith.mulf %{{.*}}, %[[FACTORS]] : tensor<64x32xf32>
// CHECK-NOT: arith.divf
// CHECK: return
func.func @one_factor_for_f16(%q: tensor<64x16xf16>, %k: tensor<32x16xf16>, %c: f32) -> tensor<64x32xf32> {
  %x = tile.dot %q, %k {transpose_rhs} : tensor<64x16xf16>, tensor<32x16xf16> -> tensor<64x32xf32>
  %cs = tile.broadcast %c : f32 -> tensor<64x32xf32>
  %0 = arith.mulf %x, %cs : tensor<64x32xf32>
  %five = arith.constant dense<5.0> : tensor<64x32xf32>
  %1 = arith.divf %0, %five : tensor<64x32xf32>
  return %1 : tensor<64x32xf32>
}
