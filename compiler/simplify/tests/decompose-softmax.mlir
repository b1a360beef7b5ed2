// RUN: tegula-opt %s --decompose-softmax --canonicalize --cse | FileCheck %s
// RUN: tegula-opt %s --decompose-softmax=round-probabilities --canonicalize --cse | FileCheck %s --check-prefix=ROUND

// CHECK-LABEL: @update
// CHECK-SAME: (%[[S:.*]]: tensor<64x32xf32>, %[[V:.*]]: tensor<32x128xbf16>, %[[M:.*]]: tensor<64xf32>, %[[L:.*]]: tensor<64xf32>, %[[O:.*]]: tensor<64x128xf32>)
// CHECK-DAG: %[[LOG2E:.*]] = arith.constant dense<1.44269502> : tensor<64xf32>
// CHECK-DAG: %[[LOG2E_S:.*]] = arith.constant dense<1.44269502> : tensor<64x32xf32>
// CHECK-DAG: %[[MINUS_INF:.*]] = arith.constant dense<0xFF800000> : tensor<64xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64xf32>

// The new maximum:
// CHECK: %[[BLOCK_MAX:.*]] = tile.reduce max %[[S]] axis 1
// CHECK: %[[NEW_MAX:.*]] = arith.maxnumf %[[M]], %[[BLOCK_MAX]]

// The number that exponents subtract. It is 0 in rows that have seen no key, so that -inf - -inf never happens:
// CHECK: %[[UNSEEN:.*]] = arith.cmpf oeq, %[[NEW_MAX]], %[[MINUS_INF]]
// CHECK: %[[ORIGIN:.*]] = arith.select %[[UNSEEN]], %[[ZERO]], %[[NEW_MAX]]

// The probabilities. Nothing is fused, so that the difference at the maximum is exactly 0:
// CHECK: %[[ORIGIN_COLUMN:.*]] = tile.reshape %[[ORIGIN]] : tensor<64xf32> -> tensor<64x1xf32>
// CHECK: %[[ORIGINS:.*]] = tile.broadcast %[[ORIGIN_COLUMN]] : tensor<64x1xf32> -> tensor<64x32xf32>
// CHECK: %[[DIFFERENCE:.*]] = arith.subf %[[S]], %[[ORIGINS]] :
// CHECK: %[[EXPONENT:.*]] = arith.mulf %[[DIFFERENCE]], %[[LOG2E_S]] :
// CHECK: %[[P:.*]] = math.exp2 %[[EXPONENT]]

// The rescaling:
// CHECK: %[[CHANGE:.*]] = arith.subf %[[M]], %[[ORIGIN]] :
// CHECK: %[[SCALED_CHANGE:.*]] = arith.mulf %[[CHANGE]], %[[LOG2E]] :
// CHECK: %[[ALPHA:.*]] = math.exp2 %[[SCALED_CHANGE]]

// The new sum and output:
// CHECK: %[[BLOCK_SUM:.*]] = tile.reduce add %[[P]] axis 1
// CHECK: %[[NEW_SUM:.*]] = math.fma %[[L]], %[[ALPHA]], %[[BLOCK_SUM]]
// CHECK: %[[ALPHA_COLUMN:.*]] = tile.reshape %[[ALPHA]]
// CHECK: %[[ALPHAS:.*]] = tile.broadcast %[[ALPHA_COLUMN]] : tensor<64x1xf32> -> tensor<64x128xf32>
// CHECK: %[[OLD_OUTPUT:.*]] = arith.mulf %[[O]], %[[ALPHAS]]
// CHECK: %[[NEW_OUTPUT:.*]] = tile.dot %[[P]], %[[V]] acc %[[OLD_OUTPUT]] : tensor<64x32xf32>, tensor<32x128xbf16>, tensor<64x128xf32> -> tensor<64x128xf32>
// CHECK: return %[[NEW_MAX]], %[[NEW_SUM]], %[[NEW_OUTPUT]]
func.func @update(%s: tensor<64x32xf32>, %v: tensor<32x128xbf16>, %m: tensor<64xf32>, %l: tensor<64xf32>,
                  %o: tensor<64x128xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>) {
  %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %l, %o
    : tensor<64x32xf32>, tensor<32x128xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
  return %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
}

