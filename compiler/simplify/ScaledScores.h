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
/// Scores and the numbers, one per row, that their exponents subtract.
struct RelativeScores {
  mlir::Value tile, origin;
};
/// Returns (s - origin) / scale, relative to 0. `fusedExponents` of it with the scale of `s` are right for all finite
/// scores, and exactly 0 where a score equals `origin`.
RelativeScores differences(mlir::ImplicitLocOpBuilder &b, const ScaledScores &s, mlir::Value origin);
} // namespace tegula::simplify
