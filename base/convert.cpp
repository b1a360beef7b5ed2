// SPDX-License-Identifier: MIT
#include "tegula/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tegula {
namespace {

/// Drops the low `count` bits of `bits`. Rounds to nearest, ties to even.
uint32_t shiftRounded(uint32_t bits, int count) {
  uint32_t half = (1u << (count - 1)) - 1;
  uint32_t odd = (bits >> count) & 1;
  return (bits + half + odd) >> count;
}

} // namespace

uint16_t toF16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  uint16_t sign = uint16_t((bits >> 16) & 0x8000);
  uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000)
    return sign | 0x7e00;
  if (magnitude >= 0x47800000) // 2^16 and more
    return sign | 0x7c00;
  if (magnitude < 0x38800000) // below 2^-14: counts of 2^-24; the default rounding mode is to nearest even
    return sign | uint16_t(std::nearbyint(std::ldexp(std::fabs(x), 24)));
  return sign | uint16_t(shiftRounded(magnitude - 0x38000000, 13));
}

float fromF16(uint16_t bits) {
  uint32_t sign = uint32_t(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 0x1f;
  uint32_t fraction = bits & 0x3ff;
  if (exponent == 0x1f)
    return std::bit_cast<float>(sign | 0x7f800000 | fraction << 13);
  if (exponent == 0)
    return std::copysign(std::ldexp(float(fraction), -24), sign ? -1.0f : 1.0f);
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t toBf16(float x) {
  uint32_t bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x))
    return uint16_t(bits >> 16 | 0x40);
  return uint16_t(shiftRounded(bits & 0x7fffffff, 16) | (bits >> 16 & 0x8000));
}

float fromBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t(bits) << 16); }

uint8_t toE4m3(float x) {
  if (std::isnan(x))
    return 0x7f;
  const uint8_t sign = std::signbit(x) ? 0x80 : 0;
  const float magnitude = std::min(std::fabs(x), 448.0f);
  if (magnitude < 0x1p-6f) // counts of 2^-9
    return sign | uint8_t(std::nearbyint(std::ldexp(magnitude, 9)));
  return sign | uint8_t(shiftRounded(std::bit_cast<uint32_t>(magnitude) - (120u << 23), 20));
}

float fromE4m3(uint8_t bits) {
  const float sign = bits & 0x80 ? -1.0f : 1.0f;
  const int exponent = bits >> 3 & 0xf, fraction = bits & 7;
  if ((bits & 0x7f) == 0x7f)
    return std::copysign(std::numeric_limits<float>::quiet_NaN(), sign);
  if (exponent == 0)
    return std::copysign(std::ldexp(float(fraction), -9), sign);
  return sign * std::ldexp(float(8 + fraction), exponent - 10);
}

} // namespace tegula
