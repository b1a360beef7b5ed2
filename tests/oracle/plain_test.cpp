// SPDX-License-Identifier: MIT
// Tests the plain low-precision formula, the inputs, and the measure of error.
#include "oracle/convert.h"
#include "oracle/inputs.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace tegula::oracle {
namespace {

const Shape kShape{
    .batch = 1, .heads = 4, .kv_heads = 2, .seqlen_q = 40, .seqlen_k = 50, .head_dim = 32, .value_dim = 24};
const double kScale = 1 / std::sqrt(32.0);

TEST(Plain, ErrorIsOfTheOrderOfTheElementType) {
  for (DType dtype : {f32, f16, bf16}) {
    Inputs inputs = makeInputs(kShape, kScale, dtype, Family::normal, 7);
    std::vector<float> d_o = normalNumbers(kShape.sizeO(), dtype, 8);
    Outputs exact = forward(kShape, {}, kScale, inputs);
    Outputs plain = plainForward(kShape, {}, kScale, inputs, dtype);
    Gradients exactGradients = backward(kShape, {}, kScale, inputs, d_o);
    Gradients plainGradients = plainBackward(kShape, {}, kScale, inputs, d_o, dtype);
    double u = unitRoundoff(dtype);
    for (double error :
         {plainError(plain.o, exact.o), plainError(plainGradients.dq, exactGradients.dq),
          plainError(plainGradients.dk, exactGradients.dk), plainError(plainGradients.dv, exactGradients.dv)}) {
      EXPECT_GT(error, u / 16) << toString(dtype);
      EXPECT_LT(error, u * 32) << toString(dtype);
    }
  }
}

TEST(Plain, GradientsOfLseAreAsGoodInEveryRun) {
  for (DType dtype : {f32, f16, bf16}) {
    const Inputs inputs = makeInputs(kShape, kScale, dtype, Family::normal, 7);
    const std::vector<float> d_o = normalNumbers(kShape.sizeO(), dtype, 8);
    const std::vector<float> d_lse = normalNumbers(kShape.sizeLse(), f32, 9);
    const Gradients exact = backward(kShape, {}, kScale, inputs, d_o, d_lse);
    EXPECT_GT(plainError(backward(kShape, {}, kScale, inputs, d_o).dq, exact.dq), 0.1) << "d_lse matters";
    for (int run = 0; run < 4; ++run) {
      const Gradients plain = plainBackward(kShape, {}, kScale, inputs, d_o, dtype, run, d_lse);
      for (double error :
           {plainError(plain.dq, exact.dq), plainError(plain.dk, exact.dk), plainError(plain.dv, exact.dv)}) {
        EXPECT_GT(error, unitRoundoff(dtype) / 16) << toString(dtype);
        EXPECT_LT(error, unitRoundoff(dtype) * 32) << toString(dtype);
      }
    }
  }
}

TEST(Plain, EmptyRowsAreZero) {
  Shape shape = kShape;
  shape.seqlen_k = 0;
  Outputs out = plainForward(shape, {}, 1, makeInputs(shape, 1, bf16, Family::normal, 7), bf16);
  EXPECT_EQ(out.o[0], 0);
  EXPECT_EQ(out.lse[0], -std::numeric_limits<double>::infinity());
}

TEST(Plain, OtherRunsErrAsMuchInOtherWays) {
  for (DType dtype : {f32, f16, bf16}) {
    Inputs inputs = makeInputs(kShape, kScale, dtype, Family::normal, 7);
    std::vector<float> d_o = normalNumbers(kShape.sizeO(), dtype, 8);
    Gradients exact = backward(kShape, {}, kScale, inputs, d_o);
    Gradients first = plainBackward(kShape, {}, kScale, inputs, d_o, dtype, 0);
    for (int run = 1; run < 4; ++run) {
      Gradients other = plainBackward(kShape, {}, kScale, inputs, d_o, dtype, run);
      EXPECT_NE(other.dk, first.dk) << toString(dtype);
      EXPECT_LT(plainError(other.dk, exact.dk), 3 * plainError(first.dk, exact.dk)) << toString(dtype);
      EXPECT_GT(plainError(other.dk, exact.dk), plainError(first.dk, exact.dk) / 3) << toString(dtype);
      EXPECT_EQ(other.dk, plainBackward(kShape, {}, kScale, inputs, d_o, dtype, run).dk) << toString(dtype);
    }
  }
}

/// A row that sees one key has P = 1. S - LSE shows the error of S, if both passes do not make the same one.
TEST(Plain, OtherRunsComputeScoresOfTheBackwardPassInAnotherOrder) {
  Shape shape = kShape;
  shape.seqlen_k = 1;
  const Inputs inputs = makeInputs(shape, kScale, f32, Family::shifted_down, 7);
  const std::vector<float> d_o = normalNumbers(shape.sizeO(), f32, 8);
  const auto p = [&](int run) {
    const PlainGradients plain = plainBackward(shape, {}, kScale, inputs, d_o, f32, run);
    return std::pair(plain.dv, plain.dv_of_softmax);
  };
  EXPECT_EQ(p(0).first, p(0).second);
  EXPECT_NE(p(1).first, p(1).second);
}

TEST(Plain, RunsDifferInUnitsThatStepsDoNotSee) {
  auto gradientIn = [](int run) {
    std::vector<double> gradient(kShape.sizeLse() * kShape.seqlen_k);
    Rules rules;
    addBias(rules, kShape, std::vector<float>(gradient.size(), 0.5f), &gradient);
    Inputs inputs = makeInputs(kShape, kScale, f16, Family::normal, 7);
    plainBackward(kShape, rules, kScale, inputs, normalNumbers(kShape.sizeO(), f16, 8), f16, run);
    return gradient;
  };
  std::vector<double> first = gradientIn(0), other = gradientIn(1);
  EXPECT_LT(plainError(other, first), 0x1p-8);
  EXPECT_GT(plainError(other, first), 0);
}

/// With steep slopes, all scores of a row that is a thousand keys away are far below 0, where f32 numbers are far
/// apart.
TEST(Plain, RoundingLseIsAllThatSetsDvApartFromThatOfSoftmax) {
  Shape shape = kShape;
  shape.seqlen_q = 1025;
  Rules rules;
  addAlibi(rules, shape, std::vector<float>(4, 0.75f), Corner::top_left);
  Inputs inputs = makeInputs(shape, kScale, f32, Family::normal, 7);
  std::vector<float> d_o = normalNumbers(shape.sizeO(), f32, 8);
  Gradients exact = backward(shape, rules, kScale, inputs, d_o);
  PlainGradients plain = plainBackward(shape, rules, kScale, inputs, d_o, f32);
  double of_lse = 0, of_softmax = plainError(plain.dv_of_softmax, exact.dv);
  for (double x : lseRoundingInDv(shape, rules, kScale, inputs, d_o))
    of_lse = std::max(of_lse, x);
  EXPECT_GT(plainError(plain.dv, exact.dv), 2 * of_softmax);
  EXPECT_LT(plainError(plain.dv, exact.dv), 2 * (of_softmax + of_lse));
  EXPECT_LT(of_lse, 4 * plainError(plain.dv, exact.dv));
}

TEST(Plain, FewRowsTakeMoreRuns) {
  EXPECT_EQ(plainRuns({.heads = 2, .seqlen_q = 1}), 16);
  EXPECT_EQ(plainRuns({.heads = 2, .seqlen_q = 256}), 8);
  EXPECT_EQ(plainRuns({.heads = 2, .seqlen_q = 1024}), 4);
  EXPECT_EQ(plainRuns({}), 16);
  EXPECT_EQ(plainRuns({.heads = 2, .seqlen_q = 1024}, 0.25), 8);
}

Error errorOf(const std::vector<float> &x, const std::vector<double> &plain, const std::vector<double> &exact,
              DType dtype) {
  Error error = measure(x, exact, dtype);
  error.plain = plainError(plain, exact);
  return error;
}

TEST(Error, IsMeasuredByThePlainFormulas) {
  Error error = errorOf({1.5f, 2.0f}, {1.25, 2.0}, {1.0, 2.0}, f32);
  EXPECT_EQ(error.worst, 0.5);
  EXPECT_EQ(error.plain, 0.25);
  EXPECT_EQ(error.ratio(), 2.0);
}

TEST(Error, OneRoundingIsTheLeastPlainError) {
  EXPECT_EQ(errorOf({2.0f}, {2.0}, {2.0}, bf16).ratio(), 0);
  EXPECT_EQ(errorOf({2.0f + 0x1p-7f}, {2.0}, {2.0}, bf16).ratio(), 1);
}

TEST(Error, WhatRoundingLseDoesIsAllowed) {
  Error error = errorOf({1.5f, 2.0f}, {1.25, 2.0}, {1.0, 2.0}, f32);
  error.lse = 0.25;
  EXPECT_EQ(error.ratio(), 1.0);
}

TEST(Error, SubnormalNumbersMayBeZero) {
  EXPECT_LT(errorOf({0.0f}, {0x1p-130}, {0x1p-130}, f32).ratio(), 1);
  EXPECT_LE(errorOf({0.0f}, {0x1p-25}, {0x1p-25}, f16).ratio(), 1);
}

TEST(Error, NothingHidesANaN) {
  float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(errorOf({nan, 1}, {0, 1}, {0, 1}, f32).ratio()));
  EXPECT_TRUE(std::isnan(errorOf({1, nan, 1}, {1, 0, 1}, {1, 0, 1}, f32).ratio()));
  EXPECT_TRUE(std::isnan(errorOf({infinity}, {0}, {0}, f32).ratio()));
  EXPECT_EQ(errorOf({-infinity}, {-infinity}, {-infinity}, f32).ratio(), 0);
}