// CHECK-LABEL: @output_is_zero_where_the_sum_is
// CHECK-SAME: (%[[L:.*]]: tensor<64xf32>, %[[O:.*]]: tensor<64x128xf32>)
// CHECK-DAG: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<64xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64xf32>
// CHECK: %[[INVERSE:.*]] = arith.divf %[[ONE]], %[[L]]
// CHECK: %[[UNSEEN:.*]] = arith.cmpf oeq, %[[L]], %[[ZERO]]
// CHECK: %[[SAFE:.*]] = arith.select %[[UNSEEN]], %[[ZERO]], %[[INVERSE]]
// CHECK: %[[COLUMN:.*]] = tile.reshape %[[SAFE]]
// CHECK: %[[FACTORS:.*]] = tile.broadcast %[[COLUMN]] : tensor<64x1xf32> -> tensor<64x128xf32>
// CHECK: %[[RESULT:.*]] = arith.mulf %[[O]], %[[FACTORS]]
// CHECK: return %[[RESULT]]
func.func @output_is_zero_where_the_sum_is(%l: tensor<64xf32>, %o: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %0 = tile.softmax_output %l, %o : tensor<64xf32>, tensor<64x128xf32>
  return %0 : tensor<64x128xf32>
}

// CHECK-LABEL: @log_sum_exp_is_minus_infinity_where_the_sum_is_zero
// CHECK-SAME: (%[[M:.*]]: tensor<64xf32>, %[[L:.*]]: tensor<64xf32>)
// CHECK-DAG: %[[LN2:.*]] = arith.constant dense<0.693147182> : tensor<64xf32>
// CHECK-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64xf32>
// CHECK-DAG: %[[MINUS_INF:.*]] = arith.constant dense<0xFF800000> : tensor<64xf32>
// CHECK: %[[LOG2:.*]] = math.log2 %[[L]]
// CHECK: %[[LSE:.*]] = math.fma %[[LOG2]], %[[LN2]], %[[M]]
// CHECK: %[[UNSEEN:.*]] = arith.cmpf oeq, %[[L]], %[[ZERO]]
// CHECK: %[[RESULT:.*]] = arith.select %[[UNSEEN]], %[[MINUS_INF]], %[[LSE]]
// CHECK: return %[[RESULT]]
func.func @log_sum_exp_is_minus_infinity_where_the_sum_is_zero(%m: tensor<64xf32>, %l: tensor<64xf32>) -> tensor<64xf32> {
  %0 = tile.softmax_lse %m, %l : tensor<64xf32>
  return %0 : tensor<64xf32>
}

// P is rounded to bf16, and each exponent is one multiply-add, unless some maximum is so far from 0 that its rounding
// would show. A row keeps its maximum until it has grown by 2^8. The output is rescaled last.

// ROUND-LABEL: @update
// ROUND-SAME: (%[[S:.*]]: tensor<64x32xf32>, %[[V:.*]]: tensor<32x128xbf16>, %[[M:.*]]: tensor<64xf32>, %[[L:.*]]: tensor<64xf32>, %[[O:.*]]: tensor<64x128xf32>)
// ROUND-DAG: %[[LOG2E:.*]] = arith.constant dense<1.44269502> : tensor<64xf32>
// ROUND-DAG: %[[MINUS_LOG2E:.*]] = arith.constant dense<-1.44269502> : tensor<64xf32>
// ROUND-DAG: %[[LOG2E_S:.*]] = arith.constant dense<1.44269502> : tensor<64x32xf32>
// ROUND-DAG: %[[MARGIN:.*]] = arith.constant dense<5.54517746> : tensor<64xf32>
// ROUND-DAG: %[[ONE:.*]] = arith.constant dense<1.000000e+00> : tensor<64xf32>
// ROUND-DAG: %[[ZERO:.*]] = arith.constant dense<0.000000e+00> : tensor<64xf32>
// ROUND-DAG: %[[MINUS_INF:.*]] = arith.constant dense<0xFF800000> : tensor<64xf32>
// ROUND-DAG: %[[NONE:.*]] = arith.constant false
// ROUND: %[[LIMIT:.*]] = arith.addf %[[M]], %[[MARGIN]]

