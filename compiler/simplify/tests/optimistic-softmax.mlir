// RUN: tegula-opt %s --decompose-softmax=round-probabilities --canonicalize --cse --verify-diagnostics | FileCheck %s

module attributes {tile.optimistic_softmax = true} {

// CHECK-LABEL: @masked_and_scaled
// CHECK: scf.for %[[J:.*]] = %{{.*}} iter_args(%[[M:.*]] = %{{.*}}, %[[L:.*]] = %{{.*}}, %{{.*}} = %{{.*}})
// CHECK: %[[PRODUCT:.*]] = tile.dot %[[Q:.*]], %[[K:.*]] {transpose_rhs} : tensor<64x64xbf16>, tensor<32x64xbf16>
// The mask is applied to the dot's result. The factor of the scores moves into the exponents:
// CHECK: %[[SCORES:.*]] = arith.select
// Exponentials are relative to the old maxima, except in the first block of keys, and if some row has seen no key, or
// its maximum is so far from 0 that the error of fused exponents would show:
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[J]],
// CHECK: %[[DISTANCE:.*]] = math.absf %[[M]]
// CHECK: %[[IS_FAR:.*]] = arith.cmpf ogt, %[[DISTANCE]],
// CHECK: %[[ANY_FAR:.*]] = tile.any %[[IS_FAR]]
// CHECK: %[[IS_EXACT:.*]] = arith.ori %[[IS_FIRST]], %[[ANY_FAR]]
// CHECK: %[[ATTEMPT:.*]]:2 = scf.if %[[IS_EXACT]]
// CHECK:   scf.yield %[[SCORES]],
// CHECK: } else {
// CHECK-NOT: tile.reduce max
// CHECK:   %[[MINUS_ORIGIN:.*]] = arith.mulf %[[M]],
// CHECK:   %[[EXPONENTS:.*]] = math.fma %[[SCORES]],
// CHECK:   %[[P:.*]] = math.exp2 %[[EXPONENTS]]
// CHECK:   %[[SUM:.*]] = tile.reduce add %[[P]] axis 1
// CHECK:   scf.yield %[[P]], %[[SUM]]
// CHECK: }
// If a sum is too large or NaN, each warp computes its rows of the dot again:
// CHECK: %[[TOO_LARGE:.*]] = arith.cmpf ugt, %[[ATTEMPT]]#1,
// CHECK: %[[ANY:.*]] = tile.any %[[TOO_LARGE]]
// CHECK: %[[IS_WRONG:.*]] = arith.ori %[[IS_EXACT]], %[[ANY]]
// CHECK: scf.if %[[IS_WRONG]]
// CHECK:   %[[AGAIN:.*]] = scf.if %[[IS_EXACT]]
// CHECK:     scf.yield %[[ATTEMPT]]#0
// CHECK:     sm.opaque
// CHECK:     tile.dot %[[Q]], %[[K]] {tile.warp_local, transpose_rhs}
// The maximum comes before the exponentials. If it is far from 0, the scores become differences:
// CHECK:   tile.reduce max %[[AGAIN]] axis 1
// CHECK:   math.absf
// CHECK:   %[[ANY_NEW_FAR:.*]] = tile.any
// CHECK:   arith.select %[[ANY_NEW_FAR]], %{{.*}}, %{{.*}} : tensor<64xf32>
// CHECK:   %[[DIFFERENCES:.*]] = scf.if %[[ANY_NEW_FAR]]
// CHECK:     arith.subf
// CHECK:   } else {
// CHECK:     scf.yield %[[AGAIN]]
// CHECK:   math.fma %[[DIFFERENCES]],
// CHECK:   math.exp2
// CHECK: } else {
// CHECK:   scf.yield %[[M]], %{{.*}}, %{{.*}}, %false, %[[ATTEMPT]]#0, %[[ATTEMPT]]#1
func.func @masked_and_scaled(%q: tensor<64x64xbf16>, %K: !tile.view<2xbf16>, %V: !tile.view<2xbf16>, %scale: f32,
                             %m0: tensor<64xf32>, %l0: tensor<64xf32>, %o0: tensor<64x64xf32>, %end: index)
    -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %minus_inf = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %r:3 = scf.for %j = %c0 to %end step %c32 iter_args(%m = %m0, %l = %l0, %o = %o0)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
    %k = tile.load %K[%j, %c0] : !tile.view<2xbf16> -> tensor<32x64xbf16>
    %v = tile.load %V[%j, %c0] : !tile.view<2xbf16> -> tensor<32x64xbf16>
    %s = tile.dot %q, %k {transpose_rhs} : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
    %scales = tile.broadcast %scale : f32 -> tensor<64x32xf32>
    %scaled = arith.mulf %s, %scales : tensor<64x32xf32>
    %first = arith.index_cast %j : index to i32
    %firsts = tile.broadcast %first : i32 -> tensor<64x32xi32>
    %zeros = arith.constant dense<7> : tensor<64x32xi32>
    %visible = arith.cmpi slt, %firsts, %zeros : tensor<64x32xi32>
    %masked = arith.select %visible, %scaled, %minus_inf : tensor<64x32xi1>, tensor<64x32xf32>
    %m1, %l1, %o1 = tile.softmax_update %masked, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
    scf.yield %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
  return %r#2 : tensor<64x64xf32>
}