TEST(Inputs, AreReproducibleAndExact) {
  for (Family family : allFamilies()) {
    Inputs a = makeInputs(kShape, kScale, bf16, family, 1), b = makeInputs(kShape, kScale, bf16, family, 1);
    EXPECT_EQ(a.q, b.q) << toString(family);
    for (float x : a.k)
      EXPECT_EQ(x, rounded(x, bf16)) << toString(family);
    EXPECT_NE(a.v, makeInputs(kShape, kScale, bf16, family, 2).v) << toString(family);
  }
}

TEST(Inputs, OneHotRowsSelectOneKey) {
  Inputs inputs = makeInputs(kShape, kScale, bf16, Family::one_hot, 1);
  Outputs out = forward(kShape, {}, kScale, inputs);
  for (int64_t i = 0; i < kShape.seqlen_q; ++i)
    for (int64_t c = 0; c < kShape.value_dim; ++c)
      EXPECT_EQ(out.o[i * kShape.value_dim + c], inputs.v[oneHotKey(kShape, i) * kShape.value_dim + c]);
}

TEST(Inputs, ShiftsMoveTheLogSumExp) {
  auto lse = [](Family family) {
    return forward(kShape, {}, kScale, makeInputs(kShape, kScale, f32, family, 1)).lse[5];
  };
  EXPECT_NEAR(lse(Family::shifted_up), 120, 20);
  EXPECT_NEAR(lse(Family::shifted_down), -120, 20);
  EXPECT_NEAR(lse(Family::far_down), -51000, 100);
  EXPECT_NEAR(lse(Family::growing_below), -20, 20);
}

} // namespace
} // namespace tegula::oracle
