// SPDX-License-Identifier: MIT
// Products in which NaN and infinities reach only what sees them, made of ordinary operations.
#include "tegula/ops.h"

#include <limits>

namespace tegula {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Value asNumbers(DType dtype, Value condition) { return cast(dtype, select(condition, 1.0, 0.0)); }

/// Adds to `sum` what the elements of `b` that are no finite numbers add to a product: an infinity where those that are
/// seen are infinities that all make that one, else NaN. `signs` holds 1, 0 or -1 for each element of the left operand,
/// 0 where it is not seen.
Value withNonFinite(Value sum, Value seen, Value signs, Value b) {
  Value infinities = select(b == infinity, 1.0, select(b == -infinity, -1.0, 0.0));  // [k, n]
  Value count = dot(asNumbers(b.dtype(), seen), asNumbers(b.dtype(), !isFinite(b))); // [m, n]
  Value total = dot(cast(b.dtype(), signs), cast(b.dtype(), infinities));            // [m, n]
  Value negative = select(total == -count, -infinity, std::numeric_limits<double>::quiet_NaN());
  return select(count == 0.0, sum, sum + select(total == count, infinity, negative));
}

Value zeros(Value like) { return cast(like.dtype(), fill(like.shape(), 0.0)); }

Value finitePart(Value x) { return select(isFinite(x), x, zeros(x)); }

} // namespace

Value isFinite(Operand x, Location where) { return abs(x, where) < infinity; }

/// 0 times a number is 0, and 0 times what is none is NaN: a sum of such products is 0 or NaN.
Value allFinite(Value x, Location where) {
  Var sum = cast(f32, x) * 0.0;
  for (int axis = int(x.shape().size()); axis-- > 0;)
    sum = reduceSum(sum, axis, where);
  return !any(sum != 0.0, where);
}

Value dotWhere(Value seen, Value a, Value b, Operand acc, Location where) {
  Value places = broadcast(seen, a.shape(), where);                       // [m, k]
  Value shown = select(places, a, zeros(a));                              // [m, k]
  Value signs = select(shown > 0.0, 1.0, select(shown < 0.0, -1.0, 0.0)); // [m, k]
  return withNonFinite(dot(shown, finitePart(b), acc, Precision::ieee, where), places, signs, b);
}

void OnlineSoftmax::updateWhereSeen(Value scores, Value values, std::optional<Value> keep, Location where) {
  update(scores, finitePart(values), keep, where);
  Value seen = keep ? (scores != -infinity) & *keep : scores != -infinity; // [rows, keys]
  o_ = withNonFinite(o_, seen, select(seen, 1.0, 0.0), values);
}

} // namespace tegula
