// SPDX-License-Identifier: MIT
// Which schedule a plan gets.
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

TunedSchedule tuned(const AttentionProblem &problem, int block_m) {
  return {"flash2_forward", problemClass(problem), shapeClass(problem.expected), {.block_m = block_m, .block_n = 64}};
}

TEST(TunedSchedules, TheNearestShapeOfTheProblemCounts) {
  TunedSchedules all;
  all.add(tuned(problem(shape(16, 1024)), 64));
  all.add(tuned(problem(shape(16, 16384)), 128));
  auto rows = [&](int64_t heads, int64_t seqlen) {
    return all.find("flash2_forward", problem(shape(heads, seqlen)))->block_m;
  };
  EXPECT_EQ(rows(16, 1000), 64);
  EXPECT_EQ(rows(16, 16384), 128);
  EXPECT_EQ(rows(16, 1), 64);
  EXPECT_EQ(rows(16, 2048), 64);
  EXPECT_EQ(rows(16, 8192), 128);
  EXPECT_EQ(rows(1, 1000000), 128);
}

TEST(TunedSchedules, OtherProblemsDoNotCount) {
  TunedSchedules all;
  all.add(tuned(problem(shape(16, 1024)), 64));
  AttentionProblem causal = problem(shape(16, 1024));
  causal.causal = Causal::top_left;
  EXPECT_FALSE(all.find("flash2_forward", causal));
  EXPECT_FALSE(all.find("flash2_backward", problem(shape(16, 1024))));
  AttentionProblem capped = problem(shape(16, 1024));
  capped.variant = softcap(30);
  EXPECT_TRUE(all.find("flash2_forward", capped)) << "a variant is as fast as the problem without it";
}

TEST(TunedSchedules, APlanTakesThemUnlessItIsGivenASchedule) {
  TunedSchedules all;
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
