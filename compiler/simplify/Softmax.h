// SPDX-License-Identifier: MIT
// The online softmax in elementary operations: the common parts of its two forms for tensor cores.
#pragma once

#include "compiler/simplify/ScaledScores.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <limits>
#include <optional>

namespace tegula::simplify {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// The threshold of conditional rescaling. A row keeps its maximum until exp(new - old) exceeds 2 to this power.
constexpr double kRescaleThresholdLog2 = 8;

/// The state of the rows: the maximum of all scores so far, the sum of their exponentials, and the output before it is
/// divided by the sum.
struct SoftmaxState {
  mlir::Value m, l, o;
};

/// Returns `rows` [m], repeated along the columns of a tile of type [m, n].
mlir::Value acrossColumns(mlir::ImplicitLocOpBuilder &b, mlir::Value rows, mlir::Type type);
mlir::Value reduceRows(mlir::ImplicitLocOpBuilder &b, tile::Reduction kind, mlir::Value matrix, mlir::Type type);
mlir::Value isAbove(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value limit);
/// Returns `yes` where x equals `value`, otherwise `no`.
mlir::Value selectWhere(mlir::ImplicitLocOpBuilder &b, mlir::Value x, double value, double yes, mlir::Value no);

/// Returns the maximum that exponents subtract. It is 0 where `max` is -inf, so that subtracting it from another -inf
/// gives no NaN.
mlir::Value subtractedMax(mlir::ImplicitLocOpBuilder &b, mlir::Value max);
/// Returns (x - origin) log2(e). The difference is computed first, and nothing is fused, so that the result is exactly
/// 0 where x is the maximum. The largest probability is then exactly 1, and so is the factor of a row whose maximum
/// stays. An error in this factor would be raised to the power of the number of blocks of keys.
mlir::Value relativeExponent(mlir::ImplicitLocOpBuilder &b, mlir::Value x, mlir::Value origin);
/// Returns -origin log2(e), the term that base-2 exponents relative to `origin` add.
mlir::Value minusOrigin(mlir::ImplicitLocOpBuilder &b, mlir::Value origin);
/// Returns an i1 per row: true if `max` is so far from 0 that rounding P to the type of V, f16 or bf16, would show the
/// error of a fused exponent. Also true for -inf. In all other rows, rounding P gives exactly 1 for the largest score.
mlir::Value exceedsFusedRange(mlir::ImplicitLocOpBuilder &b, tile::SoftmaxUpdateOp op, mlir::Value max);

/// Returns scores and origins that fused exponents are exact enough for: `s` and `origin`, or differences if the origin
/// of some row exceeds the range.
RelativeScores withinFusedRange(mlir::ImplicitLocOpBuilder &b, tile::SoftmaxUpdateOp op, const ScaledScores &s,
                                mlir::Value origin);

using BuildValues = llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ImplicitLocOpBuilder &)>;
/// Emits `scf.if condition`. The two functions emit its sides and return what these yield.
mlir::ResultRange branch(mlir::ImplicitLocOpBuilder &b, mlir::Value condition, BuildValues then, BuildValues otherwise);
/// Emits a branch whose then side rarely runs (tile::rare).
mlir::ResultRange rareBranch(mlir::ImplicitLocOpBuilder &b, mlir::Value condition, BuildValues then,
                             BuildValues otherwise);
/// The updated state of the rows: maximum, sum, the factor `alpha` for the output, and `any`: i1, true if some row must
/// be rescaled.
struct Rows {
  mlir::Value m, l, alpha, any;
};

/// Gives each row whose `largest` score is above `limit` this score as its new maximum. Returns the updated state.
Rows updateMax(mlir::ImplicitLocOpBuilder &b, tile::SoftmaxUpdateOp op, mlir::Value largest, mlir::Value limit);
/// Returns `p` with zeros where `op` does not keep its elements.
mlir::Value keptProbabilities(mlir::ImplicitLocOpBuilder &b, tile::SoftmaxUpdateOp op, mlir::Value p);
/// Returns `o` + `p` V, the product that has the attributes of `op`, such as its label.
mlir::Value addProduct(mlir::ImplicitLocOpBuilder &b, tile::SoftmaxUpdateOp op, mlir::Value p, mlir::Value o);
/// Returns `alpha` * output + P V, where P are the kept elements of `p`, rounded to the type of V. The output is
/// multiplied by `alpha` only if `any` is true.
mlir::Value accumulate(mlir::ImplicitLocOpBuilder &b, tile::SoftmaxUpdateOp op, mlir::Value p, mlir::Value any,
                       mlir::Value alpha);

/// Computes exponentials first, relative to the old maxima. Returns nothing if the scores cannot be computed again.
std::optional<SoftmaxState> optimisticUpdate(mlir::ImplicitLocOpBuilder &b, tile::SoftmaxUpdateOp op);

} // namespace tegula::simplify
