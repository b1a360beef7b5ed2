// SPDX-License-Identifier: MIT
// Keep alphabetical.
#ifndef TEGULA_SIMPLIFY_PASSES
#define TEGULA_SIMPLIFY_PASSES

include "mlir/Pass/PassBase.td"

def Base2Exponentials : Pass<"base2-exponentials"> {
  let summary = "f32 exponentials and logarithms in base 2, with scales folded into them";
  let description = [{
    `exp(x)` becomes `exp2(x * log2e)` and `log(x)` becomes `log2(x) * ln2`: machines compute base 2.

    Then an exponent's factor is folded into what it multiplies, so that it costs at most one fused multiply-add per
    element: `(x * c) * log2e` is `x * (c * log2e)` where c is constant or a repeated scalar, and `(x - r) * log2e` is
    `x * log2e - r * log2e` where r is repeated along a dimension. Exponent arguments are the multiplications that
    carry `fastmath<reassoc>`; this pass and `decompose-softmax` put it there and nowhere else.

    Rounding: changes. An exponent's absolute error becomes about 2^-24 of the largest of its terms (x * c and r), so
    exp's relative error grows with them: 1e-5 at 100.

    Runs after `decompose-softmax`, whose exponents it folds.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::tegula::tile::TileDialect"];
}

def DecomposeSoftmax : Pass<"decompose-softmax"> {
  let summary = "the online softmax in elementary operations";
  let description = [{
    Replaces `tile.softmax_update`, `tile.softmax_output` and `tile.softmax_lse` by arithmetic, reductions and a dot.
    Probabilities stay f32, the exponential is in base 2, and `exp2(s * log2e - m * log2e)` is one fused multiply-add
    and one `exp2` per score.

    A row that has seen no key has m = -inf; its exponents are taken relative to 0, so that every probability is
    exp2(-inf) = 0 and no NaN appears. Such a row gives output 0 and log-sum-exp -inf.

    Rounding: that of one f32 multiplication in each exponent. The factor by which a row is rescaled when its maximum
    stays is exactly 1.

    For targets that gain nothing from knowing the online softmax as a whole; before `base2-exponentials`, which folds
    the scale of the scores into log2e.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::tegula::tile::TileDialect"];
}

def GuardDivision : Pass<"guard-division"> {
  let summary = "integer division that cannot trap";
  let description = [{
    In this language x / 0 and x % 0 are 0, and the smallest integer divided by -1 wraps around; a machine may trap on
    either and kill the host. An unsafe divisor is replaced by 1, and the result of a division by 0 by 0. Divisions by
    constants that are safe stay as they are.

    Price: two or three compares and two selects per division, which costs far more itself.

    Before anything that expands or vectorises divisions.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

#endif
