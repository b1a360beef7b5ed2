// SPDX-License-Identifier: MIT
#include "oracle/convert.h"

#include <cmath>
#include <cstring>

namespace tegula::oracle {
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
