// SPDX-License-Identifier: MIT
// Conversion between f32 and narrower numbers, for hosts that fill and read tensors of f16, bf16 and e4m3. Numbers are
// rounded to nearest even. Subnormals and infinities are those of IEEE 754. A NaN stays a NaN. e4m3 has no infinity:
// numbers that are too large become the largest one, 448.
#pragma once

#include <cstdint>

namespace tegula {

uint16_t toF16(float x);
float fromF16(uint16_t bits);
uint16_t toBf16(float x);
float fromBf16(uint16_t bits);
uint8_t toE4m3(float x);
float fromE4m3(uint8_t bits);

} // namespace tegula
