// SPDX-License-Identifier: MIT
// Tests that a trial of a variant accepts its definition, and finds definitions and tensors that are others.
#include "tegula/variant_trial.h"

#include "compiler/client/InProcessCompiler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A bias for the distance to a key, for the keys of a window.
VariantTrial biasedWindow() {
  VariantTrial trial;
  trial.shape = {.batch = 2, .heads = 2, .kv_heads = 1, .seqlen_q = 100, .seqlen_k = 100};
  trial.schedule = {.block_m = 16, .block_n = 16};
  AttentionProblem &problem = trial.problem;
  problem = {.dtype = f32, .head_dim = 16, .value_dim = 16, .backward = true};
  problem.variant = slidingWindow(9, 0, Alignment::top_left);
  problem.variant.name = "biased_window";
  problem.variant.tensors = {{.name = "table", .axes = {Axis::heads, Axis::any}, .wants_gradient = true}};
  problem.variant.score = [](Value score, const ScoreIndex &at, VariantViews tensors) {
    return 2.0 * score + tensors[0].gather(at.head, at.query - at.key);
  };
  trial.tensors = {{{2, 10}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1}}};
  auto element = [](const ScorePosition &p) { return size_t(p.head * 10 + p.query - p.key); };
  trial.plain.sees = [](const ScorePosition &p) { return p.key <= p.query && p.query - p.key <= 9; };
  trial.plain.score = [=, table = trial.tensors[0].values](double score, const ScorePosition &p) {
    return 2 * score + table[element(p)];
  };
  trial.plain.backward = [=](double, const ScorePosition &p, double gradient, TensorGradients &tensors) {
    tensors.add(0, element(p), gradient);
    return 2 * gradient;
  };
  return trial;
}

Expected<VariantReport> reportOf(const VariantTrial &trial) {
  static const std::shared_ptr<Device> device = *cpuDevice();
  static const std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  static KernelCache cache(*compiler, device);
  return tryVariant(trial, cache, device);
}

std::string verdictOn(const VariantTrial &trial) {
  const Expected<VariantReport> report = reportOf(trial);
  return report ? verdict(*report).message() : report.status().message();
}

TEST(VariantTrial, AcceptsTheDefinition) {
  const Expected<VariantReport> report = reportOf(biasedWindow());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(verdict(*report).message(), "");
  EXPECT_EQ(report->ratios.size(), 6u);
  EXPECT_GT(report->worstRatio(), 0);
  EXPECT_LT(report->forward.share(), 0.4);
}

TEST(VariantTrial, FindsOtherDefinitions) {
  VariantTrial window = biasedWindow(), bias = window, gradient = window, table = window;
  window.plain.sees = [](const ScorePosition &p) { return p.key <= p.query && p.query - p.key <= 8; };
  EXPECT_THAT(verdictOn(window), AllOf(HasSubstr("o has"), HasSubstr("dtable has")));
  bias.plain.score = [](double score, const ScorePosition &) { return 2 * score; };
  EXPECT_THAT(verdictOn(bias), HasSubstr("o has"));
  gradient.plain.backward = [](double, const ScorePosition &, double gradient, TensorGradients &) { return gradient; };
  EXPECT_THAT(verdictOn(gradient), AllOf(HasSubstr("dq has"), HasSubstr("dtable has"), Not(HasSubstr("o has"))));
}

TEST(VariantTrial, HasTheCausalMaskOfTheProblem) {
  VariantTrial trial = biasedWindow();
  trial.problem.causal = Causal::top_left;
  trial.plain.sees = [](const ScorePosition &p) { return p.query - p.key <= 9; };
  EXPECT_EQ(verdictOn(trial), "");
}

