// SPDX-License-Identifier: MIT
// Functions that consist of other operations.
#include "convert.h"
#include "tegula/ops.h"

#include <limits>
#include <numbers>

namespace tegula {
namespace {

constexpr double kLowest = std::numeric_limits<float>::lowest();

/// Makes the operands of one function. Each has the line of the function's call.
struct Caller {
  const char *function;
  Location where;

  Value real(const Operand &x) const {
    Recorder &r = Recorder::current();
    return r.value(Converter(r, function, where).real(r.use(x)), where);
  }
  Value matrix(const Operand &x) const {
    Recorder &r = Recorder::current();
    Converter convert(r, function, where);
    Term term = r.use(x);
    if (convert.poisoned(term) || (!term.literal() && r.type(term.id).shape.size() == 2))
      return r.value(convert.real(term), where);
    return r.value(convert.fail(convert.describe(term) + " is not a matrix", {term}, {f32, {1, 1}}), where);
  }
  Operand operator()(const Value &x) const { return {x, where}; }
  Operand operator()(double x) const { return {x, where}; }
};

/// Returns 1 + exp(-x), which the logistic function divides by. Where it overflows, the quotient of 1 is 0, which is
/// off by less than 2^-126.
Value logisticDivisor(const Caller &at, Value x) { return at(1.0) + at(exp(at(-at(x)), at.where)); }

/// Returns x, but a finite number for minus infinity. A function that multiplies it by a weight, which is 0 there, then
/// gives its limit 0 instead of NaN.
Value finiteBelow(const Caller &at, Value x) { return max(at(x), at(kLowest), at.where); }

} // namespace

Value sigmoid(Operand x, Location where) {
  Caller at{"sigmoid", where};
  return at(1.0) / at(logisticDivisor(at, at.real(x)));
}

Value silu(Operand x, Location where) {
  Caller at{"silu", where};
  Value real = at.real(x);
  return at(finiteBelow(at, real)) / at(logisticDivisor(at, real));
}

Value gelu(Operand x, Location where) {
  Caller at{"gelu", where};
  Value real = at.real(x);
  Value weight = at(0.5) + at(at(0.5) * at(erf(at(at(real) * at(std::numbers::sqrt2 / 2)), where)));
  return at(finiteBelow(at, real)) * at(weight);
}

Value rsqrt(Operand x, Location where) {
  Caller at{"rsqrt", where};
  return at(1.0) / at(sqrt(at(at.real(x)), where));
}

Value rowLogSumExp(Operand matrix, Location where) {
  Caller at{"rowLogSumExp", where};
  Value scores = at.matrix(matrix);
  Value largest = rowMax(at(scores), where);
  // An infinite maximum is not subtracted, because infinity minus infinity is NaN.
  Value shift = select(at(isFinite(at(largest), where)), at(largest), at(0.0), where);
  Value shifted = at(scores) - at(asColumn(at(shift), where));
  return at(shift) + at(log(at(rowSum(at(exp(at(shifted), where)), where)), where));
}

} // namespace tegula
