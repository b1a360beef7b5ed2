// SPDX-License-Identifier: MIT
// The coefficients are minimax approximations by N. Juffa ("njuffa", stackoverflow.com and forums.developer.nvidia.com,
// BSD licence). tests/language/functions_test.cpp compares each function with double precision.
#include "compiler/tile/Functions.h"

#include "compiler/tile/Formula.h"

#include "llvm/ADT/TypeSwitch.h"

#include <limits>

using namespace mlir;
using namespace tegula;
using tile::Formula;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
/// 1.5 * 2^23. If it is added to |x| < 2^22, the sum's low bits are x rounded to an integer.
constexpr float kRound = 12582912.0f;

/// Returns x * 2^n for n from -252 to 254, rounded once unless the result is subnormal.
static Value scale(Formula &m, Value x, Value n) {
  Value half = m.shrSigned(n, 1);
  auto power = [&](Value exponent) { return m.fromBits(m.shl(m.addi(exponent, m.i(127)), 23)); };
  return m.mul(m.mul(x, power(half)), power(m.subi(n, half)));
}

/// Returns e^(high + low) for |high| <= 110 and |low| far below |high|. With n = round(high / ln 2), it is
/// 2^n * e^(high - n ln 2 + low); ln 2 is a sum of two numbers, so that the difference is exact (Cody and Waite 1980).
static Value expOfSum(Formula &m, Value high, Value low) {
  Value sum = m.fma(high, m.f(1.442695f), m.f(kRound)), n = m.sub(sum, m.f(kRound));
  Value rest = m.fma(n, m.f(-6.93145752e-1f), high);
  rest = m.add(m.fma(n, m.f(-1.42860677e-6f), rest), low);
  Value p =
      m.polynomial(rest, {1.37805939e-3f, 8.37312452e-3f, 4.16695364e-2f, 1.66664720e-1f, 4.99999851e-1f, 1.0f, 1.0f});
  return scale(m, p, m.subi(m.bits(sum), m.bits(m.f(kRound))));
}

/// Computes x p(x^2) for |x| <= 0.93, and otherwise 1 - e^-q(|x|), which rounds to 1 from |x| = 4 on.
static Value erf(Formula &m, Value x) {
  Value magnitude = m.abs(x);
  Value t = m.select(m.less(m.f(4), magnitude), m.f(4), magnitude), square = m.mul(t, t);
  Value q = m.fma(m.polynomial(t, {-1.72853470e-5f, 3.83197126e-4f}), square,
                  m.polynomial(t, {-3.88396438e-3f, 2.42546219e-2f}));
  for (float coefficient : {-1.06777877e-1f, -6.34846687e-1f, -1.28717512e-1f})
    q = m.fma(q, t, m.f(coefficient));
  Value large = m.sub(m.f(1), expOfSum(m, m.fma(q, t, m.neg(t)), m.f(0)));
  Value sign = m.andi(m.bits(x), m.i(std::numeric_limits<int32_t>::min()));
  Value p = m.polynomial(
      square, {-5.96761703e-4f, 4.99119423e-3f, -2.67681349e-2f, 1.12819925e-1f, -3.76125336e-1f, 1.28379166e-1f});
  return m.select(m.less(m.f(0.927734375f), magnitude), m.fromBits(m.ori(m.bits(large), sign)), m.fma(p, x, x));
}

/// Returns the sine of x + quarters * pi / 2. With n = round(x / (pi / 2)), the sine or cosine of x - n pi / 2 is a
/// polynomial. pi / 2 is a sum of three numbers (Cody and Waite 1980), which suffices for |x| <= 1e5. From 2^22 on, n
/// is not exact, and the difference is replaced by 0.
static Value sine(Formula &m, Value x, int32_t quarters) {
  Value sum = m.fma(x, m.f(6.36619747e-1f), m.f(kRound)), n = m.sub(sum, m.f(kRound));
  Value rest = m.fma(n, m.f(-1.57079601f), x);
  rest = m.fma(n, m.f(-3.13916473e-7f), rest);
  rest = m.fma(n, m.f(-5.39030253e-15f), rest);
  rest = m.select(m.less(m.abs(x), m.f(4194304.0f)), rest, m.mul(x, m.f(0))); // NaN for NaN and infinities.
  Value square = m.mul(rest, rest);
  Value odd = m.polynomial(square, {2.86567956e-6f, -1.98559923e-4f, 8.33338592e-3f, -1.66666672e-1f});
  odd = m.fma(odd, m.mul(rest, square), rest);
  Value even = m.polynomial(square, {2.44677067e-5f, -1.38877297e-3f, 4.16666567e-2f, -0.5f, 1.0f});
  Value quadrant = m.addi(m.bits(sum), m.i(quarters));
  Value result = m.select(m.isZero(m.andi(quadrant, m.i(1))), odd, even);
  return m.fromBits(m.xori(m.bits(result), m.shl(m.andi(quadrant, m.i(2)), 30)));
}

namespace {
/// An unevaluated sum of two f32 numbers, about twice as accurate as one (Dekker 1971).
struct Pair {
  Value high, low;
};
} // namespace

