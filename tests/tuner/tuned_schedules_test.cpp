// SPDX-License-Identifier: MIT
// Tests which schedule a plan gets.
#include "tegula/tuned_schedules.h"

#include <gtest/gtest.h>

namespace tegula {
namespace {

AttentionProblem problem(AttentionShape shape) {
  return {.dtype = bf16, .head_dim = 64, .value_dim = 64, .expected = shape};
}

AttentionShape shape(int64_t heads, int64_t seqlen) {
  return {.batch = 1, .heads = heads, .kv_heads = heads, .seqlen_q = seqlen, .seqlen_k = seqlen};
}

TunedConfiguration tuned(const AttentionProblem &problem, int block_m) {
  return {"flash2_forward", problemClass(problem), attentionSizes(problem.expected),
          toString(Schedule{.block_m = block_m, .block_n = 64})};
}

/// Returns block_m of the schedule that is found, or 0.
int rows(const TunedConfigurations &all, const AttentionProblem &problem) {
  std::optional<Schedule> schedule = tunedSchedule(all, "flash2_forward", problem);
  return schedule ? schedule->block_m : 0;
}

TEST(TunedSchedules, TheNearestShapeOfTheProblemCounts) {
  TunedConfigurations all;
  all.add(tuned(problem(shape(16, 1024)), 64));
  all.add(tuned(problem(shape(16, 8192)), 128));
  auto found = [&](int64_t heads, int64_t seqlen) { return rows(all, problem(shape(heads, seqlen))); };
  EXPECT_EQ(found(16, 1000), 64);
  EXPECT_EQ(found(16, 8192), 128);
  EXPECT_EQ(found(16, 512), 64);
  EXPECT_EQ(found(16, 2048), 64);
  EXPECT_EQ(found(16, 4096), 128) << "lengths that are a factor of 8 apart leave no gap";
  EXPECT_EQ(found(16, 16384), 128);
  EXPECT_EQ(found(1, 1024), 64) << "hosts rarely know how many heads a launch will have";
  all.add(tuned(problem(shape(2, 1024)), 32));
  EXPECT_EQ(found(1, 1024), 32) << "of two that serve the lengths, the one with the nearest heads";
}

TEST(TunedSchedules, OfTwoThatAreEquallyNearTheShorterCountsWhateverTheOrder) {
  TunedConfiguration shorter = tuned(problem(shape(16, 1024)), 64), longer = tuned(problem(shape(16, 4096)), 128);
  for (bool reversed : {false, true}) {
    TunedConfigurations all;
    all.add(reversed ? longer : shorter);
    all.add(reversed ? shorter : longer);
    EXPECT_EQ(rows(all, problem(shape(16, 2048))), 64);
  }
}

TEST(TunedSchedules, LengthsThatAreFarAwayDoNotCount) {
  TunedConfigurations all;
  all.add(tuned(problem(shape(16, 1024)), 64));
  EXPECT_EQ(rows(all, problem(shape(16, 256))), 0);
  EXPECT_EQ(rows(all, problem(shape(16, 4096))), 0);
  AttentionShape one = shape(16, 1024);
  one.seqlen_k = 4096;
  EXPECT_EQ(rows(all, problem(one)), 0) << "each length has to be near";
  one.seqlen_k = 2048;
  EXPECT_EQ(rows(all, problem(one)), 64);
}

TEST(TunedSchedules, DecodingAndPrefillingAreApart) {
  auto lengths = [](int64_t seqlen_q) {
    AttentionShape lengths = shape(16, 4096);
    lengths.seqlen_q = seqlen_q;
    return problem(lengths);
  };
  TunedConfigurations decode;
  decode.add(tuned(lengths(1), 16));
  EXPECT_EQ(rows(decode, lengths(1)), 16);
  EXPECT_EQ(rows(decode, lengths(2)), 16);
  EXPECT_EQ(rows(decode, lengths(4096)), 0) << "a prefill takes nothing from a decode step";
  TunedConfigurations several;
  several.add(tuned(lengths(16), 16));
  several.add(tuned(lengths(64), 64));
  EXPECT_EQ(rows(several, lengths(8)), 16);
  EXPECT_EQ(rows(several, lengths(17)), 64) << "16 queries fill one smallest block, 17 do not";
}

TEST(TunedSchedules, ATextThatIsNoScheduleDoesNotCount) {
  TunedConfigurations all;
  TunedConfiguration stale = tuned(problem(shape(16, 1024)), 64);
  stale.text += " forgotten=1";
  all.add(stale);
  EXPECT_EQ(rows(all, problem(shape(16, 1024))), 0);
}

Variant unnamed(Variant variant) {
  variant.name = "";
  return variant;
}

TEST(TunedSchedules, EachVariantHasItsOwn) {
  const Variant variants[] = {
      {},
      softcap(30),
      alibi(Alignment::top_left),
      slidingWindow(64, 0, Alignment::top_left),
      slidingWindow(1024, 0, Alignment::top_left),
      slidingWindow(1024, 1024, Alignment::top_left),
      prefixLm(Alignment::top_left),
      documents(),
      additiveBias(bf16),
      additiveBias(f32),
      maskTensor(),
      givenWindow(Alignment::top_left),
      keyIntervals(),
      combine(softcap(30), alibi(Alignment::top_left)),
      {.name = "softcap"},
      {.name = "softcap", .mask = [](const ScoreIndex &at, VariantViews) { return at.key > 0; }}};
  auto with = [](const Variant &variant) {
    AttentionProblem problem = tegula::problem(shape(16, 1024));
    problem.variant = variant;
    return problem;
  };
  for (const Variant &mine : variants)
    for (const Variant &other : variants) {
      TunedConfigurations all;
      all.add(tuned(with(mine), 64));
      EXPECT_EQ(rows(all, with(other)), &mine == &other ? 64 : 0)
          << problemClass(with(mine)) << " for " << problemClass(with(other));
    }
}

TEST(TunedSchedules, NumbersThatChangeNeitherRegistersNorBlocksDoNotMatter) {
  auto shares = [](const Variant &mine, const Variant &other) {
    AttentionProblem problem = tegula::problem(shape(16, 1024));
    problem.variant = mine;
    TunedConfigurations all;
    all.add(tuned(problem, 64));
    problem.variant = other;
    return rows(all, problem) == 64;
  };
  EXPECT_TRUE(shares(softcap(30), softcap(50)));
  EXPECT_TRUE(shares(softcap(30), combine({}, softcap(30)))) << "as the C interface makes them";
  EXPECT_TRUE(shares(alibi(Alignment::top_left), alibi(Alignment::bottom_right)));
  EXPECT_TRUE(shares(slidingWindow(1000, 0, Alignment::top_left), slidingWindow(1024, 0, Alignment::bottom_right)));
  EXPECT_FALSE(shares(unnamed(softcap(30)), unnamed(softcap(30)))) << "a function is known by its variant's name only";
  EXPECT_FALSE(shares(combine(unnamed(softcap(30)), documents()), combine(unnamed(softcap(30)), documents())));
  EXPECT_TRUE(shares(unnamed(slidingWindow(64, 0, Alignment::top_left)), //
                     unnamed(slidingWindow(64, 0, Alignment::top_left))));
}

TEST(TunedSchedules, OtherProblemsDoNotCount) {
  TunedConfigurations all;
  all.add(tuned(problem(shape(16, 1024)), 64));
  AttentionProblem causal = problem(shape(16, 1024));
  causal.causal = Causal::top_left;
  EXPECT_FALSE(tunedSchedule(all, "flash2_forward", causal));
  AttentionProblem contained = problem(shape(16, 1024));
  contained.contain_nonfinite = true;
  EXPECT_FALSE(tunedSchedule(all, "flash2_forward", contained)) << "it needs more registers and shared memory";
  EXPECT_FALSE(tunedSchedule(all, "flash2_backward", problem(shape(16, 1024))));
}

TEST(TunedSchedules, APlanTakesThemUnlessItIsGivenASchedule) {
  TunedConfigurations all;
  AttentionProblem plain = problem(shape(16, 1024));
  all.add(tuned(plain, 48));
  Target cpu;
  EXPECT_EQ(resolve(plain, "flash2_forward", cpu, {}, &all)->schedule.block_m, 48);
  EXPECT_EQ(resolve(plain, "flash2_forward", cpu, {}, &all)->config.block_m, 48);
  EXPECT_EQ(resolve(plain, "flash2_forward", cpu, {.block_n = 32}, &all)->schedule.block_m, 96);
  EXPECT_EQ(resolve(plain, "flash2_forward", cpu)->schedule.block_m, 96);
  EXPECT_EQ(resolve(plain, "flash2_backward", cpu, {}, &all)->schedule.block_m, 96);
}

} // namespace
} // namespace tegula
