// SPDX-License-Identifier: MIT
// The random numbers of tile.random as arithmetic. All targets compute the same.
#pragma once

#include "compiler/tile/Formula.h"
#include "compiler/tile/Tile.h"

#include <array>

namespace tegula::tile {

/// Returns what `op` computes from `operands`: scalars, or vectors of one shape.
mlir::Value expandRandom(mlir::OpBuilder &builder, RandomOp op, mlir::ValueRange operands);

/// The generator of a tile.random, which TileOps.td defines. Values are scalars, or vectors of one shape.
class Random {
public:
  using Value = mlir::Value;
  using Words = std::array<Value, 4>;

  /// `seed` and `offset` are i64, `stream` is i32.
  Random(Formula &m, Value seed, Value offset, Value stream, int64_t bits, int64_t rounds);

  /// Returns what a row or a column contributes to the counter of its call. Elements of one call have the same number.
  /// The numbers of two positions add up if their low four bits have none in common.
  Value counter(Value position);
  static int32_t counter(int64_t bits, int64_t position);
  /// Returns the words of the call with these counters.
  Words call(Value row, Value column);
  /// Returns the element at a row and a column.
  Value element(Value row, Value column);

  /// The bits of a row or a column that select an element within its call. `word` selects the word, `byte` the byte of
  /// the word. With 32 bits an element is a whole word, and `byte` is 0.
  static int64_t wordBit(int64_t bits) { return bits == 8 ? 1 : 8; }
  static int64_t byteBit(int64_t bits) { return bits == 8 ? 8 : 0; }

private:
  Formula &m_;
  Value stream_, offsetLow_, keyLow_, keyHigh_;
  int64_t bits_, rounds_;
};

} // namespace tegula::tile
