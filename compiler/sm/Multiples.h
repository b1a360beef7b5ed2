// SPDX-License-Identifier: MIT
// Factors of integers that are known at compile time.
#pragma once

#include "mlir/IR/Value.h"

namespace tegula::sm {

/// Returns true if `value` is provably a multiple of `divisor`, a power of two. Sees through constants, sums, products,
/// minima, maxima, selections and casts. The induction variable of an scf.for is a multiple of what divides both its
/// lower bound and its step. A sum that wraps is no exception, because the divisor also divides the modulus.
bool isMultipleOf(mlir::Value value, int64_t divisor);

} // namespace tegula::sm
