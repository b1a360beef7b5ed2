// SPDX-License-Identifier: MIT
// What the instructions of a whole warp compute. Fragments are those of the PTX manual; `lanes` gives each lane's
// registers as 32-bit words.
#pragma once

#include "tegula/simt_ops.h"

#include <array>
#include <cstdint>

namespace tegula::simt {

inline constexpr uint32_t kWarp = 32;

/// One lane's part in an mma.
struct MmaRegisters {
  const uint32_t *a, *b;
  const float *c;
  float *d;
};

void multiply(SimtMma kind, const std::array<MmaRegisters, kWarp> &lanes);

/// Where an element of 16 bits of an 8 x 8 matrix is held.
struct MatrixPlace {
  uint32_t lane, half; ///< 0: the low half of the word.
};
constexpr MatrixPlace matrixPlace(uint32_t row, uint32_t column, bool transposed) {
  return transposed ? MatrixPlace{column * 4 + row / 2, row % 2} : MatrixPlace{row * 4 + column / 2, column % 2};
}

float fromBf16(uint32_t bits);
float fromF16(uint32_t bits);
/// The tensor cores do not look at the low 13 bits.
float fromTf32(uint32_t bits);

float exp2Approximate(float x);
float log2Approximate(float x);
/// Has no more bits than the instruction, so that what is too much for it shows here, too.
float tanhApproximate(float x);
uint32_t toTf32(float x);
uint32_t toBf16(float x);

} // namespace tegula::simt
