// SPDX-License-Identifier: MIT
#include "ptx/floats.h"

#include <cmath>
#include <cstring>

namespace tegula::ptx_fuzz {

/// Returns the integer that a positive finite value becomes, in units of the last place of its rounded form.
static uint64_t significandOf(Format format, long double magnitude, int exponent, Rounding rounding) {
  long double scaled = std::ldexp(magnitude, format.fraction_bits - exponent);
  return static_cast<uint64_t>(rounding == Rounding::to_zero ? std::trunc(scaled) : std::nearbyint(scaled));
}

uint64_t roundTo(Format format, long double value, Rounding rounding) {
  if (std::isnan(value))
    return format.nan();
  uint64_t sign = uint64_t{std::signbit(value)} << (format.bits() - 1);
  long double magnitude = std::fabs(value);
  if (magnitude == 0)
    return sign;
  if (std::isinf(magnitude))
    return sign | format.infinity();
  const int smallest = 1 - format.bias(), exponent = std::max(std::ilogb(magnitude), smallest);
  // The hidden bit of a normal number adds 1 to the exponent field, and so does a carry.
  uint64_t bits = significandOf(format, magnitude, exponent, rounding) +
                  (static_cast<uint64_t>(exponent - smallest) << format.fraction_bits);
  if (exponent > format.bias() || bits >= format.infinity())
    bits = rounding == Rounding::to_zero ? format.infinity() - 1 : format.infinity();
  return sign | bits;
}

long double valueOf(Format format, uint64_t bits) {
  const uint64_t magnitude = bits & format.nan(), fraction = magnitude & ((uint64_t{1} << format.fraction_bits) - 1);
  const int exponent = static_cast<int>(magnitude >> format.fraction_bits);
  long double value = 0;
  if (magnitude > format.infinity())
    return std::nanl("");
  if (magnitude == format.infinity())
    value = HUGE_VALL;
  else if (exponent == 0)
    value = std::ldexp(static_cast<long double>(fraction), 1 - format.bias() - format.fraction_bits);
  else
    value = std::ldexp(static_cast<long double>(fraction + (uint64_t{1} << format.fraction_bits)),
                       exponent - format.bias() - format.fraction_bits);
  return bits >> (format.bits() - 1) & 1 ? -value : value;
}

/// Returns a sum of finite numbers, rounded to odd: the last bit is 1 if the sum is not exact. Rounding the result once
/// more to a format with two bits less gives what one rounding would.
static long double addToOdd(long double x, long double y) {
  const long double sum = x + y, part = sum - x, error = (x - (sum - part)) + (y - part);
  uint64_t significand;
  std::memcpy(&significand, &sum, sizeof(significand));
  if (error == 0 || significand & 1)
    return sum;
  return std::nextafter(sum, error > 0 ? HUGE_VALL : -HUGE_VALL);
}

uint64_t fuse(Format format, uint64_t x, uint64_t y, uint64_t z) {
  const long double product = valueOf(format, x) * valueOf(format, y), addend = valueOf(format, z);
  const bool isFinite = std::isfinite(product) && std::isfinite(addend);
  return roundTo(format, isFinite ? addToOdd(product, addend) : product + addend);
}

} // namespace tegula::ptx_fuzz
