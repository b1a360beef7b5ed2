// SPDX-License-Identifier: MIT
// Conversion between f32 and numbers of 16 bits, for hosts that fill and read tensors of f16 and bf16. Numbers are
// rounded to nearest even. Subnormals and infinities are those of IEEE 754. A NaN stays a NaN.
#pragma once

#include <cstdint>

namespace tegula {

uint16_t toF16(float x);
float fromF16(uint16_t bits);
uint16_t toBf16(float x);
float fromBf16(uint16_t bits);

} // namespace tegula
