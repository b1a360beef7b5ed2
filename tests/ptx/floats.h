// SPDX-License-Identifier: MIT
// Floating-point formats by their bits. long double holds each value of these formats, each 64-bit integer, and each
// product of two f32, exactly.
#pragma once

#include <cstdint>

namespace tegula::ptx_fuzz {

/// A binary format of IEEE 754.
struct Format {
  int fraction_bits;
  int exponent_bits;

  int bits() const { return 1 + exponent_bits + fraction_bits; }
  int bias() const { return (1 << (exponent_bits - 1)) - 1; }
  uint64_t infinity() const { return ((uint64_t{1} << exponent_bits) - 1) << fraction_bits; }
  /// The NaN that PTX instructions produce: all bits except the sign.
  uint64_t nan() const { return (uint64_t{1} << (bits() - 1)) - 1; }
};

inline constexpr Format kF16{10, 5}, kBf16{7, 8}, kF32{23, 8};

enum class Rounding { nearest_even, to_zero };

/// Returns the bits of `value`, rounded once.
uint64_t roundTo(Format format, long double value, Rounding rounding = Rounding::nearest_even);

/// Returns the value of the low bits of `bits`. A NaN is NaN, whatever its bits are.
long double valueOf(Format format, uint64_t bits);

/// Returns the bits of x * y + z, rounded once.
uint64_t fuse(Format format, uint64_t x, uint64_t y, uint64_t z);

} // namespace tegula::ptx_fuzz