// The largest as integers show if there is a larger score, unless the limit is negative:
// ROUND: %[[BITS:.*]] = arith.bitcast %[[S]] : tensor<64x32xf32> to tensor<64x32xi32>
// ROUND: %[[LARGEST_BITS:.*]] = tile.reduce max %[[BITS]] axis 1 : tensor<64x32xi32>
// ROUND: %[[LARGEST:.*]] = arith.bitcast %[[LARGEST_BITS]] : tensor<64xi32> to tensor<64xf32>
// ROUND: %[[ABOVE:.*]] = arith.cmpf ogt, %[[LARGEST]], %[[LIMIT]]
// ROUND: %[[NEGATIVE:.*]] = arith.cmpf ogt, %[[ZERO]], %[[LIMIT]]
// ROUND: %[[MAY_EXCEED:.*]] = arith.ori %[[ABOVE]], %[[NEGATIVE]]
// ROUND: %[[DISTANCE:.*]] = math.absf %[[M]]
// ROUND: %[[IS_FAR:.*]] = arith.cmpf ogt, %[[DISTANCE]],
// ROUND: %[[RARE:.*]] = arith.ori %[[MAY_EXCEED]], %[[IS_FAR]]
// ROUND: %[[ANY:.*]] = tile.any %[[RARE]]
// ROUND: %[[ROWS:.*]]:6 = scf.if %[[ANY]]

// The largest as integers are maxima where they are positive:
// ROUND: %[[UNKNOWN:.*]] = arith.cmpf ule, %[[LARGEST]], %[[ZERO]]
// ROUND: %[[ANY_UNKNOWN:.*]] = tile.any %[[UNKNOWN]]
// ROUND: %[[BLOCK_MAX:.*]] = scf.if %[[ANY_UNKNOWN]]
// ROUND: %[[MAX:.*]] = tile.reduce max %[[S]] axis 1 : tensor<64x32xf32>
// ROUND: scf.yield %[[MAX]]
// ROUND: scf.yield %[[LARGEST]]
// ROUND: %[[EXCEEDS:.*]] = arith.cmpf ogt, %[[BLOCK_MAX]], %[[LIMIT]]
// ROUND: %[[RAISED:.*]] = arith.select %[[EXCEEDS]], %[[BLOCK_MAX]], %[[M]]
// ROUND: %[[ORIGIN:.*]] = arith.select %{{.*}}, %[[ZERO]], %[[RAISED]]
// ROUND: %[[CHANGE:.*]] = arith.subf %[[M]], %[[ORIGIN]]
// ROUND: %[[SCALED_CHANGE:.*]] = arith.mulf %[[CHANGE]], %[[LOG2E]]
// ROUND: %[[ALPHA:.*]] = math.exp2 %[[SCALED_CHANGE]]
// ROUND: %[[SUM:.*]] = arith.mulf %[[L]], %[[ALPHA]]

// A row that has seen no key has no output to rescale:
// ROUND: %[[SEEN:.*]] = arith.cmpf ogt, %[[M]], %[[MINUS_INF]]
// ROUND: %[[RESCALED:.*]] = arith.andi %[[EXCEEDS]], %[[SEEN]]
// ROUND: %[[ANY_RESCALED:.*]] = tile.any %[[RESCALED]]
// ROUND: %[[NEW_DISTANCE:.*]] = math.absf %[[ORIGIN]]
// ROUND: %[[IS_NEW_FAR:.*]] = arith.cmpf ogt, %[[NEW_DISTANCE]],
// ROUND: %[[ANY_FAR:.*]] = tile.any %[[IS_NEW_FAR]]
// ROUND: %[[NEW_ORIGIN:.*]] = arith.select %[[ANY_FAR]], %[[ZERO]], %[[ORIGIN]]
// ROUND: %[[TILE:.*]] = scf.if %[[ANY_FAR]]
// ROUND:   %[[DIFFERENCE:.*]] = arith.subf %[[S]],
// ROUND:   scf.yield %[[DIFFERENCE]]
// ROUND:   scf.yield %[[S]]
// ROUND: scf.yield %[[RAISED]], %[[SUM]], %[[ALPHA]], %[[ANY_RESCALED]], %[[TILE]], %[[NEW_ORIGIN]]
// ROUND: scf.yield %[[M]], %[[L]], %[[ONE]], %[[NONE]], %[[S]], %[[M]]
// ROUND: %[[MINUS_ORIGIN:.*]] = arith.mulf %[[ROWS]]#5, %[[MINUS_LOG2E]]
// ROUND: %[[COLUMN:.*]] = tile.reshape %[[MINUS_ORIGIN]]
// ROUND: %[[ORIGINS:.*]] = tile.broadcast %[[COLUMN]]
// ROUND: %[[EXPONENT:.*]] = math.fma %[[ROWS]]#4, %[[LOG2E_S]], %[[ORIGINS]]
// ROUND: %[[P:.*]] = math.exp2 %[[EXPONENT]]
// ROUND: %[[BLOCK_SUM:.*]] = tile.reduce add %[[P]] axis 1 : tensor<64x32xf32>
// ROUND: arith.addf %[[ROWS]]#1, %[[BLOCK_SUM]]
// ROUND: %[[ROUNDED:.*]] = arith.truncf %[[P]] : tensor<64x32xf32> to tensor<64x32xbf16>
// ROUND: %[[OUTPUT:.*]] = scf.if %[[ROWS]]#3
// ROUND: arith.mulf %[[O]],
// ROUND: scf.yield %[[O]]
// ROUND: tile.dot %[[ROUNDED]], %[[V]] acc %[[OUTPUT]]

