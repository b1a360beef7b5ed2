// SPDX-License-Identifier: MIT
// The operations of sizes: how they are spelt, and what they compute.
#pragma once

#include "tegula/size.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace tegula {

struct SizeOperation {
  SizeOp op;
  std::string_view word; ///< The infix operator, or the name of the function.
  int precedence;        ///< As in C++: larger binds tighter. 0 for a function.
  size_t operands;
};

/// Returns all operations; numbers and names are none.
std::span<const SizeOperation> sizeOperations();
/// Returns the row of an operation, which is neither a number nor a name.
const SizeOperation &operationOf(SizeOp op);

/// Computes an operation on as many numbers as it has operands.
int64_t compute(SizeOp op, const int64_t *operands);

} // namespace tegula
