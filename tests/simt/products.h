// SPDX-License-Identifier: MIT
// Operands of wgmma, and their layouts in the PTX manual, written here a second time.
#pragma once

#include "lanes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace tegula::test {

inline constexpr uint32_t kRows = 64, kSteps = 2, kLanes = 128;

/// An MMA of two steps along K.
struct ProductCase {
  SimtMma type = SimtMma::bf16;
  uint32_t columns = 64;
  uint32_t swizzle = 128; ///< Bytes.
  bool aInRegisters = false, aTransposed = false, bTransposed = false;

  uint32_t elementBytes() const { return type == SimtMma::tf32 ? 4 : type == SimtMma::e4m3 ? 1 : 2; }
  /// Returns true if no instruction transposes operands: they must be K-major.
  bool mustBeKMajor() const { return elementBytes() != 2; }
  uint32_t stepDepth() const { return 32 / elementBytes(); }
  uint32_t depth() const { return kSteps * stepDepth(); }
};

/// The layout of an operand that has `rows` rows of `depth` elements along K. Columns of B count as rows.
struct OperandLayout {
  const ProductCase &c;
  uint32_t rows;
  bool transposed;

  uint32_t span() const { return c.swizzle; }
  /// Returns the descriptor's leading dimension offset, in bytes.
  uint32_t leading() const {
    if (transposed)
      return span() == 0 ? 128 * (rows / 8) : c.depth() * span();
    return span() == 0 ? 128 : 16;
  }
  /// Returns the descriptor's stride dimension offset, in bytes.
  uint32_t stride() const {
    if (transposed)
      return span() == 0 ? 128 : 8 * span();
    return span() == 0 ? 128 * kSteps * 2 : 8 * span();
  }
  /// Returns how many bytes after this step's operand the operand of the next step along K begins.
  uint32_t step() const {
    if (transposed)
      return span() == 0 ? 2 * leading() : 16 * span();
    if (span() == 0)
      return 2 * 128;
    return span() >= 64 ? 32 : rows * span();
  }
  uint32_t bytes() const { return rows * std::max(c.depth() * c.elementBytes(), transposed ? 0 : span()); }

  /// Returns the byte offset of an element.
  uint32_t at(uint32_t row, uint32_t k) const { return transposed ? transposedAt(row, k) : plainAt(row, k); }

private:
  static uint32_t swizzle(uint32_t line, uint32_t chunk, uint32_t span) {
    return span == 128 ? chunk ^ line % 8 : span == 64 ? chunk ^ line / 2 % 4 : chunk ^ line / 4 % 2;
  }
  /// Returns the byte offset of a K-major element: in 8 rows of 16 bytes without a swizzle, in lines of `span` bytes
  /// with one.
  uint32_t plainAt(uint32_t row, uint32_t k) const {
    const uint32_t byte = k * c.elementBytes(), chunk = byte / 16;
    if (span() == 0)
      return row / 8 * stride() + chunk * leading() + row % 8 * 16 + byte % 16;
    const uint32_t panel = byte / span(), chunkInPanel = chunk % (span() / 16);
    return panel * rows * span() + row * span() + swizzle(row, chunkInPanel, span()) * 16 + byte % 16;
  }
  /// Returns the byte offset of a transposed element. Lines run along the rows of A (columns of B), one line for each
  /// k.
  uint32_t transposedAt(uint32_t row, uint32_t k) const {
    if (span() == 0)
      return row / 8 * stride() + k / 8 * leading() + k % 8 * 16 + row % 8 * 2;
    const uint32_t perSpan = span() / 2, inSpan = row % perSpan;
    return row / perSpan * leading() + k * span() + swizzle(k, inSpan / 8, span()) * 16 + inSpan % 8 * 2;
  }
};

inline uint64_t descriptor(const OperandLayout &layout, uint32_t start) {
  const uint64_t mode = layout.span() == 0 ? 0 : layout.span() == 128 ? 1 : layout.span() == 64 ? 2 : 3;
  const auto field = [](uint32_t bytes) { return uint64_t{(bytes >> 4) & 0x3fff}; };
  return field(kSimtSharedBase + start) | field(layout.leading()) << 16 | field(layout.stride()) << 32 | mode << 62;
}