// The product has the label of the update.
// CHECK-LABEL: @label
// CHECK: tile.dot {{.*}} {tile.label = "o"} :
// ROUND-LABEL: @label
// ROUND: tile.dot {{.*}} {tile.label = "o"} :
func.func @label(%s: tensor<64x32xf32>, %v: tensor<32x128xbf16>, %m: tensor<64xf32>, %l: tensor<64xf32>,
                 %o: tensor<64x128xf32>) -> tensor<64x128xf32> {
  %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %l, %o {tile.label = "o"}
    : tensor<64x32xf32>, tensor<32x128xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
  return %o1 : tensor<64x128xf32>
}

// Sums count all probabilities. Those that are not kept are 0 before they are rounded and multiplied.
// CHECK-LABEL: @keeps_some
// CHECK-SAME: %[[KEEP:[a-z0-9]*]]: tensor<64x32xi1>
// CHECK: %[[P:.*]] = math.exp2 %{{.*}} : tensor<64x32xf32>
// CHECK: tile.reduce add %[[P]] axis 1
// CHECK: %[[KEPT:.*]] = arith.select %[[KEEP]], %[[P]], %{{.*}} : tensor<64x32xi1>, tensor<64x32xf32>
// CHECK: tile.dot %[[KEPT]]
// ROUND-LABEL: @keeps_some
// ROUND-SAME: %[[KEEP:[a-z0-9]*]]: tensor<64x32xi1>
// ROUND: %[[P:.*]] = math.exp2 %{{.*}} : tensor<64x32xf32>
// ROUND: tile.reduce add %[[P]] axis 1
// ROUND: %[[KEPT:.*]] = arith.select %[[KEEP]], %[[P]], %{{.*}} : tensor<64x32xi1>, tensor<64x32xf32>
// ROUND: %[[ROUNDED:.*]] = arith.truncf %[[KEPT]]
// ROUND: tile.dot %[[ROUNDED]]
func.func @keeps_some(%s: tensor<64x32xf32>, %v: tensor<32x128xbf16>, %m: tensor<64xf32>, %l: tensor<64xf32>,
                      %o: tensor<64x128xf32>, %keep: tensor<64x32xi1>)
    -> (tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>) {
  %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %l, %o keep %keep
    : tensor<64x32xf32>, tensor<32x128xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>, tensor<64x32xi1>
  return %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
}

// f16 has 11 bits and would show that error.
// ROUND-LABEL: @f16_values
// ROUND: %[[DIFFERENCE:.*]] = arith.subf %{{.*}} : tensor<64x32xf32>
// ROUND: %[[EXPONENT:.*]] = arith.mulf %[[DIFFERENCE]], %{{.*}} : tensor<64x32xf32>
// ROUND: %[[P:.*]] = math.exp2 %[[EXPONENT]]
// ROUND: %[[ROUNDED:.*]] = arith.truncf %[[P]] : tensor<64x32xf32> to tensor<64x32xf16>
// ROUND: tile.dot %[[ROUNDED]]
func.func @f16_values(%s: tensor<64x32xf32>, %v: tensor<32x128xf16>, %m: tensor<64xf32>, %l: tensor<64xf32>,
                      %o: tensor<64x128xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>) {
  %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %l, %o
    : tensor<64x32xf32>, tensor<32x128xf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
  return %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
}

