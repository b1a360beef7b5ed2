// SPDX-License-Identifier: MIT
#include "simt/product.h"

#include "simt/fragments.h"
#include "tegula/convert.h"

#include <cstring>

namespace tegula::simt {
namespace {

float elementAt(SimtMma type, const void *piece, uint32_t index) {
  const uint32_t bytes = elementBytes(type);
  uint32_t bits = 0; // Lanes and hosts are little-endian.
  std::memcpy(&bits, static_cast<const std::byte *>(piece) + size_t{bytes} * index, bytes);
  switch (type) {
  case SimtMma::bf16:
    return fromBf16(bits);
  case SimtMma::f16:
    return fromF16(bits);
  case SimtMma::tf32:
    return fromTf32(bits);
  case SimtMma::e4m3:
    return fromE4m3(static_cast<uint8_t>(bits));
  }
  return 0;
}

} // namespace

void Product::unpack(const void *piece, bool transposed, uint32_t row, uint32_t k, uint32_t rows, Operand &to) const {
  const uint32_t elements = depth() / 2;
  for (uint32_t i = 0; i < elements; ++i) {
    const uint32_t depthOf = transposed ? k : k + i, rowOf = transposed ? row + i : row;
    to[size_t{depthOf} * rows + rowOf] = elementAt(static_cast<SimtMma>(what.type), piece, i);
  }
}

/// Returns A from registers. The registers of a lane go through rows in steps of 8, then through halves along K.
Product::Operand Product::readRegisters() const {
  Operand operand(size_t{depth()} * kMmaRows);
  const uint32_t perWord = depth() / 8;
  for (uint32_t lane = 0; lane < kWarpgroup; ++lane)
    for (uint32_t i = 0; i < 4; ++i)
      for (uint32_t half = 0; half < perWord; ++half) {
        const uint32_t row = lane / 32 * 16 + lane % 32 / 4 + i % 2 * 8;
        const uint32_t k = lane % 4 * perWord + half + i / 2 * 4 * perWord;
        operand[size_t{k} * kMmaRows + row] = elementAt(static_cast<SimtMma>(what.type), &a[lane][i], half);
      }
  return operand;
}

void Product::multiply(const Operand &a, const Operand &b, AccumulatorMatrix &sum) const {
  const uint32_t columns = what.columns;
  for (uint32_t row = 0; row < rows; ++row) {
    float *to = &sum.values[size_t{row} * columns];
    for (uint32_t k = 0; k < depth(); ++k) {
      const float factor = a[size_t{k} * rows + row];
      const float *from = &b[size_t{k} * columns];
      for (uint32_t column = 0; column < columns; ++column)
        to[column] += factor * from[column];
    }
  }
}

} // namespace tegula::simt