// The optimistic path for f16 is the same, with another limit.
// CHECK-LABEL: @f16_values
// CHECK-DAG: arith.constant dense<5.120000e+02>
// CHECK-DAG: arith.constant dense<3.276800e+04>
// CHECK: tile.dot
// CHECK: scf.if
// CHECK: } else {
// CHECK:   math.fma
// CHECK:   math.exp2
func.func @f16_values(%q: tensor<64x64xf16>, %k: tensor<32x64xf16>, %v: tensor<32x64xf16>, %scale: f32,
                      %m0: tensor<64xf32>, %l0: tensor<64xf32>, %o0: tensor<64x64xf32>, %end: index) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %r:3 = scf.for %j = %c0 to %end step %c32 iter_args(%m = %m0, %l = %l0, %o = %o0)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
    %s = tile.dot %q, %k {transpose_rhs} : tensor<64x64xf16>, tensor<32x64xf16> -> tensor<64x32xf32>
    %scales = tile.broadcast %scale : f32 -> tensor<64x32xf32>
    %scaled = arith.mulf %s, %scales : tensor<64x32xf32>
    %m1, %l1, %o1 = tile.softmax_update %scaled, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x64xf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
    scf.yield %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
  return %r#2 : tensor<64x64xf32>
}

// The added term goes into the exponents, too. Its factor becomes part of a second multiply-add.
// CHECK-LABEL: @with_a_term
// CHECK-SAME: %[[DISTANCES:[a-z0-9]+]]: tensor<64x32xf32>
// CHECK: tile.dot
// CHECK: scf.if
// CHECK: } else {
// CHECK: %[[REST:.*]] = math.fma %[[DISTANCES]],
// CHECK: math.fma %{{.*}}, %{{.*}}, %[[REST]] :
// CHECK: math.exp2
func.func @with_a_term(%q: tensor<64x64xbf16>, %K: !tile.view<2xbf16>, %v: tensor<32x64xbf16>, %scale: f32, %slope: f32,
                       %distances: tensor<64x32xf32>, %m0: tensor<64xf32>, %l0: tensor<64xf32>,
                       %o0: tensor<64x64xf32>, %end: index) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %r:3 = scf.for %j = %c0 to %end step %c32 iter_args(%m = %m0, %l = %l0, %o = %o0)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
    %k = tile.load %K[%j, %c0] : !tile.view<2xbf16> -> tensor<32x64xbf16>
    %s = tile.dot %q, %k {transpose_rhs} : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
    %scales = tile.broadcast %scale : f32 -> tensor<64x32xf32>
    %slopes = tile.broadcast %slope : f32 -> tensor<64x32xf32>
    %term = arith.mulf %distances, %slopes : tensor<64x32xf32>
    %minus = arith.negf %term : tensor<64x32xf32>
    %scores = math.fma %s, %scales, %minus : tensor<64x32xf32>
    %m1, %l1, %o1 = tile.softmax_update %scores, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
    scf.yield %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
  return %r#2 : tensor<64x64xf32>
}