/// Returns the row of register r of A, from "WGMMA .m64k16 register fragment".
inline uint32_t aRow(uint32_t lane, uint32_t r) { return lane / 32 * 16 + lane % 32 / 4 + (r == 1 || r == 3 ? 8 : 0); }

/// Returns the first index along K that register r of A holds in a step.
inline uint32_t aDepth(const ProductCase &c, uint32_t lane, uint32_t r, uint32_t step) {
  const uint32_t perWord = 4 / c.elementBytes();
  return step * c.stepDepth() + lane % 4 * perWord + (r >= 2 ? 4 * perWord : 0);
}

/// Returns row and column of a lane's accumulator i, from "WGMMA .m64nNk16 D fragment".
inline std::pair<uint32_t, uint32_t> place(uint32_t lane, uint32_t i) {
  const uint32_t row = lane / 32 * 16 + lane % 32 / 4 + (i % 4 >= 2 ? 8 : 0);
  return {row, i / 4 * 8 + lane % 4 * 2 + i % 2};
}

/// Returns the bits of a number with at most four significant bits, which is no subnormal one.
inline uint32_t e4m3BitsOf(float x) {
  int exponent = 0;
  const float fraction = std::frexp(std::abs(x), &exponent);
  return x == 0 ? 0 : (x < 0 ? 0x80U : 0U) | uint32_t(exponent + 6) << 3 | (uint32_t(fraction * 16) & 7);
}

inline uint32_t bitsOf(SimtMma type, float x) {
  if (type == SimtMma::e4m3)
    return e4m3BitsOf(x);
  if (type == SimtMma::bf16)
    return std::bit_cast<uint32_t>(x) >> 16;
  if (type == SimtMma::tf32)
    return std::bit_cast<uint32_t>(x) | 0x1abc; // The low 13 bits are ignored.
  if (x == 0)
    return 0;
  int exponent = 0;
  const float fraction = std::frexp(std::abs(x), &exponent);
  return (x < 0 ? 0x8000U : 0U) | uint32_t(exponent + 14) << 10 | (uint32_t(fraction * 2048) & 0x3ff);
}

/// Operands whose products and sums are exact.
struct MmaOperands {
  std::vector<float> a, b, c; ///< [row][k], [column][k], [row][column].

  MmaOperands(const ProductCase &of, uint64_t seed) {
    std::mt19937_64 random(seed);
    const int most = of.type == SimtMma::e4m3 ? 8 : 32; // e4m3 holds all multiples of 1/8 up to 1.
    const auto fill = [&](std::vector<float> &values, size_t count) {
      for (size_t i = 0; i < count; ++i)
        values.push_back(float(int(random() % (2 * most + 1)) - most) / 8);
    };
    fill(a, size_t{kRows} * of.depth());
    fill(b, size_t{of.columns} * of.depth());
    fill(c, size_t{kRows} * of.columns);
  }
};

/// A and B as they lie in shared memory. B is aligned to 1024 bytes.
struct ProductImage {
  std::vector<uint8_t> bytes;
  uint32_t b_start = 0;

  ProductImage(const ProductCase &c, const MmaOperands &operands) {
    const OperandLayout a{c, kRows, c.aTransposed}, b{c, c.columns, c.bTransposed};
    b_start = (a.bytes() + 1023) / 1024 * 1024;
    bytes.resize(b_start + b.bytes());
    put(c, a, 0, operands.a);
    put(c, b, b_start, operands.b);
  }

private:
  void put(const ProductCase &c, const OperandLayout &layout, uint32_t start, const std::vector<float> &values) {
    for (uint32_t row = 0; row < layout.rows; ++row)
      for (uint32_t k = 0; k < c.depth(); ++k) {
        const uint32_t bits = bitsOf(c.type, values[row * c.depth() + k]);
        std::memcpy(&bytes[start + layout.at(row, k)], &bits, c.elementBytes());
      }
  }
};

} // namespace tegula::test
