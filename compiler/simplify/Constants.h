// SPDX-License-Identifier: MIT
// Constants for code that treats scalars and tiles alike.
#pragma once

#include "mlir/IR/Value.h"
#include "llvm/ADT/APInt.h"

namespace mlir {
class ImplicitLocOpBuilder;
} // namespace mlir

namespace tegula::simplify {

constexpr double log2e = 1.4426950408889634, ln2 = 0.6931471805599453;

/// Returns a constant of `type` (a float, or a tile of floats) with every element equal to `value`.
mlir::Value floatConstant(mlir::ImplicitLocOpBuilder &b, mlir::Type type, double value);
/// Returns such a constant for integers and `index`.
mlir::Value integerConstant(mlir::ImplicitLocOpBuilder &b, mlir::Type type, const llvm::APInt &value);

} // namespace tegula::simplify
