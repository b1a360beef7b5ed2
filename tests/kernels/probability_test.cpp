// SPDX-License-Identifier: MIT
// Tests of variants that modify probabilities.
#include "compiler/client/InProcessCompiler.h"
#include "harness/case.h"
#include "harness/machine.h"
#include "support/test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula::testing {
namespace {

using ::testing::HasSubstr;

/// The variant `probability` is p -> gate[head, key] p + p^2, and `square` is p -> p^2.
Case caseOf(DType dtype, const char *variant = "probability") {
  return {.dtype = dtype,
          .variant = variant,
          .shape = {
              .batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 70, .seqlen_k = 90, .head_dim = 32, .value_dim = 24}};
}

TEST(Probability, EveryElementTypeAndMask) {
  for (auto [dtype, causal] : kTypesAndMasks) {
    Case c = caseOf(dtype);
    c.causal = causal;
    EXPECT_EQ(runCase(c), "");
  }
}

TEST(Probability, TogetherWithOtherOptions) {
  for (DType dtype : {f32, bf16})
    for (const auto &[name, set] : std::initializer_list<std::pair<const char *, void (*)(Case &)>>{
             {"sinks", [](Case &c) { c.sinks = true; }},
             {"dropout", [](Case &c) { c.dropout_p = 0.25; }},
             {"gradient of lse", [](Case &c) { c.lse_gradient = true; }},
             {"a computed block mask", [](Case &c) { c.block_mask.source = BlockMask::Source::computed; }},
             {"given blocks", [](Case &c) { c.block_mask = {BlockMask::Source::given, true, true, 32, 16}; }},
             {"NaN contained", [](Case &c) { c.contain_nonfinite = true; }},
             {"all of them", [](Case &c) {
                c.sinks = c.lse_gradient = c.contain_nonfinite = true;
                c.dropout_p = 0.5;
                c.block_mask = {BlockMask::Source::given, false, true, 48, 40};
              }}}) {
      SCOPED_TRACE(name);
      Case c = caseOf(dtype);
      set(c);
      EXPECT_EQ(runCase(c), "");
    }
}

TEST(Probability, TogetherWithScoresAndMasks) {
  for (const char *variant : {"softcap+probability", "bias_mask+square", "documents+square+softcap", "mask+probability",
                              "probability+square", "product+square", "either_br+probability"})
    EXPECT_EQ(runCase(caseOf(f32, variant)), "") << variant;
}

TEST(Probability, TheGradientsOfADeterministicPassRepeat) {
  Case c = caseOf(bf16, "square");
  c.deterministic = true;
  EXPECT_EQ(runCase(c), "");
}

TEST(Probability, EverySchedulerOfTiles) {
  for (TileScheduler scheduler : {TileScheduler::static_persistent, TileScheduler::dynamic_persistent}) {
    Case c = caseOf(bf16, "alibi_br+probability");
    c.causal = Causal::bottom_right;
    c.schedule = {.block_m = 32, .block_n = 16, .tile_scheduler = scheduler};
    EXPECT_EQ(runCase(c), "");
  }
}

/// A window of queries begins inside a tile, and tiles lie in blocks.
TEST(Probability, GivenBlocksWithAWindow) {
  Case c = caseOf(f32, "square+window_br");
  c.causal = Causal::bottom_right;
  c.shape.seqlen_k = 300;
  c.schedule = {.block_m = 16, .block_n = 64};
  c.block_mask = {BlockMask::Source::given, true, true, 32, 64};
  EXPECT_EQ(runCase(c), "");
}

TEST(Probability, RowsWithoutKeysGiveZero) {
  Case c = caseOf(f32);
  c.shape.seqlen_k = 0;
  EXPECT_EQ(runCase(c), "");
}

//===-- Errors ---------------------------------------------------------------------------------------------------===//

Status statusOf(decltype(Variant::probability) probability, Algorithm algorithm = Algorithm::flash2) {
  AttentionProblem problem{.dtype = f32, .algorithm = algorithm, .head_dim = 32, .value_dim = 32};
  problem.variant.name = "own";
  problem.variant.probability = std::move(probability);
  return AttentionPlan::make(problem, *machine().cache).status();
}

TEST(Probability, OtherAlgorithmsHaveNone) {
  for (Algorithm algorithm : {Algorithm::standard, Algorithm::flash1})
    EXPECT_THAT(statusOf([](Value p, const ScoreIndex &, VariantViews) { return p; }, algorithm).message(),
                HasSubstr("variant 'own' has a function 'probability', which this algorithm does not call; flash2 "
                          "calls it"));
}

TEST(Probability, WhatTheFunctionReturnsIsChecked) {
  EXPECT_THAT(statusOf([](Value p, const ScoreIndex &, VariantViews) { return p > 0.5; }).message(),
              HasSubstr("Variant 'own': probability"));
  EXPECT_THAT(
      statusOf([](Value p, const ScoreIndex &, VariantViews) -> Value { return p / asColumn(rowSum(p)); }).message(),
      HasSubstr("Variant 'own': probability"));
}

/// Without a schedule nothing is refused for resources: the second loop needs buffers of its own.
TEST(Probability, TheChosenScheduleFits) {
  Variant variant{.name = "square"};
  variant.probability = [](Value p, const ScoreIndex &, VariantViews) { return p * p; };
  std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  for (const char *arch : {"sm_80", "sm_86", "sm_90a"})
    for (DType dtype : {f32, bf16})
      for (int dim : {64, 128, 192, 256})
        for (bool contain : {false, true})
          for (std::string_view program : {"flash2_forward", "flash2_backward_delta", "flash2_backward"}) {
            const AttentionProblem problem{.dtype = dtype,
                                           .head_dim = dim,
                                           .value_dim = dim,
                                           .causal = Causal::bottom_right,
                                           .variant = variant,
                                           .backward = true,
                                           .contain_nonfinite = contain};
            const Target target = {"cuda", arch, ""};
            const Expected<RecordedKernel> kernel = recordKernel(problem, program, target);
            ASSERT_TRUE(kernel.ok()) << kernel.status().message();
            const Status status = compiler->compile({kernel->program.text, kernel->schedule, target, "order"}).status();
            EXPECT_TRUE(status.ok()) << program << ' ' << toString(dtype) << ' ' << dim << ' ' << status.message();
          }
}

} // namespace
} // namespace tegula::testing