// ptxas would not interleave a special function with exponentials across a branch. Both sides therefore have both, and
// the else side has the mask. The scores of the first block and of the recompute path keep the branch.
// CHECK-LABEL: @masked_behind_a_tanh
// CHECK-SAME: %[[INSIDE:[a-z0-9]+]]: i1
// CHECK: scf.for
// CHECK: %[[PRODUCT:.*]] = tile.dot
// CHECK-NOT: math.tanh
// CHECK: scf.if %{{.*}} -> (tensor<64x32xf32>, tensor<64xf32>)
// CHECK:   math.tanh %[[PRODUCT]]
// CHECK:   scf.if %[[INSIDE]] -> (tensor<64x32xf32>)
// CHECK: } else {
// CHECK:   scf.if %[[INSIDE]] -> (tensor<64x32xf32>, tensor<64xf32>)
// CHECK-NEXT: math.tanh %[[PRODUCT]]
// CHECK-NOT:  arith.select %{{.*}} tensor<64x32xi1>
// CHECK:      math.exp2
// CHECK:    } else {
// CHECK-NEXT: math.tanh %[[PRODUCT]]
// CHECK-NEXT: arith.select %{{.*}} tensor<64x32xi1>
// CHECK:      math.exp2
// CHECK: scf.if
// CHECK:   scf.if
// CHECK:   %[[AGAIN:.*]] = tile.dot {{.*}} {tile.warp_local, transpose_rhs}
// CHECK:   math.tanh %[[AGAIN]]
// CHECK:   scf.if %[[INSIDE]] -> (tensor<64x32xf32>)
func.func @masked_behind_a_tanh(%inside: i1, %visible: tensor<64x32xi1>, %q: tensor<64x64xbf16>,
                                %K: !tile.view<2xbf16>, %v: tensor<32x64xbf16>, %m0: tensor<64xf32>,
                                %l0: tensor<64xf32>, %o0: tensor<64x64xf32>, %end: index) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %minus_inf = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %r:3 = scf.for %j = %c0 to %end step %c32 iter_args(%m = %m0, %l = %l0, %o = %o0)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
    %k = tile.load %K[%j, %c0] : !tile.view<2xbf16> -> tensor<32x64xbf16>
    %s = tile.dot %q, %k {transpose_rhs} : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
    %capped = math.tanh %s : tensor<64x32xf32>
    %masked = scf.if %inside -> tensor<64x32xf32> {
      scf.yield %capped : tensor<64x32xf32>
    } else {
      %hidden = arith.select %visible, %capped, %minus_inf : tensor<64x32xi1>, tensor<64x32xf32>
      scf.yield %hidden : tensor<64x32xf32>
    } {tile.fast_path}
    %m1, %l1, %o1 = tile.softmax_update %masked, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
    scf.yield %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
  return %r#2 : tensor<64x64xf32>
}

