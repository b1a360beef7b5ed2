// SPDX-License-Identifier: MIT
// Conversion to numbers of 16 bits, rounded to nearest even. Subnormals and infinities are those of IEEE 754.
#pragma once

#include "tegula/convert.h"
#include "tegula/dtype.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tegula::oracle {

using tegula::fromBf16, tegula::fromF16, tegula::toBf16, tegula::toF16;

/// Returns `x` rounded to f16 or bf16 and back. f32 numbers do not change.
float rounded(float x, DType dtype);
/// Returns half the distance between 1 and the next number: 2^-24, 2^-11 or 2^-8.
double unitRoundoff(DType dtype);

/// Converts between f32 numbers and `count` numbers of type f32, f16 or bf16 in `memory`.
void encode(const float *numbers, size_t count, DType dtype, void *memory);
void decode(const void *memory, size_t count, DType dtype, float *numbers);

} // namespace tegula::oracle
