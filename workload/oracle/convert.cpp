// SPDX-License-Identifier: MIT
#include "oracle/convert.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace tegula::oracle {
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

float rounded(float x, DType dtype) {
  if (dtype == f16)
    return fromF16(toF16(x));
  return dtype == bf16 ? fromBf16(toBf16(x)) : x;
}

double unitRoundoff(DType dtype) { return std::ldexp(1.0, dtype == f16 ? -11 : dtype == bf16 ? -8 : -24); }

void encode(const float *numbers, size_t count, DType dtype, void *memory) {
  if (dtype == f32) {
    std::memcpy(memory, numbers, count * sizeof(float));
    return;
  }
  auto *bits = static_cast<uint16_t *>(memory);
  for (size_t n = 0; n < count; ++n)
    bits[n] = dtype == f16 ? toF16(numbers[n]) : toBf16(numbers[n]);
}

void decode(const void *memory, size_t count, DType dtype, float *numbers) {
  if (dtype == f32) {
    std::memcpy(numbers, memory, count * sizeof(float));
    return;
  }
  auto *bits = static_cast<const uint16_t *>(memory);
  for (size_t n = 0; n < count; ++n)
    numbers[n] = dtype == f16 ? fromF16(bits[n]) : fromBf16(bits[n]);
}

} // namespace tegula::oracle