/// Returns log(a) for finite a > 0. With a = 2^n m for m from sqrt(1/2) to sqrt(2), it is n ln 2 + 2 atanh(q) for
/// q = (m - 1) / (m + 1).
static Pair logAsPair(Formula &m, Value a) {
  Value isSubnormal = m.less(a, m.f(std::numeric_limits<float>::min()));
  a = m.select(isSubnormal, m.mul(a, m.f(0x1p23f)), a);
  Value exponent = m.andi(m.subi(m.bits(a), m.bits(m.f(0.70710678f))), m.i(static_cast<int32_t>(0xff800000)));
  Value n = m.fma(m.toFloat(exponent), m.f(0x1p-23f), m.select(isSubnormal, m.f(-23), m.f(0)));
  Value mantissa = m.fromBits(m.subi(m.bits(a), exponent)), above = m.sub(mantissa, m.f(1));
  Value reciprocal = m.div(m.f(1), m.add(mantissa, m.f(1)));
  Value q = m.mul(above, reciprocal);
  Value qLow = m.mul(m.fma(m.neg(q), above, m.fma(m.f(-2), q, above)), reciprocal);

  Value square = m.mul(q, q), cube = m.mul(square, q);
  Value squareLow = m.fma(q, m.add(qLow, qLow), m.fma(q, q, m.neg(square)));
  Value cubeLow = m.fma(square, qLow, m.fma(squareLow, q, m.fma(square, q, m.neg(cube))));
  Value p = m.polynomial(square, {0.1293334961f, 0.1419928074f, 0.2000148296f, 0.3333332539f});
  Value tail = m.fma(p, cube, m.fma(p, cubeLow, qLow));

  Value twice = m.add(q, q), sum = m.fma(n, m.f(6.93147182e-1f), twice);
  Value lost = m.sub(twice, m.fma(n, m.f(-6.93147182e-1f), sum));
  Value low = m.fma(n, m.f(-1.90465421e-9f), m.fma(m.f(2), tail, lost));
  Value high = m.add(sum, low);
  return {high, m.add(m.sub(sum, high), low)};
}

/// Returns a^y for finite a > 0, as e^(y log a).
static Value positivePower(Formula &m, Value a, Value y) {
  Pair log = logAsPair(m, a);
  Value product = m.mul(log.high, y);
  Value productLow = m.fma(log.low, y, m.fma(log.high, y, m.neg(product)));
  Value high = m.add(product, productLow), low = m.add(m.sub(product, high), productLow);
  Value isInside = m.less(m.abs(product), m.f(110));
  Value bound = m.select(m.less(product, m.f(0)), m.f(-110), m.f(110));
  return expOfSum(m, m.select(isInside, high, bound), m.select(isInside, low, m.f(0)));
}

/// Returns x^y with the special values of C's pow (C17, F.10.4.4).
static Value power(Formula &m, Value x, Value y) {
  Value zero = m.f(0), one = m.f(1), magnitude = m.abs(x), size = m.abs(y);
  Value isInfinite = m.equal(magnitude, m.f(kInfinity)), isZero = m.equal(x, zero);
  Value grows = m.isNot(m.xori(isZero, m.less(y, zero)));
  Value result =
      m.select(m.either(isZero, isInfinite), m.select(grows, m.f(kInfinity), zero), positivePower(m, magnitude, y));
  result = m.select(m.equal(magnitude, one), one, result);
  result = m.select(m.either(m.isNan(x), m.isNan(y)), m.f(std::numeric_limits<float>::quiet_NaN()), result);

  // From 2^24 on, all numbers are even integers.
  Value asInt = m.toInt(m.select(m.less(size, m.f(0x1p30f)), y, zero));
  Value isInteger = m.either(m.equal(m.toFloat(asInt), y), m.less(m.f(0x1p23f), size));
  Value isOdd = m.isNot(m.isZero(m.andi(asInt, m.i(1))));
  Value sign = m.andi(m.bits(x), m.i(std::numeric_limits<int32_t>::min()));
  Value negates = m.both(isInteger, isOdd);
  result = m.fromBits(m.xori(m.bits(result), m.select(negates, sign, m.i(0))));
  Value isUndefined = m.both(m.both(m.less(x, zero), m.isNot(isInfinite)), m.isNot(isInteger));
  result = m.select(isUndefined, m.f(std::numeric_limits<float>::quiet_NaN()), result);
  return m.select(m.either(m.equal(y, zero), m.equal(x, one)), one, result);
}

bool tile::isExpandedFunction(Operation *op) { return isa<math::ErfOp, math::SinOp, math::CosOp, math::PowFOp>(op); }

Value tile::expandFunction(OpBuilder &builder, Operation *op, ValueRange operands) {
  Formula m(builder, op->getLoc(), operands[0]);
  return TypeSwitch<Operation *, Value>(op)
      .Case([&](math::ErfOp) { return erf(m, operands[0]); })
      .Case([&](math::SinOp) { return sine(m, operands[0], 0); })
      .Case([&](math::CosOp) { return sine(m, operands[0], 1); })
      .Case([&](math::PowFOp) { return power(m, operands[0], operands[1]); });
}
