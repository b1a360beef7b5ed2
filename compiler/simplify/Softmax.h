// SPDX-License-Identifier: MIT
// The online softmax in elementary operations: what its two forms for tensor cores share.
#pragma once

#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include <limits>
#include <optional>

namespace tegula::simplify {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// A row keeps its maximum until it has grown by 2 to the power of this.
constexpr double raisedAbove = 8;

/// Of rows: the maximum and the sum of all scores so far, and the output before it is divided by the sum.
struct SoftmaxState {
  mlir::Value m, l, o;
};

/// `rows` [m] repeated along the columns of a tile of type [m, n].
mlir::Value acrossColumns(mlir::ImplicitLocOpBuilder &b, mlir::Value rows, mlir::Type type);
mlir::Value reduceRows(mlir::ImplicitLocOpBuilder &b, tile::Reduction kind, mlir::Value matrix, mlir::Type type);
mlir::Value isAbove(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value limit);
/// `yes` where x equals `value`, else `no`.
mlir::Value selectWhere(mlir::ImplicitLocOpBuilder &b, mlir::Value x, double value, double yes, mlir::Value no);

/// The maximum, and 0 where that is -inf, so that subtracting it from another -inf gives no NaN.
mlir::Value exponentOrigin(mlir::ImplicitLocOpBuilder &b, mlir::Value max);
/// (x - origin) log2(e). The difference comes first, and nothing is fused: it is exactly 0 where x is the maximum, so
/// that the largest probability is exactly 1, and so is the factor of a row whose maximum stays. An error in that
/// factor would be raised to the power of the number of blocks.
mlir::Value relativeExponent(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value origin);
/// What is added to exponents to base 2 that are relative to `origin`.
mlir::Value minusOrigin(mlir::ImplicitLocOpBuilder &b, mlir::Value origin);
/// Whether the type of the values, which is the probabilities', hides that the origin of fused exponents is rounded,
/// however large it is.
bool hidesRounding(tile::SoftmaxUpdateOp op);
/// Where other types may show it. Elsewhere the largest probability is off 1 by less than 2^-13, and f16 rounds it
/// to 1.
mlir::Value isFarFromZero(mlir::ImplicitLocOpBuilder &b, mlir::Value origin);
/// A row's maximum and sum, what its output is multiplied by, and whether that does anything.
struct Rows {
  mlir::Value m, l, alpha, any;
};

/// Rows whose `largest` score is above `limit` become relative to it.
Rows raisedTo(mlir::ImplicitLocOpBuilder &b, tile::SoftmaxUpdateOp op, mlir::Value largest, mlir::Value limit);
/// The product of the probabilities `p` of a block and its values, added to the output so far, which is multiplied by
/// `alpha` first if there is `any` row in which that does something.
mlir::Value accumulate(mlir::ImplicitLocOpBuilder &b, tile::SoftmaxUpdateOp op, mlir::Value p, mlir::Value any,
                       mlir::Value alpha);

/// Exponentials first, relative to the maxima before; none if the scores cannot be computed a second time.
std::optional<SoftmaxState> optimisticUpdate(mlir::ImplicitLocOpBuilder &b, tile::SoftmaxUpdateOp op);

} // namespace tegula::simplify