// ROUND-LABEL: @f32_values
// ROUND: arith.subf %{{.*}} : tensor<64x32xf32>
// ROUND-NOT: arith.truncf
// ROUND: return
func.func @f32_values(%s: tensor<64x32xf32>, %v: tensor<32x128xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>,
                      %o: tensor<64x128xf32>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>) {
  %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %l, %o
    : tensor<64x32xf32>, tensor<32x128xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
  return %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
}

// The factor of the scores moves into the exponents, except its sign. Masked scores stay as they are.
// ROUND-LABEL: @scaled
// ROUND-SAME: %[[X:arg[0-9]+]]: tensor<64x32xf32>, %[[FACTOR:arg[0-9]+]]: f32, %[[MASK:arg[0-9]+]]: tensor<64x32xi1>
// ROUND: %[[NEGATIVE:.*]] = arith.cmpf olt, %[[FACTOR]]
// ROUND: %[[SIGNED:.*]] = scf.if %[[NEGATIVE]]
// ROUND: arith.negf %[[X]]
// ROUND: scf.yield %[[X]]
// ROUND: %[[S:.*]] = arith.select %[[MASK]], %[[SIGNED]], %{{.*}} : tensor<64x32xi1>
// ROUND: %[[MAX:.*]] = scf.if %{{.*}} -> (tensor<64xf32>) {
// ROUND: tile.reduce max %[[S]]
// ROUND: arith.mulf %[[MAX]],
// ROUND: scf.yield %[[S]]
// ROUND: %[[FACTORS:.*]] = tile.broadcast %{{.*}} : f32 -> tensor<64x32xf32>
// ROUND: math.fma %{{.*}}, %[[FACTORS]]

