// SPDX-License-Identifier: MIT
#include "simt/fragments.h"

#include "tegula/convert.h"

#include <bit>
#include <cmath>

namespace tegula::simt {

float fromBf16(uint32_t bits) { return std::bit_cast<float>(bits << 16); }

float fromF16(uint32_t bits) {
  const uint32_t sign = (bits & 0x8000) << 16, magnitude = bits & 0x7fff;
  if (magnitude >= 0x7c00)
    return std::bit_cast<float>(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  // Scaling by 2^112 corrects the bias of the exponent, also for subnormals.
  const float value = std::bit_cast<float>(magnitude << 13) * 0x1p112F;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) | sign);
}

float fromTf32(uint32_t bits) { return std::bit_cast<float>(bits & 0xffffe000); }

namespace {

constexpr uint32_t kRows = 16, kColumns = 8;

/// Multiplies with `Depth` columns of A and rows of B, `PerWord` of them in each register.
template <uint32_t Depth, uint32_t PerWord, float (*Convert)(uint32_t)>
void multiplyAs(const std::array<MmaRegisters, kWarp> &lanes) {
  alignas(32) float a[kRows][Depth], b[Depth][kColumns], sum[kRows][kColumns];
  // The registers of A go through rows in steps of 8, then through columns in steps of four registers' width. The
  // registers of B go through its rows likewise.
  for (uint32_t lane = 0; lane < kWarp; ++lane) {
    const uint32_t group = lane / 4, inGroup = lane % 4;
    for (uint32_t k = 0; k < PerWord; ++k)
      for (uint32_t half = 0; half < 2; ++half) {
        const uint32_t depth = inGroup * PerWord + k + half * 4 * PerWord;
        const uint32_t shift = 16 * k;
        a[group][depth] = Convert(lanes[lane].a[2 * half] >> shift);
        a[group + 8][depth] = Convert(lanes[lane].a[2 * half + 1] >> shift);
        b[depth][group] = Convert(lanes[lane].b[half] >> shift);
      }
    for (uint32_t i = 0; i < 4; ++i)
      sum[group + i / 2 * 8][inGroup * 2 + i % 2] = lanes[lane].c[i];
  }
  for (uint32_t row = 0; row < kRows; ++row)
    for (uint32_t k = 0; k < Depth; ++k)
      for (uint32_t column = 0; column < kColumns; ++column)
        sum[row][column] += a[row][k] * b[k][column];
  for (uint32_t lane = 0; lane < kWarp; ++lane)
    for (uint32_t i = 0; i < 4; ++i)
      lanes[lane].d[i] = sum[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
}

float low16Bf16(uint32_t bits) { return fromBf16(bits & 0xffff); }
float low16F16(uint32_t bits) { return fromF16(bits & 0xffff); }

float flushed(float x) { return std::fpclassify(x) == FP_SUBNORMAL ? std::copysign(0.0F, x) : x; }

} // namespace

void multiply(SimtMma kind, const std::array<MmaRegisters, kWarp> &lanes) {
  switch (kind) {
  case SimtMma::bf16:
    return multiplyAs<16, 2, low16Bf16>(lanes);
  case SimtMma::f16:
    return multiplyAs<16, 2, low16F16>(lanes);
  case SimtMma::tf32:
    return multiplyAs<8, 1, fromTf32>(lanes);
  }
}

float exp2Approximate(float x) { return flushed(std::exp2(flushed(x))); }
float log2Approximate(float x) { return std::log2(flushed(x)); }
float reciprocalApproximate(float x) { return flushed(1 / flushed(x)); }

uint32_t toTf32(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return std::isnan(x) ? 0x7fffe000 : std::isinf(x) ? bits : (bits + 0x1000) & 0xffffe000;
}

float tanhApproximate(float x) { return std::bit_cast<float>(toTf32(std::tanh(x))); }

uint32_t toBf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  return std::isnan(x) ? 0x7fff : (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

uint32_t halvesOfE4m3(uint32_t bits) {
  const auto half = [](uint32_t byte) -> uint32_t { return toF16(fromE4m3(uint8_t(byte))); };
  return half(bits) | half(bits >> 8) << 16;
}

} // namespace tegula::simt
