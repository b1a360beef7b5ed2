// SPDX-License-Identifier: MIT
// Philox 4x32 is by Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
#include "compiler/tile/Random.h"

using namespace mlir;
using namespace tegula::tile;

constexpr uint32_t kRowMultiplier = 0xD2511F53, kStreamMultiplier = 0xCD9E8D57;
constexpr uint32_t kKeyLowStep = 0x9E3779B9, kKeyHighStep = 0xBB67AE85;
/// Keeps the calls of 32-bit elements apart from those of bytes. No row sets it.
constexpr uint32_t kWholeWords = 0x80000000;

static int32_t asSigned(uint32_t word) { return static_cast<int32_t>(word); }

Random::Random(Formula &m, Value seed, Value offset, Value stream, int64_t bits, int64_t rounds)
    : m_(m), stream_(stream), offsetLow_(m.lowHalf(offset)), keyLow_(m.lowHalf(seed)),
      keyHigh_(m.addi(m.highHalf(seed), m.highHalf(offset))), bits_(bits), rounds_(rounds) {}

Value Random::counter(Value position) {
  if (bits_ == 8)
    return m_.ori(m_.andi(m_.shr(position, 2), m_.i(~3)), m_.andi(m_.shr(position, 1), m_.i(3)));
  return m_.ori(m_.andi(m_.shr(position, 1), m_.i(~7)), m_.andi(position, m_.i(7)));
}

int32_t Random::counter(int64_t bits, int64_t position) {
  const int64_t counter = bits == 8 ? position / 16 * 4 + position % 8 / 2 : position / 16 * 8 + position % 8;
  return static_cast<int32_t>(counter);
}

Random::Words Random::call(Value row, Value column) {
  Words c = {bits_ == 8 ? row : m_.ori(row, m_.i(asSigned(kWholeWords))), column, stream_, offsetLow_};
  for (uint32_t round = 0; round < rounds_; ++round) {
    Value low = m_.addi(keyLow_, m_.i(asSigned(round * kKeyLowStep)));
    Value high = m_.addi(keyHigh_, m_.i(asSigned(round * kKeyHighStep)));
    Value first = m_.mulWide(c[0], m_.i(asSigned(kRowMultiplier)));
    Value second = m_.mulWide(c[2], m_.i(asSigned(kStreamMultiplier)));
    c = {m_.xori(m_.xori(m_.highHalf(second), c[1]), low), m_.lowHalf(second),
         m_.xori(m_.xori(m_.highHalf(first), c[3]), high), m_.lowHalf(first)};
  }
  return c;
}

Value Random::element(Value row, Value column) {
  const Words words = call(counter(row), counter(column));
  auto isSet = [&](Value position, int64_t bit) { return m_.isNot(m_.isZero(m_.andi(position, m_.i(bit)))); };
  const Value lower = isSet(row, wordBit(bits_)), right = isSet(column, wordBit(bits_));
  Value word = m_.select(lower, m_.select(right, words[3], words[2]), m_.select(right, words[1], words[0]));
  if (bits_ != 8)
    return word;
  const Value shift = m_.ori(m_.shl(m_.andi(row, m_.i(8)), 1), m_.andi(column, m_.i(8)));
  return m_.andi(m_.shr(word, shift), m_.i(255));
}

Value tegula::tile::expandRandom(OpBuilder &builder, RandomOp op, ValueRange operands) {
  RandomOp::Adaptor at(operands);
  Formula m(builder, op.getLoc(), at.getRow());
  return Random(m, at.getSeed(), at.getOffset(), at.getStream(), op.getBits(), op.getRounds())
      .element(at.getRow(), at.getColumn());
}