/// Blocks of 16 queries and 16 keys: those on the diagonal, and the first one of each row.
VariantTrial firstAndOwnBlock() {
  VariantTrial trial;
  trial.shape = {.batch = 1, .heads = 2, .kv_heads = 1, .seqlen_q = 64, .seqlen_k = 64};
  trial.schedule = {.block_m = 16, .block_n = 16};
  trial.problem = {.dtype = f32, .head_dim = 16, .value_dim = 16, .backward = true};
  trial.problem.block_mask = {.source = BlockMask::Source::given, .block_q = 16, .block_k = 16};
  trial.blocks = {.partial = {{}, {}, {}, {}}, .full = {{0}, {0, 1}, {0, 2}, {0, 3}}};
  trial.plain.sees = [](const ScorePosition &p) { return p.key < 16 || p.key / 16 == p.query / 16; };
  return trial;
}

TEST(VariantTrial, GivesBlocks) {
  const Expected<VariantReport> report = reportOf(firstAndOwnBlock());
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_EQ(verdict(*report).message(), "");
  EXPECT_EQ(report->forward.share(), 7.0 / 16);
  EXPECT_EQ(report->backward.share(), 7.0 / 16);
}

TEST(VariantTrial, FindsBlocksThatTheDefinitionDoesNotHave) {
  VariantTrial more = firstAndOwnBlock(), less = more;
  more.blocks.full[3] = {0, 1, 3};
  less.blocks.full[3] = {3};
  EXPECT_THAT(verdictOn(more), HasSubstr("o has"));
  EXPECT_THAT(verdictOn(less), HasSubstr("o has"));
}

TEST(VariantTrial, RefusesBlocksThatDoNotFit) {
  VariantTrial few = firstAndOwnBlock(), far = few, empty = few;
  few.blocks.full.pop_back();
  EXPECT_THAT(verdictOn(few), HasSubstr("there are 3 lists of full blocks; there must be 4"));
  far.blocks.partial[2] = {4};
  EXPECT_THAT(verdictOn(far), HasSubstr("a list of partial blocks has the block 4; it must be from 0 to 3"));
  empty.problem.block_mask.block_q = 0;
  EXPECT_THAT(verdictOn(empty), HasSubstr("a block has 0 queries and 16 keys; it must have at least 1 of each"));
}

TEST(VariantTrial, RefusesTensorsThatDoNotFit) {
  VariantTrial trial = biasedWindow();
  trial.tensors[0].shape = {3, 10};
  EXPECT_THAT(verdictOn(trial), HasSubstr("tensor 'table': it has the shape [3, 10] and 20 values; it must have the "
                                          "shape [2, 10] and a value for each element"));
  trial.tensors.clear();
  EXPECT_THAT(verdictOn(trial), HasSubstr("there are values for 0 tensors; the variant has 1"));
}

TEST(VariantTrial, RefusesProblemsThatItCannotJudge) {
  VariantTrial trial = biasedWindow();
  trial.problem.dropout_p = 0.5;
  EXPECT_THAT(verdictOn(trial), HasSubstr("a trial has no dropout"));
}

TEST(VariantTrial, DrawsTilesInTheirColours) {
  VariantTrial trial = biasedWindow();
  const Expected<VariantReport> report = reportOf(trial);
  ASSERT_TRUE(report.ok()) << report.status().message();
  const std::string svg = toSvg(trial, *report, "a < b");
  EXPECT_THAT(svg, AllOf(HasSubstr("a &lt; b"), HasSubstr("<path d=\"M"), HasSubstr("fill=\"#7fb3d5\"")));
  trial.plain.sees = [](const ScorePosition &p) { return p.key < 16; };
  EXPECT_THAT(toSvg(trial, *report, ""), HasSubstr("fill=\"#d55e00\" stroke"));
}

TEST(VariantTrial, MeasuresTimes) {
  static const std::shared_ptr<Device> device = *cpuDevice();
  static const std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  KernelCache cache(*compiler, device);
  VariantTrial trial = biasedWindow();
  trial.problem.block_mask.source = BlockMask::Source::computed;
  const Expected<VariantTimes> times = timeVariant(trial, cache, device);
  ASSERT_TRUE(times.ok()) << times.status().message();
  EXPECT_GT(times->lists, 0);
  EXPECT_GT(times->forward, 0);
  EXPECT_GT(times->plain, 0);
  EXPECT_LT(times->share, 0.4);
}

} // namespace
} // namespace tegula
