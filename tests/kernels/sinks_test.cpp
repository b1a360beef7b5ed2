// SPDX-License-Identifier: MIT
// Tests of attention sinks.
#include "harness/case.h"
#include "harness/machine.h"
#include "support/test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace tegula::testing {
namespace {

using ::testing::HasSubstr;

constexpr float infinity = std::numeric_limits<float>::infinity();

Case caseOf(DType dtype, int64_t queries, int64_t keys) {
  return {.dtype = dtype,
          .shape = {.batch = 2,
                    .heads = 4,
                    .kv_heads = 2,
                    .seqlen_q = queries,
                    .seqlen_k = keys,
                    .head_dim = 32,
                    .value_dim = 24},
          .sinks = true};
}

/// Makes the tensors of a case with given sinks.
Tensors tensorsWith(const Case &c, const std::vector<float> &sinks) {
  Tensors t = makeTensors(c);
  t.sinks = TestTensor(f32, {int64_t(sinks.size())}, c.layout, c.poison, sinks);
  t.variant.exact.sinks = t.variant.plain.sinks = sinks;
  return t;
}

TEST(Sinks, EveryElementTypeMaskAndLength) {
  for (auto [dtype, causal] : kTypesAndMasks)
    for (auto [queries, keys] : {std::pair{50, 50}, {33, 70}, {70, 33}, {1, 40}, {40, 0}, {0, 40}}) {
      Case c = caseOf(dtype, queries, keys);
      c.causal = causal;
      EXPECT_EQ(runCase(c), "");
    }
}

TEST(Sinks, EveryTile) {
  for (auto [rows, keys] : {std::pair{16, 16}, {64, 32}, {32, 64}, {48, 80}, {128, 64}}) {
    Case c = caseOf(bf16, 100, 150);
    c.causal = Causal::bottom_right;
    c.schedule.block_m = rows;
    c.schedule.block_n = keys;
    EXPECT_EQ(runCase(c), "");
  }
}

TEST(Sinks, VariantsAndTheirGradients) {
  for (auto [variant, dtype] : {std::pair{"softcap", f32},
                                {"bias", bf16},
                                {"bias+softcap", f32},
                                {"alibi_br", bf16},
                                {"documents", f32},
                                {"window", bf16}}) {
    Case c = caseOf(dtype, 33, 70);
    c.variant = variant;
    EXPECT_EQ(runCase(c), "");
  }
}

TEST(Sinks, AnyLayout) {
  for (Layout layout : kLayouts) {
    Case c = caseOf(bf16, 37, 40);
    c.layout = layout;
    c.seed = 4; // One sink is -inf.
    EXPECT_EQ(runCase(c), "");
  }
}

TEST(Sinks, TogetherWithOtherOptions) {
  for (DType dtype : {f32, bf16})
    for (const auto &[name, set] : std::initializer_list<std::pair<const char *, void (*)(Case &)>>{
             {"lse_gradient", [](Case &c) { c.lse_gradient = true; }},
             {"dropout", [](Case &c) { c.dropout_p = 0.25; }},
             {"contain_nonfinite", [](Case &c) { c.contain_nonfinite = true; }},
             {"computed blocks", [](Case &c) { c.block_mask.source = BlockMask::Source::computed; }},
             {"all", [](Case &c) {
                c.lse_gradient = c.contain_nonfinite = c.deterministic = true;
                c.dropout_p = 0.5;
                c.block_mask.source = BlockMask::Source::computed;
              }}}) {
      Case c = caseOf(dtype, 60, 70);
      c.causal = Causal::top_left;
      set(c);
      EXPECT_EQ(runCase(c), "") << name;
    }
}

TEST(Sinks, DeterministicGradientsHaveTheSameBits) {
  Case c = caseOf(bf16, 100, 150);
  c.causal = Causal::top_left;
  c.deterministic = true;
  EXPECT_EQ(runCase(c, nullptr, /*reruns=*/3), "");
}

/// The sum over the batch and the blocks of queries needs more than one tile of parts in each direction.
TEST(Sinks, ManyBlocksAndBatchEntries) {
  Case c = caseOf(f32, 1100, 3);
  c.schedule = {.block_m = 16, .block_n = 16};
  c.shape.batch = 18;
  c.shape.heads = c.shape.kv_heads = 1;
  c.shape.head_dim = c.shape.value_dim = 8;
  EXPECT_EQ(runCase(c), "");
}

/// Far below all scores, a sink changes nothing. Far above, it takes all probability.
TEST(Sinks, FarFromScores) {
  for (DType dtype : {f32, f16, bf16})
    for (float sink : {-1e38f, -1000.0f, -30.0f, 5.0f, 30.0f, 1000.0f, 1e30f}) {
      Case c = caseOf(dtype, 33, 70);
      Tensors t = tensorsWith(c, std::vector<float>(4, sink));
      ASSERT_EQ(launch(c, t).message(), "");
      EXPECT_EQ(check(t, measure(c, t)), "") << toString(c) << " sink " << sink;
    }
}

TEST(Sinks, MinusInfinityChangesNoBit) {
  for (DType dtype : {f32, f16, bf16}) {
    Case with = caseOf(dtype, 30, 30), without = with; // With one block of keys, sums have only one order.
    with.causal = without.causal = Causal::bottom_right;
    with.schedule = without.schedule = {.block_m = 32, .block_n = 32};
    without.sinks = false;
    Tensors t = tensorsWith(with, std::vector<float>(4, -infinity)), none = makeTensors(without);
    ASSERT_EQ(launch(with, t).message(), "");
    ASSERT_EQ(launch(without, none).message(), "");
    for (auto tensor : {&Tensors::o, &Tensors::lse, &Tensors::dq, &Tensors::dk, &Tensors::dv})
      EXPECT_EQ((t.*tensor).bits(), (none.*tensor).bits());
    EXPECT_EQ(t.d_sinks.numbers(), std::vector<float>(4, 0.0f));
  }
}

TEST(Sinks, RowsThatSeeNoKey) {
  Case c = caseOf(bf16, 64, 40);
  c.causal = Causal::bottom_right; // The first 24 rows see nothing.
  c.lse_gradient = true;
  const std::vector<float> sinks = {1.5f, -infinity, -200, 90};
  Tensors t = tensorsWith(c, sinks);
  ASSERT_EQ(launch(c, t).message(), "");
  EXPECT_EQ(check(t, measure(c, t)), "");
  const std::vector<float> o = t.o.numbers(), lse = t.lse.numbers(), dq = t.dq.numbers();
  for (size_t row = 0; row < lse.size(); ++row)
    if (row % 64 < 24) {
      EXPECT_EQ(lse[row], sinks[row / 64 % 4]);
      for (size_t column = 0; column < 24; ++column)
        EXPECT_EQ(o[row * 24 + column], 0);
      for (size_t column = 0; column < 32; ++column)
        EXPECT_EQ(dq[row * 32 + column], 0);
    }
}

/// In a framework, too, softmax of a score that is +inf or NaN is NaN. Other heads are not touched.
TEST(Sinks, NanAndInfinityReachOnlyTheirHead) {
  for (bool contain : {false, true})
    for (float sink : {infinity, std::numeric_limits<float>::quiet_NaN()}) {
      Case c = caseOf(bf16, 64, 40);
      c.causal = Causal::bottom_right;
      c.contain_nonfinite = contain;
      Tensors clean = tensorsWith(c, {1, 1, 1, 1}), t = tensorsWith(c, {1, 1, sink, 1});
      ASSERT_EQ(launch(c, clean).message(), "");
      ASSERT_EQ(launch(c, t).message(), "");
      auto expectNan = [&](TestTensor Tensors::*tensor, size_t of_a_head) {
        const std::vector<float> numbers = (t.*tensor).numbers(), expected = (clean.*tensor).numbers();
        for (size_t n = 0; n < numbers.size(); ++n)
          if (n / of_a_head % 4 == 2)
            ASSERT_TRUE(std::isnan(numbers[n])) << n;
          else
            ASSERT_EQ(numbers[n], expected[n]) << n;
      };
      expectNan(&Tensors::o, 64 * 24);
      expectNan(&Tensors::lse, 64);
      expectNan(&Tensors::d_sinks, 1);
    }
}

//===-- Errors ---------------------------------------------------------------------------------------------------===//

TEST(Sinks, OtherAlgorithmsHaveNone) {
  for (Algorithm algorithm : {Algorithm::standard, Algorithm::flash1})
    EXPECT_THAT(
        AttentionPlan::make({.algorithm = algorithm, .head_dim = 64, .value_dim = 64, .sinks = true}, *machine().cache)
            .status()
            .message(),
        HasSubstr("sinks is true, but this algorithm has no sinks; flash2 has them"));
}

TEST(Sinks, TheTensorsAreChecked) {
  Case c = caseOf(f32, 8, 8), without = c;
  without.sinks = false;
  Tensors t = makeTensors(c);
  auto message = [&](TensorRef sinks, TensorRef d_sinks, const Case &planned) {
    return valueOf(planFor(planned))
        .backward({.q = t.q.ref(),
                   .k = t.k.ref(),
                   .v = t.v.ref(),
                   .o = t.o.ref(),
                   .lse = t.lse.ref(),
                   .d_o = t.d_o.ref(),
                   .dq = t.dq.ref(),
                   .dk = t.dk.ref(),
                   .dv = t.dv.ref(),
                   .sinks = sinks,
                   .d_sinks = d_sinks})
        .message();
  };
  float numbers[5] = {};
  const TensorRef good = t.sinks.ref(), gradient = t.d_sinks.ref(), five = contiguous(numbers, f32, {5});
  TensorRef narrow = good;
  narrow.dtype = bf16;
  EXPECT_THAT(message({}, gradient, c), HasSubstr("argument 'sinks': it is missing, but 'sinks' is set"));
  EXPECT_THAT(message(good, {}, c), HasSubstr("argument 'd_sinks': it is missing, but 'sinks' is set"));
  EXPECT_THAT(message(good, {}, without), HasSubstr("argument 'sinks': it is given, but 'sinks' is not set"));
  EXPECT_THAT(message({}, gradient, without), HasSubstr("argument 'd_sinks': it is given, but 'sinks' is not set"));
  EXPECT_EQ(message(five, gradient, c), "argument 'sinks': its size 0 is 5; it must be [heads] with heads = 4");
  EXPECT_EQ(message(good, five, c), "argument 'd_sinks': its size 0 is 5; it must be [heads] with heads = 4");
  EXPECT_EQ(message(narrow, gradient, c), "argument 'sinks': its element type is bf16; it must be f32");
  EXPECT_EQ(message(good, good, c),
            "argument 'd_sinks': it is written, but shares memory with 'sinks'; outputs need memory of their own");
}

} // namespace
} // namespace tegula::testing
