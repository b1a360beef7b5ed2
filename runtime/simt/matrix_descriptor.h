// SPDX-License-Identifier: MIT
// The matrix descriptor of wgmma, which tells where an operand lies in shared memory.
#pragma once

#include "simt/tensor_box.h"

#include <cstdint>

namespace tegula::simt {

/// A matrix descriptor. The operand consists of pieces of 16 bytes. They run along K or, in a transposed operand, along
/// the rows of A or the columns of B.
class MatrixDescriptor {
public:
  explicit constexpr MatrixDescriptor(uint64_t bits)
      : start_(field(bits, 0)), leading_(field(bits, 16)), stride_(field(bits, 32)),
        baseOffset_(static_cast<uint32_t>(bits >> 49 & 7)), span_(spanOf(bits >> 62)) {}

  uint32_t baseOffset() const { return baseOffset_; }
  uint32_t start() const { return start_; }

  /// Returns the address of piece 0 or 1 along K of a row of A or a column of B.
  constexpr uint32_t piece(uint32_t row, uint32_t piece) const {
    const uint32_t eight = start_ + row / 8 * stride_;
    return span_ == 0 ? eight + row % 8 * 16 + piece * leading_ : swizzled(eight + row % 8 * span_ + piece * 16, span_);
  }
  /// Returns the address of the piece with rows 8 * eight to 8 * eight + 7, at `depth` along K.
  constexpr uint32_t transposedPiece(uint32_t eight, uint32_t depth) const {
    if (span_ == 0)
      return start_ + eight * stride_ + depth / 8 * leading_ + depth % 8 * 16;
    const uint32_t inSpan = span_ / 16;
    return swizzled(start_ + eight / inSpan * leading_ + eight % inSpan * 16 + depth / 8 * stride_ + depth % 8 * span_,
                    span_);
  }

private:
  static constexpr uint32_t field(uint64_t bits, unsigned at) {
    return static_cast<uint32_t>(bits >> at & 0x3fff) << 4;
  }
  static constexpr uint32_t spanOf(uint64_t mode) { return mode == 0 ? 0 : 256U >> mode; }

  uint32_t start_, leading_, stride_, baseOffset_, span_;
};

} // namespace tegula::simt
