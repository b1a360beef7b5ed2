// SPDX-License-Identifier: MIT
// Scores without their last multiplication and addition, which become part of the exponents.
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::simplify {

/// The scores tile * scale + added, with a positive scalar `scale`. Masked elements are -inf in `tile`. A null scale
/// stands for 1, and a null `added` for 0. Only scores with a scale have something added.
struct ScaledScores {
  mlir::Value tile, scale = {}, added = {};
};

/// Takes a multiplication by a scalar, except its sign, out of `scores`. If `andAdded` is true, also takes out the term
/// that is added after it.
ScaledScores withoutScale(mlir::Value scores, bool andAdded);
/// Returns the scores as one tile.
mlir::Value computed(mlir::ImplicitLocOpBuilder &b, const ScaledScores &s);
/// Returns one value per row, multiplied by the scale.
mlir::Value scaled(mlir::ImplicitLocOpBuilder &b, mlir::Value rows, mlir::Value scale);
/// Returns (s - origin) log2(e), with one subtracted maximum per row, in as few multiply-adds per element as possible.
/// The scaled maximum is rounded, the scores are not. The product of a score and log2(e) may overflow.
mlir::Value fusedExponents(mlir::ImplicitLocOpBuilder &b, const ScaledScores &s, mlir::Value origin);
/// Returns the same exponents with rounded scores and the difference first. They are exactly 0 where a score equals
/// `origin`, and right for all finite scores.
mlir::Value exactExponents(mlir::ImplicitLocOpBuilder &b, const ScaledScores &s, mlir::Value origin);
/// Returns exp(s - origin). Exponents are exact if `exact` (i1) is true, otherwise fused. The exponentials are in both
/// sides of the branch, because ptxas does not interleave instructions across it.
mlir::Value probabilities(mlir::ImplicitLocOpBuilder &b, const ScaledScores &s, mlir::Value origin, mlir::Value exact);

} // namespace tegula::simplify
