// SPDX-License-Identifier: MIT
// Tests of the backward pass of a loss that also depends on lse.
#include "harness/case.h"
#include "harness/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace tegula::testing {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

Case caseOf(DType dtype, int64_t queries, int64_t keys) {
  return {.dtype = dtype,
          .schedule = {.block_m = 32, .block_n = 32},
          .lse_gradient = true,
          .shape = {.batch = 2,
                    .heads = 4,
                    .kv_heads = 2,
                    .seqlen_q = queries,
                    .seqlen_k = keys,
                    .head_dim = 32,
                    .value_dim = 24}};
}

TEST(LseGradient, EveryElementTypeAndMask) {
  for (auto [dtype, causal] : kTypesAndMasks)
    for (auto [queries, keys] : {std::pair{50, 50}, {33, 70}, {70, 33}, {1, 40}}) {
      Case c = caseOf(dtype, queries, keys);
      c.causal = causal;
      EXPECT_EQ(runCase(c), "");
    }
}

TEST(LseGradient, VariantsAndTheirGradients) {
  for (const char *variant : {"softcap", "bias", "bias+softcap", "alibi_br", "documents"}) {
    Case c = caseOf(f32, 33, 70);
    c.variant = variant;
    EXPECT_EQ(runCase(c), "");
  }
}

TEST(LseGradient, AnyLayout) {
  for (Layout layout : kLayouts) {
    Case c = caseOf(bf16, 37, 40);
    c.layout = layout;
    EXPECT_EQ(runCase(c), "");
  }
}

/// A loss such as lse^2 has an infinite gradient in these rows.
TEST(LseGradient, RowsThatSeeNoKeyHaveNone) {
  for (float upstream : {1.0f, -infinity, infinity, std::numeric_limits<float>::quiet_NaN()}) {
    Case c = caseOf(f32, 64, 40);
    c.causal = Causal::bottom_right; // The first 24 rows see nothing.
    Tensors t = makeTensors(c);
    for (int64_t row = 0; row < c.shape.sizeLse(); ++row)
      if (row % 64 < 24)
        t.upstream_lse[row] = upstream;
    t.d_lse = TestTensor(f32, {2, 4, 64}, c.layout, c.poison, t.upstream_lse);
    ASSERT_EQ(launch(c, t).message(), "");
    EXPECT_EQ(check(t, measure(c, t)), "");
    const std::vector<float> dq = t.dq.numbers();
    for (int64_t n = 0; n < c.shape.sizeQ(); ++n)
      if (n / 32 % 64 < 24) {
        ASSERT_EQ(dq[n], 0) << upstream;
      }
  }
}

/// All scores of a row are -inf, although no mask hides them.
TEST(LseGradient, RowsOfScoresOfMinusInfinityHaveNone) {
  Case c = caseOf(f32, 32, 40);
  c.variant = "bias";
  Tensors t = makeTensors(c);
  t.variant.tensors[0].fill(-infinity);
  t.d_lse.fill(-infinity);
  ASSERT_EQ(launch(c, t).message(), "");
  for (float lse : t.lse.numbers())
    ASSERT_EQ(lse, -infinity);
  for (TestTensor *gradient : {&t.dq, &t.dk, &t.dv, &t.variant.gradients[0]})
    for (float x : gradient->numbers())
      ASSERT_EQ(x, 0);
}

TEST(LseGradient, OfZeroChangesNoBit) {
  Case with = caseOf(bf16, 30, 30), without = with; // With one block of keys, sums have only one order.
  without.lse_gradient = false;
  Tensors zeros = makeTensors(with), none = makeTensors(without);
  zeros.d_lse.fill(0);
  ASSERT_EQ(launch(with, zeros).message(), "");
  ASSERT_EQ(launch(without, none).message(), "");
  EXPECT_EQ(zeros.dq.bits(), none.dq.bits());
  EXPECT_EQ(zeros.dk.bits(), none.dk.bits());
  EXPECT_EQ(zeros.dv.bits(), none.dv.bits());
}

/// Returns the message of backward() with `d_lse`, for a plan with or without lse_gradient.
std::string refusal(bool planned, const TensorRef &d_lse) {
  Case c = caseOf(f32, 20, 20);
  c.lse_gradient = planned;
  Tensors t = makeTensors(c);
  Expected<AttentionPlan> plan = planFor(c);
  if (!plan)
    return plan.status().message();
  return plan
      ->backward({.q = t.q.ref(),
                  .k = t.k.ref(),
                  .v = t.v.ref(),
                  .o = t.o.ref(),
                  .lse = t.lse.ref(),
                  .d_o = t.d_o.ref(),
                  .d_lse = d_lse,
                  .dq = t.dq.ref(),
                  .dk = t.dk.ref(),
                  .dv = t.dv.ref()})
      .message();
}

TEST(LseGradient, IsPassedWhereThePlanTakesIt) {
  float number = 0;
  TensorRef wrong = contiguous(&number, f32, {2, 4, 21});
  EXPECT_EQ(refusal(false, wrong),
            "argument 'd_lse': it is given, but 'lse_gradient' is not set in the plan's problem; make the plan with "
            "'lse_gradient' set, or leave d_lse out");
  EXPECT_EQ(refusal(true, {}), "argument 'd_lse': it is missing, but 'lse_gradient' is set in the plan's problem; pass "
                               "it, or make the plan without 'lse_gradient'");
  EXPECT_EQ(refusal(true, wrong),
            "argument 'd_lse': its size 2 is 21; it must be [batch, heads, seqlen_q] with seqlen_q = 20");
  wrong.dtype = bf16;
  EXPECT_EQ(refusal(true, wrong), "argument 'd_lse': its element type is bf16; it must be f32");
}

TEST(LseGradient, NeedsABackwardPass) {
  EXPECT_EQ(AttentionPlan::make({.dtype = f32, .head_dim = 16, .value_dim = 16, .lse_gradient = true}, *machine().cache)
                .status()
                .message(),
            "argument 'lse_gradient': it is set, but 'backward' is not; a plan without a backward pass has no use for "
            "it");
}

} // namespace
} // namespace tegula::testing
