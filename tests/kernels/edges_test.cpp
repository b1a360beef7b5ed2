// SPDX-License-Identifier: MIT
// Rows that see no key, and sizes of zero.
#include "harness/case.h"
#include "support/test_device.h"

#include <gtest/gtest.h>
#include <limits>

namespace tegula::testing {
namespace {

Case caseOf(Algorithm algorithm, int64_t queries, int64_t keys) {
  return {.algorithm = algorithm,
          .schedule = {.block_m = 32, .block_n = 32},
          .backward = algorithm == Algorithm::flash2,
          .shape = {.batch = 2,
                    .heads = 4,
                    .kv_heads = 2,
                    .seqlen_q = queries,
                    .seqlen_k = keys,
                    .head_dim = 32,
                    .value_dim = 32}};
}

constexpr Algorithm kAlgorithms[] = {Algorithm::standard, Algorithm::flash1, Algorithm::flash2};

void expectAll(const TestTensor &tensor, float number) {
  for (float x : tensor.numbers())
    ASSERT_EQ(x, number);
}

TEST(Edges, RowsThatSeeNoKey) {
  for (Algorithm algorithm : kAlgorithms)
    for (int64_t queries : {41, 64, 97}) {
      Case c = caseOf(algorithm, queries, 40);
      c.causal = Causal::bottom_right; // The first queries - 40 rows see nothing.
      Tensors t = makeTensors(c);
      Status status = launch(c, t);
      ASSERT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(check(t, measure(c, t)), "");
      EXPECT_EQ(t.lse.numbers()[0], -std::numeric_limits<float>::infinity());
      std::vector<float> o = t.o.numbers(), dq = t.dq.numbers();
      for (int n = 0; n < (queries - 40) * 32; ++n) {
        ASSERT_EQ(o[n], 0);
        if (c.backward) {
          ASSERT_EQ(dq[n], 0);
        }
      }
    }
}

TEST(Edges, NoRowSeesAKey) {
  for (Algorithm algorithm : kAlgorithms) {
    Case c = caseOf(algorithm, 40, 50);
    c.variant = "documents";
    Tensors t = makeTensors(c);
    for (int bound = 0; bound < 4; ++bound) { // All documents are empty.
      const int64_t length = bound < 2 ? 40 : 50;
      t.variant.tensors[bound] = TestTensor({2, length}, c.layout, c.poison, std::vector<int32_t>(2 * length, 7));
    }
    Status status = launch(c, t);
    ASSERT_TRUE(status.ok()) << status.message();
    expectAll(t.o, 0);
    expectAll(t.lse, -std::numeric_limits<float>::infinity());
    if (c.backward)
      for (TestTensor *gradient : {&t.dq, &t.dk, &t.dv})
        expectAll(*gradient, 0);
  }
}

TEST(Edges, EverySizeMayBeZero) {
  for (Algorithm algorithm : kAlgorithms)
    for (int zeros = 0; zeros < 16; ++zeros) {
      Case c = caseOf(algorithm, 33, 45);
      if (zeros & 1)
        c.shape.batch = 0;
      if (zeros & 2)
        c.shape.heads = 0;
      if (zeros & 4)
        c.shape.seqlen_q = 0;
      if (zeros & 8)
        c.shape.seqlen_k = 0;
      EXPECT_EQ(runCase(c), "");
      if (zeros & 2) {
        c.shape.kv_heads = 0;
        EXPECT_EQ(runCase(c), "");
      }
    }
}

TEST(Edges, SingleQueryAgainstManyKeys) {
  for (Causal causal : {Causal::none, Causal::top_left, Causal::bottom_right}) {
    Case c = caseOf(Algorithm::flash2, 1, 1000);
    c.causal = causal;
    EXPECT_EQ(runCase(c), "");
  }
}

/// Scores and dP of hidden keys overflow. The overflow must not reach the results of visible keys.
TEST(Edges, WhatAMaskHidesMayBeHuge) {
  Case c = caseOf(Algorithm::flash2, 20, 30);
  c.causal = Causal::top_left; // No query sees keys 20 to 29.
  c.contain_nonfinite = hasGpuCode();
  Tensors ordinary = makeTensors(c), huge = makeTensors(c);
  auto hide = [](std::vector<float> x) {
    for (size_t n = 0; n < x.size(); ++n)
      if (n / 32 % 30 >= 20)
        x[n] = n % 2 ? 3e38f : -3e38f;
    return x;
  };
  huge.k = TestTensor(f32, {2, 2, 30, 32}, c.layout, c.poison, hide(ordinary.inputs.k));
  huge.v = TestTensor(f32, {2, 2, 30, 32}, c.layout, c.poison, hide(ordinary.inputs.v));
  ASSERT_TRUE(launch(c, ordinary).ok());
  ASSERT_TRUE(launch(c, huge).ok());
  std::vector<TestTensor *> expected = ordinary.outputs(), actual = huge.outputs();
  for (size_t n = 0; n < expected.size(); ++n)
    EXPECT_EQ(actual[n]->numbers(), expected[n]->numbers()) << "output " << n;
}

/// If scores are below -88, exp(0 - lse) overflows. Padding must therefore not count as score 0, at any length modulo
/// the tile.
void checkVeryNegativeScores(DType dtype, int64_t step, std::initializer_list<oracle::Family> families) {
  for (int64_t keys = 33; keys <= 64; keys += step)
    for (oracle::Family family : families) {
      Case c = caseOf(Algorithm::flash2, keys + 3, keys);
      c.dtype = dtype;
      c.shape.batch = 1;
      c.family = family;
      c.causal = Causal::bottom_right;
      EXPECT_EQ(runCase(c), "");
    }
}

TEST(Edges, VeryNegativeScoresAtEveryLengthModuloTheTile) {
  using oracle::Family;
  checkVeryNegativeScores(f32, 1, {Family::shifted_down, Family::far_down, Family::growing_below});
}

/// The accumulators of 16-bit scores start from -lse / scale, which is then as large as the product.
TEST(Edges, VeryNegativeScoresOf16Bits) {
  for (DType dtype : {bf16, f16})
    checkVeryNegativeScores(dtype, 7, {oracle::Family::shifted_down, oracle::Family::growing_below});
}

} // namespace
} // namespace tegula::testing
