// SPDX-License-Identifier: MIT
// Tests that the deterministic backward pass is right, and has the same bits in each run.
#include "harness/case.h"
#include "harness/machine.h"
#include "support/test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula::testing {
namespace {

const int kReruns = onGpu() ? 100 : 4;

Case small() {
  return {
      .schedule = {.block_m = 32, .block_n = 32},
      .shape =
          {.batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 150, .seqlen_k = 170, .head_dim = 32, .value_dim = 32},
      .deterministic = true};
}

TEST(Deterministic, ElementTypesAndMasks) {
  for (auto [dtype, causal] : kTypesAndMasks) {
    Case c = small();
    c.dtype = dtype;
    c.causal = causal;
    EXPECT_EQ(runCase(c, nullptr, kReruns), "");
  }
}

/// Tiles of queries begin at multiples of block_m, wherever a block of keys begins to be seen.
TEST(Deterministic, AnyLengthsAndTiles) {
  for (auto [queries, keys] : {std::pair{1, 1}, {1, 90}, {90, 1}, {97, 31}, {31, 97}, {127, 130}})
    for (auto [block_m, block_n] : {std::pair{32, 32}, {16, 48}, {48, 16}, {40, 24}, {33, 17}, {8, 1}, {1, 8}})
      for (Causal causal : {Causal::none, Causal::bottom_right}) {
        Case c = small();
        c.causal = causal;
        c.schedule = {.block_m = block_m, .block_n = block_n};
        c.shape.seqlen_q = queries;
        c.shape.seqlen_k = keys;
        EXPECT_EQ(runCase(c, nullptr, 1), "");
      }
}

TEST(Deterministic, Variants) {
  for (const char *variant :
       {"window_br", "softcap", "alibi_br", "prefix_br", "documents", "bias", "window_br+softcap"}) {
    Case c = small();
    c.dtype = bf16;
    c.variant = variant;
    EXPECT_EQ(runCase(c, nullptr, kReruns), "");
  }
}

/// The schedules that ship, with several tiles of keys and heads.
TEST(Deterministic, TilesThatTheLibraryChooses) {
  for (int64_t head_dim : {64, 128, 256})
    for (Causal causal : {Causal::none, Causal::bottom_right}) {
      Case c = small();
      c.dtype = bf16;
      c.causal = causal;
      c.schedule = {};
      c.shape = {.batch = 1,
                 .heads = 4,
                 .kv_heads = 2,
                 .seqlen_q = onGpu() ? 1000 : 200,
                 .seqlen_k = onGpu() ? 1100 : 300,
                 .head_dim = head_dim,
                 .value_dim = head_dim};
      EXPECT_EQ(runCase(c, nullptr, kReruns), "");
    }
}

TEST(Deterministic, GradientOfLse) {
  Case c = small();
  c.lse_gradient = true;
  c.causal = Causal::bottom_right;
  EXPECT_EQ(runCase(c, nullptr, kReruns), "");
}

TEST(Deterministic, WhereNumbersAreNotFinite) {
  for (oracle::Family family : oracle::allFamilies()) {
    Case c = small();
    c.family = family;
    c.contain_nonfinite = onGpu();
    c.causal = Causal::bottom_right;
    EXPECT_EQ(runCase(c, nullptr, 1), "");
  }
}

TEST(Deterministic, TheWorkspaceHasACounterForEachRow) {
  AttentionProblem problem{.dtype = f32, .head_dim = 16, .value_dim = 16, .backward = true};
  const Schedule schedule{.block_m = 16, .block_n = 16};
  const AttentionShape shape{.batch = 2, .heads = 4, .kv_heads = 4, .seqlen_q = 64, .seqlen_k = 64};
  const int64_t plain = *valueOf(AttentionPlan::make(problem, *machine().cache, schedule)).backwardWorkspace(shape);
  problem.deterministic = true;
  const int64_t ordered = *valueOf(AttentionPlan::make(problem, *machine().cache, schedule)).backwardWorkspace(shape);
  EXPECT_EQ(ordered - plain, 2 * 4 * 64 * 4);
}

/// A variant whose scores all read one number, and want its gradient.
Variant shared(bool wants) {
  Variant variant{.name = "shared", .tensors = {{.name = "t", .axes = {Axis::any}, .wants_gradient = wants}}};
  variant.score = [](Value score, const ScoreIndex &, VariantViews tensors) { return score + tensors[0].gather(0); };
  return variant;
}

TEST(Deterministic, RefusesGradientsThatAreSumsWithoutAnOrder) {
  AttentionProblem problem{
      .dtype = f32, .head_dim = 16, .value_dim = 16, .variant = shared(true), .backward = true, .deterministic = true};
  const Status status = AttentionPlan::make(problem, *machine().cache).status();
  EXPECT_EQ(status.code(), ErrorCode::unsupported);
  EXPECT_THAT(status.message(),
              ::testing::StartsWith("deterministic is true, but variant 'shared' wants the gradient of 't', of which "
                                    "several scores read one element; its sum has no fixed order"));
  problem.variant = shared(false);
  EXPECT_TRUE(AttentionPlan::make(problem, *machine().cache).ok());
}

} // namespace
} // namespace tegula::testing
