// SPDX-License-Identifier: MIT
// The arithmetic of instructions of a whole warp. Fragments are as in the PTX manual. `lanes` has the registers of each
// lane as 32-bit words.
#pragma once

#include "tegula/simt_ops.h"

#include <array>
#include <cstdint>

namespace tegula::simt {

inline constexpr uint32_t kWarp = 32;

/// The registers of one lane for an mma.
struct MmaRegisters {
  const uint32_t *a, *b;
  const float *c;
  float *d;
};

void multiply(SimtMma kind, const std::array<MmaRegisters, kWarp> &lanes);

/// The lane and the half of its word that hold a 16-bit element of an 8 x 8 matrix.
struct MatrixPlace {
  uint32_t lane, half; ///< 0 is the low half of the word.
};
constexpr MatrixPlace matrixPlace(uint32_t row, uint32_t column, bool transposed) {
  return transposed ? MatrixPlace{column * 4 + row / 2, row % 2} : MatrixPlace{row * 4 + column / 2, column % 2};
}

float fromBf16(uint32_t bits);
float fromF16(uint32_t bits);
/// Converts a tf32 number. Ignores the low 13 bits, as tensor cores do.
float fromTf32(uint32_t bits);

float exp2Approximate(float x);
float log2Approximate(float x);
float reciprocalApproximate(float x);
/// Returns tanh(x) in no more bits than the instruction gives, so that a program that needs more fails here, too.
float tanhApproximate(float x);
uint32_t toTf32(float x);
uint32_t toBf16(float x);
/// Converts the two low bytes, which are e4m3 numbers, to two f16 numbers.
uint32_t halvesOfE4m3(uint32_t bits);

} // namespace tegula::simt
