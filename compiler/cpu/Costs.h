// SPDX-License-Identifier: MIT
// Estimates of what ops cost, in vector instructions.
#pragma once

#include "mlir/IR/Operation.h"

namespace tegula::cpu {

/// The number of iterations that a loop counts as, because the real number is not known.
inline constexpr double kTripsOfALoop = 16;

/// Returns how often `op` runs, judged by the loops around it.
double frequency(mlir::Operation *op);

/// Returns the cost of one vector of an elementwise `op`, without its operands.
double ownCost(mlir::Operation *op);

} // namespace tegula::cpu
