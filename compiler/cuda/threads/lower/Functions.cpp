// SPDX-License-Identifier: MIT
// Functions of an f32 that are more than one instruction.
#include "compiler/cuda/threads/lower/Lower.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

static Value number(Threads &t, float value) { return arith::ConstantOp::create(t.b, t.b.getF32FloatAttr(value)); }

static Value times(Threads &t, Value x, float factor) { return arith::MulFOp::create(t.b, x, number(t, factor)); }

Value cuda::exp(Threads &t, Value x) { return t.gpu.exp2(times(t, x, 1.44269504f)); }
Value cuda::log(Threads &t, Value x) { return times(t, t.gpu.log2(x), 0.69314718f); }

/// Computes tanh for |x| < 1 as x + x^3 p(x^2), in which nothing cancels near 0. p interpolates at Chebyshev nodes; the
/// relative error is 2e-8.
static Value smallTanh(Threads &t, Value x) {
  Value square = arith::MulFOp::create(t.b, x, x);
  Value p = number(t, -0.0004206955f);
  for (float coefficient : {0.0025104594f, -0.008218922f, 0.021660116f, -0.05393479f, 0.13333128f, -0.3333333f})
    p = math::FmaOp::create(t.b, p, square, number(t, coefficient));
  return math::FmaOp::create(t.b, arith::MulFOp::create(t.b, p, square), x, x);
}

/// Computes tanh for x >= 1 as 1 - 2 / (e^2x + 1). An infinite power gives 1.
static Value largeTanh(Threads &t, Value x) {
  Value power = t.gpu.exp2(times(t, x, 2.88539008f));
  Value sum = arith::AddFOp::create(t.b, power, number(t, 1));
  return math::FmaOp::create(t.b, number(t, -2), t.gpu.reciprocal(sum), number(t, 1));
}

Value cuda::tanh(Threads &t, Value x) {
  Value magnitude = math::AbsFOp::create(t.b, x);
  Value isLarge = arith::CmpFOp::create(t.b, arith::CmpFPredicate::OGE, magnitude, number(t, 1));
  Value large = math::CopySignOp::create(t.b, largeTanh(t, magnitude), x);
  return arith::SelectOp::create(t.b, isLarge, large, smallTanh(t, x));
}

Value cuda::divide(Threads &t, Value x, Value y) {
  return matchPattern(x, m_OneFloat()) ? t.gpu.reciprocal(y) : t.gpu.divide(x, y);
}
