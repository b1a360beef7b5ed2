// SPDX-License-Identifier: MIT
// MMAs of a warpgroup: operands as the PTX manual lays them out, accumulators, and the tokens that registers hold in
// place of results in flight.
#pragma once

#include "simt/matrix_descriptor.h"
#include "tegula/simt_ops.h"

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

namespace tegula::simt {

inline constexpr uint32_t kWarpgroup = 128, kMmaRows = 64;

/// The element of the matrix that an accumulator register of a lane holds.
struct AccumulatorPlace {
  uint32_t row, column;
};
constexpr AccumulatorPlace accumulatorPlace(uint32_t lane, uint32_t index) {
  return {lane / 32 * 16 + lane % 32 / 4 + index / 2 % 2 * 8, index / 4 * 8 + lane % 4 * 2 + index % 2};
}

/// The token that a register holds until a wait: a NaN that no arithmetic yields.
struct AccumulatorToken {
  uint32_t matrix; ///< 1 to kMax.
  uint32_t index;  ///< Index of the register.

  static constexpr uint32_t kMax = 0x3fff;

  constexpr uint32_t bits() const { return 0xff800000 | matrix << 8 | index; }
  static constexpr std::optional<AccumulatorToken> from(uint32_t bits) {
    if ((bits & 0xffc00000) != 0xff800000 || (bits >> 8 & kMax) == 0)
      return std::nullopt;
    return AccumulatorToken{bits >> 8 & kMax, bits & 0xff};
  }
};

/// The accumulators of a warpgroup to which one or more MMAs add.
struct AccumulatorMatrix {
  uint32_t columns = 0;
  uint32_t lastMma = 0, site = 0; ///< The last MMA into it, counted from 1, and its site.
  std::vector<float> values;      ///< `columns` values for each row.

  float &at(AccumulatorPlace place) { return values[place.row * columns + place.column]; }
  float at(AccumulatorPlace place) const { return values[place.row * columns + place.column]; }
};

/// Returns the size of an element of an operand.
constexpr uint32_t elementBytes(SimtMma type) { return type == SimtMma::tf32 ? 4 : type == SimtMma::e4m3 ? 1 : 2; }

/// An MMA in flight. Its operands in shared memory consist of pieces of 16 bytes.
struct Product {
  SimtWgmma what;
  uint32_t matrix = 0, site = 0;
  uint32_t lane = 0;                      ///< First lane of the warpgroup, or the lane that has started the MMA.
  std::vector<std::array<uint32_t, 4>> a; ///< The registers of each lane, if A is in registers.
  uint32_t rows = kMmaRows;

  /// Returns the number of elements along K.
  uint32_t depth() const { return 32 / elementBytes(static_cast<SimtMma>(what.type)); }
  /// Calls visit(address) for each piece of an operand in shared memory.
  template <class Visit> void forEachPiece(Visit visit) const;
  /// Adds the product to `sum`. memory(address) returns the address in the host's memory, or null.
  template <class Memory> void addTo(AccumulatorMatrix &sum, Memory memory) const;

private:
  using Operand = std::vector<float>; ///< depth() rows, each with an element for each row of A or column of B.

  template <class Visit>
  void forEachPiece(MatrixDescriptor descriptor, bool transposed, uint32_t rows, Visit visit) const;
  template <class Memory> Operand read(uint64_t descriptor, bool transposed, uint32_t rows, Memory memory) const;
  Operand readRegisters() const;
  void unpack(const void *piece, bool transposed, uint32_t row, uint32_t depth, uint32_t rows, Operand &to) const;
  void multiply(const Operand &a, const Operand &b, AccumulatorMatrix &sum) const;
};

//===-- Templates -------------------------------------------------------------------------------------------------===//

/// Calls visit(address, first row, first element along K) for each piece of one operand.
template <class Visit>
void Product::forEachPiece(MatrixDescriptor descriptor, bool transposed, uint32_t rows, Visit visit) const {
  const uint32_t perPiece = depth() / 2;
  if (transposed)
    for (uint32_t eight = 0; eight < rows / 8; ++eight)
      for (uint32_t k = 0; k < depth(); ++k)
        visit(descriptor.transposedPiece(eight, k), 8 * eight, k);
  else
    for (uint32_t row = 0; row < rows; ++row)
      for (uint32_t piece = 0; piece < 2; ++piece)
        visit(descriptor.piece(row, piece), row, piece * perPiece);
}

template <class Visit> void Product::forEachPiece(Visit visit) const {
  const auto address = [&](uint32_t at, uint32_t, uint32_t) { visit(at); };
  if (!what.a_in_registers)
    forEachPiece(MatrixDescriptor(what.a_descriptor), what.a_transposed, rows, address);
  forEachPiece(MatrixDescriptor(what.b_descriptor), what.b_transposed, what.columns, address);
}

template <class Memory>
Product::Operand Product::read(uint64_t descriptor, bool transposed, uint32_t rows, Memory memory) const {
  Operand operand(size_t{depth()} * rows);
  forEachPiece(MatrixDescriptor(descriptor), transposed, rows, [&](uint32_t address, uint32_t row, uint32_t k) {
    if (const void *piece = memory(address))
      unpack(piece, transposed, row, k, rows, operand);
  });
  return operand;
}

template <class Memory> void Product::addTo(AccumulatorMatrix &sum, Memory memory) const {
  const Operand a = what.a_in_registers ? readRegisters() : read(what.a_descriptor, what.a_transposed, rows, memory);
  multiply(a, read(what.b_descriptor, what.b_transposed, what.columns, memory), sum);
}

} // namespace tegula::simt
