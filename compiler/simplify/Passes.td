// SPDX-License-Identifier: MIT
// Keep alphabetical.
#ifndef TEGULA_SIMPLIFY_PASSES
#define TEGULA_SIMPLIFY_PASSES

include "mlir/Pass/PassBase.td"

def Base2Exponentials : Pass<"base2-exponentials"> {
  let summary = "f32 exponentials and logarithms in base 2";
  let description = [{
    `exp(x)` becomes `exp2(x * log2e)` and `log(x)` becomes `log2(x) * ln2`: machines compute base 2.

    The factor is not folded into what x is made of. In `exp(s * scale - lse)` the difference is small where the result
    matters, so multiplying it last costs one multiplication per element and keeps twice the accuracy of
    `exp2(s * (scale * log2e) - lse * log2e)`. A target on which that multiplication shows folds it itself.

    Rounding: changes, by one f32 multiplication.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def DecomposeSoftmax : Pass<"decompose-softmax"> {
  let summary = "the online softmax in elementary operations";
  let description = [{
    Replaces `tile.softmax_update`, `tile.softmax_output` and `tile.softmax_lse` by arithmetic, reductions and a dot.
    Probabilities stay f32 and are `exp2((s - m) * log2e)`: the largest of a row is exactly 1, and so is the factor by
    which a row is rescaled when its maximum stays.

    A row that has seen no key has m = -inf; its exponents are taken relative to 0, so that every probability is
    exp2(-inf) = 0 and no NaN appears. Such a row gives output 0 and log-sum-exp -inf.

    For targets that gain nothing from knowing the online softmax as a whole.
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
