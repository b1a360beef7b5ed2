// SPDX-License-Identifier: MIT
#include "ptx/operations.h"

#include <algorithm>
#include <cmath>

namespace tegula::ptx_fuzz {

namespace {

long double exact(uint64_t bits, Type type) {
  if (type.isFloat())
    return valueOf(formatOf(type), bits);
  return type.isSigned() ? static_cast<long double>(signExtend(bits, type.bits)) : static_cast<long double>(bits);
}

/// Returns the integer that `rounding` makes of a number: rni, rzi, rmi or rpi.
std::optional<long double> toInteger(const std::string &rounding, long double x) {
  if (rounding == "rni")
    return std::nearbyint(x);
  if (rounding == "rzi")
    return std::trunc(x);
  if (rounding == "rmi")
    return std::floor(x);
  if (rounding == "rpi")
    return std::ceil(x);
  return std::nullopt;
}

/// Returns an integer of `type`. One that does not fit becomes the nearest, and NaN becomes 0.
uint64_t saturate(long double x, Type type) {
  if (std::isnan(x))
    return 0;
  const int bits = static_cast<int>(type.bits);
  if (!type.isSigned())
    return x <= 0 ? 0 : static_cast<uint64_t>(std::min(x, std::ldexp(1.0L, bits) - 1));
  const long double limit = std::ldexp(1.0L, bits - 1);
  return static_cast<uint64_t>(static_cast<int64_t>(std::clamp(x, -limit, limit - 1)));
}

Operation resizing(Type to, Type from, std::function<uint64_t(const uint64_t *)> compute) {
  return {to, {from}, std::move(compute), /*takesWiderRegisters=*/true};
}

Operation betweenIntegers(Type to, Type from) {
  return resizing(to, from, [=](const uint64_t *x) {
    return from.isSigned() ? static_cast<uint64_t>(signExtend(x[0], from.bits)) : x[0];
  });
}

/// Conversions from floats that end in an integer, which may itself be stored as a float.
std::optional<Operation> roundingToInteger(const std::string &rounding, Type to, Type from) {
  if (!from.isFloat() || (to.isFloat() && to.kind != from.kind) || !toInteger(rounding, 0))
    return std::nullopt;
  return resizing(to, from, [=](const uint64_t *x) {
    const long double whole = *toInteger(rounding, exact(x[0], from));
    return to.isFloat() ? roundTo(formatOf(to), whole) : saturate(whole, to);
  });
}

std::optional<Operation> roundingToFloat(const std::string &rounding, Type to, Type from) {
  if (!to.isFloat() || (rounding != "rn" && rounding != "rz"))
    return std::nullopt;
  const Rounding how = rounding == "rn" ? Rounding::nearest_even : Rounding::to_zero;
  return resizing(to, from, [=](const uint64_t *x) { return roundTo(formatOf(to), exact(x[0], from), how); });
}

/// Conversions of two f32 to a pair of 16 bits. The first becomes the upper half.
std::optional<Operation> packing(const std::string &rounding, Type to, Type from) {
  if (rounding != "rn" || from.kind != Type::Kind::f32)
    return std::nullopt;
  return Operation{to, {from, from}, [format = formatOf(to)](const uint64_t *x) {
                     return roundTo(format, valueOf(kF32, x[0])) << 16 | roundTo(format, valueOf(kF32, x[1]));
                   }};
}

} // namespace

std::optional<Operation> conversion(const Words &words, Type from) {
  const size_t count = words.size();
  if (words[0] != "cvt" || count < 3 || count > 4 || from.lanes != 1)
    return std::nullopt;
  const std::optional<Type> to = typeNamed(words[count - 2]);
  const std::string rounding = count == 4 ? words[1] : "";
  if (!to)
    return std::nullopt;
  if (to->lanes == 2)
    return packing(rounding, *to, from);
  if (rounding.empty() && to->isInteger() && from.isInteger())
    return betweenIntegers(*to, from);
  if (rounding.empty() && to->kind == Type::Kind::f32 && from.isFloat())
    return resizing(*to, from, [=](const uint64_t *x) { return roundTo(kF32, exact(x[0], from)); });
  if (std::optional<Operation> found = roundingToInteger(rounding, *to, from))
    return found;
  return roundingToFloat(rounding, *to, from);
}

} // namespace tegula::ptx_fuzz