// If there is a branch on the mask boundary, the branch on the sign is inside it.
// ROUND-LABEL: @scaled_at_edges
// ROUND-SAME: %[[X:arg[0-9]+]]: tensor<64x32xf32>, %[[FACTOR:arg[0-9]+]]: f32, %[[WHOLE:arg[0-9]+]]: i1, %[[MASK:arg[0-9]+]]: tensor<64x32xi1>
// ROUND: %[[PLAIN:.*]] = arith.andi %[[WHOLE]],
// ROUND: %[[S:.*]] = scf.if %[[PLAIN]]
// ROUND: scf.yield %[[X]]
// ROUND: } else {
// ROUND: %[[SIGNED:.*]] = scf.if
// ROUND: arith.negf %[[X]]
// ROUND: scf.yield %[[X]]
// ROUND: %[[MASKED:.*]] = arith.select %[[MASK]], %[[SIGNED]]
// ROUND: scf.yield %[[MASKED]]
// ROUND: tile.reduce max %[[S]]
module {
  func.func @scaled(%x: tensor<64x32xf32>, %factor: f32, %mask: tensor<64x32xi1>, %v: tensor<32x128xbf16>,
                  %m: tensor<64xf32>, %l: tensor<64xf32>, %o: tensor<64x128xf32>)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>) {
    %minus_infinity = arith.constant dense<0xFF800000> : tensor<64x32xf32>
    %factors = tile.broadcast %factor : f32 -> tensor<64x32xf32>
    %products = arith.mulf %x, %factors : tensor<64x32xf32>
    %s = arith.select %mask, %products, %minus_infinity : tensor<64x32xi1>, tensor<64x32xf32>
    %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x128xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
    return %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
  }

  func.func @scaled_at_edges(%x: tensor<64x32xf32>, %factor: f32, %whole: i1, %mask: tensor<64x32xi1>,
                             %v: tensor<32x128xbf16>, %m: tensor<64xf32>, %l: tensor<64xf32>, %o: tensor<64x128xf32>)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>) {
    %minus_infinity = arith.constant dense<0xFF800000> : tensor<64x32xf32>
    %factors = tile.broadcast %factor : f32 -> tensor<64x32xf32>
    %products = arith.mulf %x, %factors : tensor<64x32xf32>
    %s = scf.if %whole -> tensor<64x32xf32> {
      scf.yield %products : tensor<64x32xf32>
    } else {
      %masked = arith.select %mask, %products, %minus_infinity : tensor<64x32xi1>, tensor<64x32xf32>
      scf.yield %masked : tensor<64x32xf32>
    }
    %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x128xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
    return %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
  }

  // If something is subtracted from scores, all scores of a row may be negative. Then they are compared as floats.
  // ROUND-LABEL: @shifted
  // ROUND-NOT: arith.bitcast
  // ROUND: tile.dot
  func.func @shifted(%x: tensor<64x32xf32>, %shift: tensor<64x32xf32>, %mask: tensor<64x32xi1>, %v: tensor<32x128xbf16>,
                     %m: tensor<64xf32>, %l: tensor<64xf32>, %o: tensor<64x128xf32>)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>) {
    %minus_infinity = arith.constant dense<0xFF800000> : tensor<64x32xf32>
    %shifted = arith.subf %x, %shift : tensor<64x32xf32>
    %s = arith.select %mask, %shifted, %minus_infinity : tensor<64x32xi1>, tensor<64x32xf32>
    %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x128xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
    return %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
  }

  // Scores keep their factor, so that they equal the scores that the backward pass computes again.
  // ROUND-LABEL: @scaled_f16
  // ROUND: %[[SCORES:.*]] = arith.mulf
  // ROUND: tile.reduce max %[[SCORES]]
  // ROUND: %[[DIFFERENCE:.*]] = arith.subf %[[SCORES]],
  // ROUND: %[[EXPONENT:.*]] = arith.mulf %[[DIFFERENCE]],
  // ROUND: math.exp2 %[[EXPONENT]]
  func.func @scaled_f16(%x: tensor<64x32xf32>, %factor: f32, %v: tensor<32x128xf16>, %m: tensor<64xf32>,
                      %l: tensor<64xf32>, %o: tensor<64x128xf32>)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>) {
    %factors = tile.broadcast %factor : f32 -> tensor<64x32xf32>
    %s = arith.mulf %x, %factors : tensor<64x32xf32>
    %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x128xf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
    return %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
  }

  // ROUND-LABEL: @output
  // ROUND: arith.divf %{{[^ ]*}}, %{{[^ ]*}} : tensor<64xf32>
  func.func @output(%l: tensor<64xf32>, %o: tensor<64x128xf32>) -> tensor<64x128xf32> {
    %0 = tile.softmax_output %l, %o : tensor<64xf32>, tensor<64x128xf32>
    return %0 : tensor<64x128xf32>
  }
}

// If warps have registers for both forms, f16 exponents are fused, too. Rows whose large maximum would show the
// rounding are an exception. Their scores are rounded first, as the backward pass does.
module attributes {tile.roles = "load"} {
  // ROUND-LABEL: @f16_of_roles
  // ROUND-SAME: %[[X:.*]]: tensor<64x32xf32>, %[[FACTOR:.*]]: f32
  // ROUND: arith.constant dense<5.120000e+02>
  // ROUND: %[[ROUNDED:.*]] = arith.mulf %{{.*}} : tensor<64x32xf32>
  // ROUND: %[[DIFFERENCE:.*]] = arith.subf %[[ROUNDED]],
  // ROUND: %[[UNSCALED:.*]] = arith.mulf %[[DIFFERENCE]],
  // ROUND: scf.yield %[[UNSCALED]]
  // ROUND: %[[EXPONENTS:.*]] = math.fma
  // ROUND: math.exp2 %[[EXPONENTS]]
  func.func @f16_of_roles(%x: tensor<64x32xf32>, %factor: f32, %v: tensor<32x128xf16>, %m: tensor<64xf32>,
                          %l: tensor<64xf32>, %o: tensor<64x128xf32>)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>) {
    %factors = tile.broadcast %factor : f32 -> tensor<64x32xf32>
    %s = arith.mulf %x, %factors : tensor<64x32xf32>
    %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x128xf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
    return %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x128xf32>
  }
}
