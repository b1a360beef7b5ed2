// SPDX-License-Identifier: MIT
#include "compiler/cpu/Lowering.h"
#include "compiler/tile/Formula.h"
#include "compiler/tile/NarrowFloats.h"

#include "llvm/ADT/TypeSwitch.h"

namespace tegula::cpu {

using namespace mlir;
using tile::Formula;

namespace {

Type withElement(Type like, Type element) {
  auto vector = dyn_cast<VectorType>(like);
  return vector ? Type(VectorType::get(vector.getShape(), element)) : element;
}

/// Returns the bf16 nearest to x, in the upper half of 32 bits. NaN stays NaN.
Value roundedBf16Bits(Formula &m, Value x) {
  Value bits = m.bits(x);
  Value odd = m.andi(m.shr(bits, 16), m.i(1));
  Value rounded = m.addi(bits, m.addi(odd, m.i(0x7fff)));
  Value quietNan = m.i(0x7fc00000);
  return m.andi(m.select(m.isNan(x), quietNan, rounded), m.i(static_cast<int32_t>(0xffff0000)));
}

Value toBf16(OpBuilder &builder, Location loc, Value x) {
  Formula m(builder, loc, x);
  return arith::TruncIOp::create(builder, loc, withElement(x.getType(), builder.getI16Type()),
                                 m.shr(roundedBf16Bits(m, x), 16));
}

Value fromBf16(OpBuilder &builder, Location loc, Value bits) {
  Value wide = arith::ExtUIOp::create(builder, loc, withElement(bits.getType(), builder.getI32Type()), bits);
  Formula m(builder, loc, wide);
  return m.fromBits(m.shl(wide, 16));
}

/// A float that the cpu has no instructions for: integers of its width, and conversions of its bits.
struct ByBits {
  unsigned width;
  Value (*toBits)(OpBuilder &, Location, Value);
  Value (*fromBits)(OpBuilder &, Location, Value);
};

std::optional<ByBits> byBits(Type type) {
  return llvm::TypeSwitch<Type, std::optional<ByBits>>(type)
      .Case([](BFloat16Type) { return ByBits{16, toBf16, fromBf16}; })
      .Case([](Float8E4M3FNType) { return ByBits{8, tile::toE4m3, tile::fromE4m3}; })
      .Default([](Type) { return std::nullopt; });
}

} // namespace

Type computeType(Type type) { return tile::isNarrowFloat(type) ? Float32Type::get(type.getContext()) : type; }

Type likeF32(Type type) { return withElement(type, Float32Type::get(type.getContext())); }

// With n = round(x), 2^x = 2^n * 2^(x-n). Adding 1.5 * 2^23 leaves n in the low bits of the sum, from where a shift
// moves it into the exponent. This needs no conversion, whose result would be undefined for NaN. The polynomial of
// degree 6 is the minimax approximation of 2^f on [-1/2, 1/2] with constant term 1, in relative error (Lawson's
// iteration).
Value exp2(OpBuilder &builder, Location loc, Value x) {
  Formula m(builder, loc, x);
  Value low = m.f(-127), high = m.f(128);
  Value atLeast = m.select(m.less(x, low), low, x);
  Value clamped = m.select(m.less(high, atLeast), high, atLeast);
  Value magic = m.f(12582912.0f);
  Value sum = m.add(clamped, magic);
  Value fraction = m.sub(clamped, m.sub(sum, magic));
  Value p = m.f(0.00015353361959569156f);
  for (float coefficient : {0.0013398875016719103f, 0.00961843691766262f, 0.055503323674201965f, 0.24022647738456726f,
                            0.6931471824645996f, 1.0f})
    p = m.fma(p, fraction, m.f(coefficient));
  Value result = m.fromBits(m.addi(m.bits(p), m.shl(m.bits(sum), 23)));
  return m.select(m.isNan(x), x, result);
}

/// Returns x + x^3 p(x^2) for |x| < 1, in which nothing cancels near 0. p interpolates at Chebyshev's nodes. Its error
/// is 2e-8 of the result.
static Value smallTanh(Formula &m, Value x) {
  Value square = m.mul(x, x);
  Value p = m.f(-0.0004206955f);
  for (float coefficient : {0.0025104594f, -0.008218922f, 0.021660116f, -0.05393479f, 0.13333128f, -0.3333333f})
    p = m.fma(p, square, m.f(coefficient));
  return m.fma(m.mul(p, square), x, x);
}

// For |x| >= 1: 1 - 2 / (e^2|x| + 1), which is 1 if the power overflows.
Value tanh(OpBuilder &builder, Location loc, Value x) {
  Formula m(builder, loc, x);
  Value magnitude = math::AbsFOp::create(builder, loc, x);
  Value power = exp2(builder, loc, m.mul(magnitude, m.f(2.88539008f)));
  Value large = m.sub(m.f(1), arith::DivFOp::create(builder, loc, m.f(2), m.add(power, m.f(1))));
  Value isSmall = m.less(magnitude, m.f(1));
  return m.select(isSmall, smallTanh(m, x), math::CopySignOp::create(builder, loc, large, x));
}

Value roundTo(OpBuilder &builder, Location loc, Value x, Type narrowType) {
  if (auto conversions = byBits(narrowType))
    return conversions->fromBits(builder, loc, conversions->toBits(builder, loc, x));
  Value rounded = arith::TruncFOp::create(builder, loc, withElement(x.getType(), narrowType), x);
  return arith::ExtFOp::create(builder, loc, x.getType(), rounded);
}

Type memoryType(Type type) {
  auto conversions = byBits(type);
  return conversions ? IntegerType::get(type.getContext(), conversions->width) : type;
}

Value widen(OpBuilder &builder, Location loc, Value value, Type narrowType) {
  if (auto conversions = byBits(narrowType))
    return conversions->fromBits(builder, loc, value);
  return narrowType.isF16() ? Value(arith::ExtFOp::create(builder, loc, likeF32(value.getType()), value)) : value;
}

Value narrow(OpBuilder &builder, Location loc, Value value, Type narrowType) {
  if (auto conversions = byBits(narrowType))
    return conversions->toBits(builder, loc, value);
  Type result = withElement(value.getType(), narrowType);
  return narrowType.isF16() ? Value(arith::TruncFOp::create(builder, loc, result, value)) : value;
}

} // namespace tegula::cpu
