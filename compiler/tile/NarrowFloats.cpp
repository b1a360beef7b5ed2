// SPDX-License-Identifier: MIT
#include "compiler/tile/NarrowFloats.h"

#include "compiler/tile/Formula.h"

namespace tegula::tile {

using namespace mlir;

namespace {

constexpr float kLargest = 448, kLeastNormal = 0x1p-6f;
constexpr int kDropped = 20;                 ///< Bits of the fraction that f32 has and e4m3 has not.
constexpr int32_t kRebias = (127 - 7) << 23; ///< The difference of the exponents' biases, in f32.
constexpr int32_t kNan = 0x7f, kSign = 0x80;

Type likeWithElement(Value value, Type element) {
  auto vector = dyn_cast<VectorType>(value.getType());
  return vector ? Type(vector.clone(element)) : element;
}

/// Returns the bits of a magnitude below the least normal number, which are its count of 2^-9. The ulp of 2^14 is 2^-9,
/// so the addition rounds.
Value subnormalBits(Formula &m, Value magnitude) {
  Value origin = m.f(0x1p14f);
  return m.subi(m.bits(m.add(magnitude, origin)), m.bits(origin));
}

Value normalBits(Formula &m, Value magnitude) {
  Value bits = m.subi(m.bits(magnitude), m.i(kRebias));
  Value odd = m.andi(m.shr(bits, kDropped), m.i(1));
  return m.shr(m.addi(bits, m.addi(odd, m.i((1 << (kDropped - 1)) - 1))), kDropped);
}

} // namespace

Value toE4m3(OpBuilder &builder, Location loc, Value x) {
  Formula m(builder, loc, x);
  Value magnitude = m.abs(x), limit = m.f(kLargest);
  Value limited = m.select(m.less(limit, magnitude), limit, magnitude);
  Value isSmall = m.less(limited, m.f(kLeastNormal));
  Value number = m.select(isSmall, subnormalBits(m, limited), normalBits(m, limited));
  Value sign = m.andi(m.shr(m.bits(x), 24), m.i(kSign));
  Value bits = m.select(m.isNan(x), m.i(kNan), m.ori(number, sign));
  return arith::TruncIOp::create(builder, loc, likeWithElement(x, builder.getI8Type()), bits);
}

Value fromE4m3(OpBuilder &builder, Location loc, Value bits) {
  Value word = arith::ExtUIOp::create(builder, loc, likeWithElement(bits, builder.getI32Type()), bits);
  Formula m(builder, loc, word);
  Value magnitude = m.andi(word, m.i(kNan)); // All bits but the sign.
  Value normal = m.fromBits(m.addi(m.shl(magnitude, kDropped), m.i(kRebias)));
  Value subnormal = m.mul(m.toFloat(magnitude), m.f(0x1p-9f));
  Value number = m.select(m.less(normal, m.f(kLeastNormal)), subnormal, normal);
  number = m.select(m.less(m.f(kLargest), number), m.fromBits(m.i(0x7fc00000)), number);
  Value sign = m.shl(m.andi(word, m.i(kSign)), 24);
  return m.fromBits(m.ori(m.bits(number), sign));
}

} // namespace tegula::tile
