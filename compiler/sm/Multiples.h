// SPDX-License-Identifier: MIT
// Which numbers are multiples of a constant, as far as the program shows it.
#pragma once

#include "mlir/IR/Value.h"

namespace tegula::sm {

/// Returns true if `index`, an integer, is provably a multiple of `divisor`, a power of two. Looks through loops'
/// variables, sums, products, minima, maxima, selections and casts.
bool isMultipleOf(mlir::Value index, int64_t divisor);

} // namespace tegula::sm
