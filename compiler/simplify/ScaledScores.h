// SPDX-License-Identifier: MIT
// Scores whose last multiplication and addition are still to be done: exponents take them in.
#pragma once

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::simplify {

/// tile * scale + added where `tile` is not -inf, with a positive scalar `scale`. Null stands for 1 and for 0; only a
/// scaled tile has something added.
struct ScaledScores {
  mlir::Value tile, scale = {}, added = {};
};

/// Takes a multiplication by a scalar, but for its sign, out of `scores`, and if `andAdded` what is added after it.
ScaledScores withoutScale(mlir::Value scores, bool andAdded);
/// The scores themselves.
mlir::Value computed(mlir::ImplicitLocOpBuilder &b, const ScaledScores &s);
/// A number for each row, multiplied by the scale.
mlir::Value scaled(mlir::ImplicitLocOpBuilder &b, mlir::Value rows, mlir::Value scale);
/// (s - origin) log2(e) with an origin for each row, in as few multiply-adds per element as there can be: scores are
/// not rounded, the scaled origin is.
mlir::Value fusedExponents(mlir::ImplicitLocOpBuilder &b, const ScaledScores &s, mlir::Value origin);
/// The same with scores rounded and the difference first: exactly 0 where a score is the origin.
mlir::Value exactExponents(mlir::ImplicitLocOpBuilder &b, const ScaledScores &s, mlir::Value origin);

} // namespace tegula::simplify
