// SPDX-License-Identifier: MIT
// What a multiprocessor does in a clock, from NVIDIA's data sheets.
#pragma once

#include "mlir/IR/Operation.h"

#include <cstdint>
#include <optional>

namespace tegula::sm {

struct Rates {
  double multiplyAdds;          ///< Multiply-adds of tensor cores on 16-bit operands, with accumulators of f32.
  double specialFunctions = 16; ///< Exponentials, logarithms, reciprocals, roots and tanh of f32 numbers.
  double sharedBytes = 128;     ///< Bytes that move between shared memory and its readers and writers.
};

/// Returns the rates of a GPU. `arch` is the number of its architecture, 90 for sm_90a. Empty if they are not known.
constexpr std::optional<Rates> ratesOf(int64_t arch) {
  switch (arch) {
  case 80:
    return Rates{.multiplyAdds = 1024};
  case 86:
  case 89:
    return Rates{.multiplyAdds = 512};
  case 90:
    return Rates{.multiplyAdds = 2048};
  default:
    return std::nullopt;
  }
}

/// Returns the number of special functions that a program instance computes for an elementwise op on tiles, or 0 for
/// other ops. A division counts as one: it multiplies by a reciprocal.
int64_t specialFunctionsOf(mlir::Operation *op);

} // namespace tegula::sm
