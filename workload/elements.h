// SPDX-License-Identifier: MIT
// Numbers as the elements of a tensor.
#pragma once

#include "tegula/dtype.h"

#include <cstddef>

namespace tegula::tools {

/// Writes `count` numbers to `memory`: rounded to nearest even to a type of floats, or towards 0 to i64, i32 or i8.
void encode(const float *numbers, size_t count, DType dtype, void *memory);
/// Reads what encode writes.
void decode(const void *memory, size_t count, DType dtype, float *numbers);

// The same for numbers in double precision.
void encode(const double *numbers, size_t count, DType dtype, void *memory);
void decode(const void *memory, size_t count, DType dtype, double *numbers);

} // namespace tegula::tools
