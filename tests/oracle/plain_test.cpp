// SPDX-License-Identifier: MIT
// The plain low-precision formula, the inputs, and the measure of error.
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

std::vector<float> asFloats(const std::vector<double> &x) { return {x.begin(), x.end()}; }

TEST(Plain, ErrorIsOfTheOrderOfTheElementType) {
  for (DType dtype : {f32, f16, bf16}) {
    Inputs inputs = makeInputs(kShape, kScale, dtype, Family::normal, 7);
    std::vector<float> d_o = normalNumbers(kShape.sizeO(), dtype, 8);
    Outputs exact = forward(kShape, {}, kScale, inputs);
    Outputs plain = plainForward(kShape, {}, kScale, inputs, dtype);
    Gradients exactGradients = backward(kShape, {}, kScale, inputs, d_o);
    Gradients plainGradients = plainBackward(kShape, {}, kScale, inputs, d_o, dtype);
    double u = unitRoundoff(dtype);
    for (double error : {compare(asFloats(plain.o), plain.o, exact.o, 0, dtype).worst,
                         compare(asFloats(plainGradients.dq), plainGradients.dq, exactGradients.dq, 0, dtype).worst,
                         compare(asFloats(plainGradients.dk), plainGradients.dk, exactGradients.dk, 0, dtype).worst,
                         compare(asFloats(plainGradients.dv), plainGradients.dv, exactGradients.dv, 0, dtype).worst}) {
      EXPECT_GT(error, u / 16) << toString(dtype);
      EXPECT_LT(error, u * 32) << toString(dtype);
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

TEST(Compare, MeasuresAgainstThePlainError) {
  Error error = compare({1.5f, 2.0f}, {1.25, 2.0}, {1.0, 2.0}, 0, f32);
  EXPECT_EQ(error.worst, 0.5);
  EXPECT_EQ(error.plain, 0.25);
  EXPECT_EQ(error.ratio(), 2.0);
}

TEST(Compare, OneRoundingIsTheLeastPlainError) {
  EXPECT_EQ(compare({2.0f}, {2.0}, {2.0}, 0, bf16).ratio(), 0);
  EXPECT_EQ(compare({2.0f + 0x1p-7f}, {2.0}, {2.0}, 0, bf16).ratio(), 1);
}

TEST(Compare, NoiseCountsWhereThePlainFormulaIsExact) {
  EXPECT_EQ(compare({0.25f}, {0}, {0}, 0.5, f32).ratio(), 0.5);
  EXPECT_EQ(compare({0.25f}, {1}, {0}, 0.5, f32).ratio(), 0.25);
}

TEST(Compare, NothingHidesANaN) {
  float nan = std::nanf(""), infinity = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(compare({nan, 1}, {0, 1}, {0, 1}, 0, f32).ratio()));
  EXPECT_TRUE(std::isnan(compare({1, nan, 1}, {1, 0, 1}, {1, 0, 1}, 0, f32).ratio()));
  EXPECT_TRUE(std::isnan(compare({infinity}, {0}, {0}, 0, f32).ratio()));
  EXPECT_EQ(compare({-infinity}, {-infinity}, {-infinity}, 0, f32).ratio(), 0);
}

TEST(Noise, IsOfTheOrderOfTheRoundingsThatItIsMadeOf) {
  Inputs inputs = makeInputs(kShape, kScale, f32, Family::normal, 7);
  std::vector<float> d_o = normalNumbers(kShape.sizeO(), f32, 8);
  Noise f32Noise = noiseOf(kShape, {}, kScale, inputs, d_o, f32);
  for (double noise : {f32Noise.o, f32Noise.lse, f32Noise.dq, f32Noise.dk, f32Noise.dv, f32Noise.score}) {
    EXPECT_GT(noise, 0x1p-25);
    EXPECT_LT(noise, 0x1p-14);
  }
  Noise bf16Noise = noiseOf(kShape, {}, kScale, inputs, d_o, bf16);
  EXPECT_EQ(bf16Noise.o, f32Noise.o);
  EXPECT_EQ(bf16Noise.dv, f32Noise.dv);
  EXPECT_LT(bf16Noise.dk, 0x1p-8); // D from a rounded O
  EXPECT_GT(bf16Noise.dk, f32Noise.dk);
  EXPECT_EQ(noiseOf(kShape, {}, kScale, inputs, {}, bf16).dq, 0);
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
}

} // namespace
} // namespace tegula::oracle
