// SPDX-License-Identifier: MIT
// Conversion to the types of tensors that hold floats, rounded to nearest even.
#pragma once

#include "tegula/convert.h"
#include "tegula/dtype.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tegula::oracle {

using tegula::fromBf16, tegula::fromE4m3, tegula::fromF16, tegula::toBf16, tegula::toE4m3, tegula::toF16;

/// Returns `x` rounded to a type of floats and back. f32 numbers do not change.
float rounded(float x, DType dtype);
/// Returns half the distance between 1 and the next number: 2^-24, 2^-11, 2^-8 or 2^-4.
double unitRoundoff(DType dtype);

/// Converts between f32 numbers and `count` numbers of a type of floats in `memory`.
void encode(const float *numbers, size_t count, DType dtype, void *memory);
void decode(const void *memory, size_t count, DType dtype, float *numbers);

} // namespace tegula::oracle