// The condition of the mask's branch says nothing about another branch, whose else side is always right.
// CHECK-LABEL: @a_branch_before_the_mask
// CHECK-SAME: %[[NEAR:[a-z0-9]+]]: i1, %[[IS_NEAR:[a-z_0-9]+]]: tensor<64x32xi1>
// CHECK-SAME: %[[INSIDE:[a-z0-9]+]]: i1
// CHECK: scf.for
// CHECK: } else {
// CHECK:   scf.if %[[INSIDE]] -> (tensor<64x32xf32>, tensor<64xf32>)
// CHECK-NEXT: math.tanh
// CHECK-NEXT: arith.select %[[IS_NEAR]]
// CHECK-NOT:  arith.select
// CHECK:      math.exp2
// CHECK:    } else {
// CHECK-NEXT: math.tanh
// CHECK-NEXT: arith.select %[[IS_NEAR]]
// CHECK-NEXT: arith.select
// CHECK:      math.exp2
func.func @a_branch_before_the_mask(%near: i1, %is_near: tensor<64x32xi1>, %inside: i1, %visible: tensor<64x32xi1>,
                                    %q: tensor<64x64xbf16>, %K: !tile.view<2xbf16>, %v: tensor<32x64xbf16>,
                                    %m0: tensor<64xf32>, %l0: tensor<64xf32>, %o0: tensor<64x64xf32>, %end: index)
    -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %far = arith.constant dense<-2.0> : tensor<64x32xf32>
  %minus_inf = arith.constant dense<0xFF800000> : tensor<64x32xf32>
  %r:3 = scf.for %j = %c0 to %end step %c32 iter_args(%m = %m0, %l = %l0, %o = %o0)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
    %k = tile.load %K[%j, %c0] : !tile.view<2xbf16> -> tensor<32x64xbf16>
    %s = tile.dot %q, %k {transpose_rhs} : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
    %capped = math.tanh %s : tensor<64x32xf32>
    %lowered = scf.if %near -> tensor<64x32xf32> {
      scf.yield %capped : tensor<64x32xf32>
    } else {
      %chosen = arith.select %is_near, %capped, %far : tensor<64x32xi1>, tensor<64x32xf32>
      scf.yield %chosen : tensor<64x32xf32>
    } {tile.fast_path}
    %masked = scf.if %inside -> tensor<64x32xf32> {
      scf.yield %lowered : tensor<64x32xf32>
    } else {
      %hidden = arith.select %visible, %lowered, %minus_inf : tensor<64x32xi1>, tensor<64x32xf32>
      scf.yield %hidden : tensor<64x32xf32>
    } {tile.fast_path}
    %m1, %l1, %o1 = tile.softmax_update %masked, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
    scf.yield %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
  return %r#2 : tensor<64x64xf32>
}

// A warp reads fragments of 16 columns.
// CHECK-LABEL: @half_a_fragment
// CHECK-NOT: tile.warp_local
func.func @half_a_fragment(%q: tensor<64x64xbf16>, %k: tensor<24x64xbf16>, %v: tensor<24x64xbf16>, %m0: tensor<64xf32>,
                           %l0: tensor<64xf32>, %o0: tensor<64x64xf32>, %end: index) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c24 = arith.constant 24 : index
  %r:3 = scf.for %j = %c0 to %end step %c24 iter_args(%m = %m0, %l = %l0, %o = %o0)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
    %s = tile.dot %q, %k {transpose_rhs} : tensor<64x64xbf16>, tensor<24x64xbf16> -> tensor<64x24xf32>
    // expected-remark @+1 {{optimistic_softmax has no effect: the scores cannot be computed again from read-only tensors; each row maximum is found before its exponentials}}
    %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %l, %o
      : tensor<64x24xf32>, tensor<24x64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
    scf.yield %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
  return %r#2 : tensor<64x64xf32>
}

