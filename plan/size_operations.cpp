// SPDX-License-Identifier: MIT
#include "size_operations.h"

#include <algorithm>
#include <limits>

namespace tegula {
namespace {

using Wide = __int128;

constexpr SizeOperation kOperations[] = {
    {SizeOp::multiply, "*", 6, 2},  {SizeOp::divide, "/", 6, 2},         {SizeOp::remainder, "%", 6, 2},
    {SizeOp::add, "+", 5, 2},       {SizeOp::subtract, "-", 5, 2},       {SizeOp::less_equal, "<=", 4, 2},
    {SizeOp::less, "<", 4, 2},      {SizeOp::greater_equal, ">=", 4, 2}, {SizeOp::greater, ">", 4, 2},
    {SizeOp::equal, "==", 3, 2},    {SizeOp::not_equal, "!=", 3, 2},     {SizeOp::both, "&", 2, 2},
    {SizeOp::either, "|", 1, 2},    {SizeOp::ceil_div, "ceildiv", 0, 2}, {SizeOp::minimum, "min", 0, 2},
    {SizeOp::maximum, "max", 0, 2}, {SizeOp::select, "select", 0, 3},
};

int64_t saturated(Wide value) {
  return static_cast<int64_t>(
      std::clamp<Wide>(value, std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()));
}

/// Returns a / b, rounded up.
Wide quotientUp(int64_t a, int64_t b) {
  if (a >= 0 && b > 0) // A division of 64 bits is several times as fast.
    return Wide(a / b) + (a % b != 0);
  const Wide quotient = Wide(a) / b;
  return quotient + ((Wide(a) % b != 0 && (a < 0) == (b < 0)) ? 1 : 0);
}

} // namespace

std::span<const SizeOperation> sizeOperations() { return kOperations; }

const SizeOperation &operationOf(SizeOp op) { return *std::ranges::find(kOperations, op, &SizeOperation::op); }

int64_t compute(SizeOp op, const int64_t *operands) {
  const Wide a = operands[0], b = operands[1];
  switch (op) {
  case SizeOp::multiply:
    return saturated(a * b);
  case SizeOp::divide:
    return b == 0 ? 0 : saturated(a / b);
  case SizeOp::remainder:
    return b == 0 ? 0 : saturated(a % b);
  case SizeOp::add:
    return saturated(a + b);
  case SizeOp::subtract:
    return saturated(a - b);
  case SizeOp::less:
    return a < b;
  case SizeOp::less_equal:
    return a <= b;
  case SizeOp::greater:
    return a > b;
  case SizeOp::greater_equal:
    return a >= b;
  case SizeOp::equal:
    return a == b;
  case SizeOp::not_equal:
    return a != b;
  case SizeOp::both:
    return a != 0 && b != 0;
  case SizeOp::either:
    return a != 0 || b != 0;
  case SizeOp::ceil_div:
    return b == 0 ? 0 : saturated(quotientUp(operands[0], operands[1]));
  case SizeOp::minimum:
    return std::min(operands[0], operands[1]);
  case SizeOp::maximum:
    return std::max(operands[0], operands[1]);
  case SizeOp::select:
    return a != 0 ? operands[1] : operands[2];
  case SizeOp::number:
  case SizeOp::name:
    break;
  }
  return 0;
}

} // namespace tegula
