// SPDX-License-Identifier: MIT
// Inputs whose results are known to the last bit, or show which keys were used.
#include "harness/case.h"
#include "oracle/convert.h"

#include <cmath>
#include <gtest/gtest.h>

namespace tegula::testing {
namespace {

constexpr Algorithm kAlgorithms[] = {Algorithm::standard, Algorithm::flash1, Algorithm::flash2};

Case caseOf(Algorithm algorithm, DType dtype, int64_t queries, int64_t keys) {
  return {.dtype = dtype,
          .algorithm = algorithm,
          .schedule = {.block_m = 32, .block_n = 32},
          .backward = false,
          .shape = {.batch = 1,
                    .heads = 2,
                    .kv_heads = 1,
                    .seqlen_q = queries,
                    .seqlen_k = keys,
                    .head_dim = 32,
                    .value_dim = 32}};
}

/// Replaces V by number(key, column) in all heads.
template <class Number> void setV(const Case &c, Tensors &t, Number number) {
  const oracle::Shape &s = c.shape;
  std::vector<float> v(s.sizeV());
  for (size_t n = 0; n < v.size(); ++n)
    v[n] = number(int64_t(n) / s.value_dim % s.seqlen_k, int64_t(n) % s.value_dim);
  t.v = TestTensor(c.dtype, {s.batch, s.kv_heads, s.seqlen_k, s.value_dim}, c.layout, c.poison, v);
}

TEST(ExactValues, ZeroQueriesGiveTheMeanOfWhatTheySee) {
  for (Algorithm algorithm : kAlgorithms) {
    Case c = caseOf(algorithm, f32, 64, 64);
    c.causal = Causal::top_left;
    c.family = oracle::Family::uniform;
    Tensors t = makeTensors(c);
    setV(c, t, [](int64_t key, int64_t) { return float(key); });
    ASSERT_TRUE(launch(c, t).ok());
    std::vector<float> o = t.o.numbers(), lse = t.lse.numbers();
    for (int64_t i = 0; i < 64; ++i) { // keys 0 to i, whose mean is i / 2
      EXPECT_NEAR(o[i * 32], double(i) / 2, 1e-6 * double(i));
      EXPECT_NEAR(lse[i], std::log(double(i + 1)), 2e-7 * (1 + std::log(double(i + 1))));
    }
  }
}

TEST(ExactValues, MeansOfPowersOfTwoAreExact) {
  for (Algorithm algorithm : kAlgorithms)
    for (int64_t keys : {1, 2, 16, 64, 128}) {
      Case c = caseOf(algorithm, bf16, 5, keys);
      c.family = oracle::Family::uniform;
      Tensors t = makeTensors(c);
      setV(c, t, [&](int64_t key, int64_t column) { return float((key * 5 + column) % 8); });
      ASSERT_TRUE(launch(c, t).ok());
      for (int64_t column = 0; column < 8; ++column) {
        double sum = 0;
        for (int64_t key = 0; key < keys; ++key)
          sum += double((key * 5 + column) % 8);
        EXPECT_EQ(t.o.numbers()[column], sum / double(keys)) << "keys " << keys;
      }
    }
}

TEST(ExactValues, OneHotRowsCopyARowOfV) {
  for (Algorithm algorithm : kAlgorithms)
    for (DType dtype : {f32, f16, bf16}) {
      Case c = caseOf(algorithm, dtype, 50, 77);
      c.family = oracle::Family::one_hot;
      Tensors t = makeTensors(c);
      ASSERT_TRUE(launch(c, t).ok());
      std::vector<float> o = t.o.numbers();
      for (int64_t row = 0; row < 2 * 50; ++row)
        for (int64_t column = 0; column < 32; ++column)
          ASSERT_EQ(o[row * 32 + column], t.inputs.v[oracle::oneHotKey(c.shape, row % 50) * 32 + column])
              << toString(c);
    }
}

/// V marks each key by one column. With Q = 0, the output then shows which keys each row used, and that it used no key
/// twice.
TEST(ExactValues, OutputsNameTheKeysThatWereUsed) {
  for (Algorithm algorithm : kAlgorithms)
    for (Causal causal : {Causal::none, Causal::top_left, Causal::bottom_right})
      for (int64_t queries : {1, 7, 32, 40})
        for (int64_t keys : {1, 9, 31, 32}) {
          Case c = caseOf(algorithm, f32, queries, keys);
          c.causal = causal;
          c.family = oracle::Family::uniform;
          Tensors t = makeTensors(c);
          setV(c, t, [](int64_t key, int64_t column) { return key == column ? 1.0f : 0.0f; });
          ASSERT_TRUE(launch(c, t).ok());
          std::vector<float> o = t.o.numbers();
          int64_t offset = causal == Causal::bottom_right ? keys - queries : 0;
          for (int64_t i = 0; i < queries; ++i) {
            int64_t seen = causal == Causal::none ? keys : std::max<int64_t>(0, std::min(keys, i + offset + 1));
            for (int64_t j = 0; j < 32; ++j)
              ASSERT_NEAR(o[i * 32 + j], j < seen ? 1.0 / double(seen) : 0, 1e-6) << toString(c) << " row " << i;
          }
        }
}

/// Softmax of one key is 1, however large its score is. All numbers are `size`, or the keys -`size`.
TEST(ExactValues, OneKeyReturnsItsValue) {
  for (DType dtype : {f32, f16, bf16})
    for (float size : {200.0f, 20000.0f, 133120.0f, 1e9f, 1e16f})
      for (float sign : {1.0f, -1.0f}) {
        if (dtype == f16 && size > 65504)
          continue;
        Case c = caseOf(Algorithm::flash2, dtype, 3, 1);
        Tensors t = makeTensors(c);
        const float number = oracle::rounded(size, dtype);
        auto filled = [&](int64_t heads, int64_t rows, float x) {
          return TestTensor(dtype, {1, heads, rows, 32}, c.layout, c.poison, std::vector<float>(heads * rows * 32, x));
        };
        t.q = filled(2, 3, number);
        t.k = filled(1, 1, sign * number);
        t.v = filled(1, 1, number);
        ASSERT_TRUE(launch(c, t).ok());
        const float lse = float(sign * 32 * double(number) * number * c.scale());
        for (float o : t.o.numbers())
          ASSERT_EQ(o, number) << toString(dtype) << " " << sign * size;
        for (float x : t.lse.numbers())
          ASSERT_NEAR(x / lse, 1, 1e-6);
      }
}

TEST(ExactValues, ConstantVIsReturned) {
  for (Algorithm algorithm : kAlgorithms) {
    Case c = caseOf(algorithm, bf16, 33, 100);
    Tensors t = makeTensors(c);
    setV(c, t, [](int64_t, int64_t) { return 3.0f; });
    ASSERT_TRUE(launch(c, t).ok());
    for (float x : t.o.numbers())
      EXPECT_NEAR(x, 3, 3.0 / 128);
  }
}

} // namespace
} // namespace tegula::testing