// A tensor that the program writes may have changed when the scores are computed again.
// CHECK-LABEL: @a_written_bias
// CHECK-NOT: tile.warp_local
func.func @a_written_bias(%q: tensor<64x64xbf16>, %k: tensor<32x64xbf16>, %v: tensor<32x64xbf16>,
                          %B: !tile.view<2xf32> {tile.written}, %m0: tensor<64xf32>, %l0: tensor<64xf32>,
                          %o0: tensor<64x64xf32>, %end: index) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %r:3 = scf.for %j = %c0 to %end step %c32 iter_args(%m = %m0, %l = %l0, %o = %o0)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
    %s = tile.dot %q, %k {transpose_rhs} : tensor<64x64xbf16>, tensor<32x64xbf16> -> tensor<64x32xf32>
    %bias = tile.load %B[%c0, %j] : !tile.view<2xf32> -> tensor<64x32xf32>
    %scores = arith.addf %s, %bias : tensor<64x32xf32>
    // expected-remark @+1 {{optimistic_softmax has no effect: the scores cannot be computed again from read-only tensors; each row maximum is found before its exponentials}}
    %m1, %l1, %o1 = tile.softmax_update %scores, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
    tile.store %scores, %B[%c0, %j] : tensor<64x32xf32>, !tile.view<2xf32>
    scf.yield %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
  return %r#2 : tensor<64x64xf32>
}

// CHECK-LABEL: @values_of_32_bits
// CHECK-NOT: tile.warp_local
func.func @values_of_32_bits(%s: tensor<64x32xf32>, %v: tensor<32x64xf32>, %m: tensor<64xf32>, %l: tensor<64xf32>,
                             %o: tensor<64x64xf32>) -> tensor<64x64xf32> {
  // expected-remark @+1 {{optimistic_softmax has no effect: P is not cast to 16 bits; each row maximum is found before its exponentials}}
  %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %l, %o
    : tensor<64x32xf32>, tensor<32x64xf32>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  return %o1 : tensor<64x64xf32>
}

// CHECK-LABEL: @given_scores
// CHECK-NOT: tile.warp_local
func.func @given_scores(%s: tensor<64x32xf32>, %v: tensor<32x64xbf16>, %m0: tensor<64xf32>, %l0: tensor<64xf32>,
                        %o0: tensor<64x64xf32>, %end: index) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %r:3 = scf.for %j = %c0 to %end step %c32 iter_args(%m = %m0, %l = %l0, %o = %o0)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
    // expected-remark @+1 {{optimistic_softmax has no effect: the scores cannot be computed again from read-only tensors; each row maximum is found before its exponentials}}
    %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %l, %o
      : tensor<64x32xf32>, tensor<32x64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
    scf.yield %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
  return %r#2 : tensor<64x64xf32>
}

// Both products keep their labels, also the copy in the recompute path, which is rare, as is the first iteration.
// CHECK-LABEL: @labels
// CHECK: tile.dot {{.*}} {tile.label = "s"} :
// CHECK: scf.if
// CHECK: } {tile.rare}
// CHECK: scf.if
// CHECK: tile.dot {{.*}} {tile.label = "s", tile.warp_local} :
// CHECK: } {tile.rare}
// CHECK: tile.dot {{.*}} {tile.label = "o"} :
func.func @labels(%q: tensor<64x64xbf16>, %k: tensor<64x32xbf16>, %v: tensor<32x64xbf16>, %m0: tensor<64xf32>,
                  %l0: tensor<64xf32>, %o0: tensor<64x64xf32>, %end: index) -> tensor<64x64xf32> {
  %c0 = arith.constant 0 : index
  %c32 = arith.constant 32 : index
  %r:3 = scf.for %j = %c0 to %end step %c32 iter_args(%m = %m0, %l = %l0, %o = %o0)
      -> (tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>) {
    %s = tile.dot %q, %k {tile.label = "s"} : tensor<64x64xbf16>, tensor<64x32xbf16> -> tensor<64x32xf32>
    %m1, %l1, %o1 = tile.softmax_update %s, %v, %m, %l, %o {tile.label = "o"}
      : tensor<64x32xf32>, tensor<32x64xbf16>, tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
    scf.yield %m1, %l1, %o1 : tensor<64xf32>, tensor<64xf32>, tensor<64x64xf32>
  }
  return %r#2 : tensor<64x64xf32>
}

}
