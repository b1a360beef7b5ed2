// SPDX-License-Identifier: MIT
// Runs the library's kernels for sm_90a, with a producer and consumers. kernels_test.cpp runs kernels for older GPUs.
#include "schedules.h"

#include <gtest/gtest.h>
#include <limits>
#include <tuple>

using namespace tegula;
using namespace tegula::testing;

namespace {

class SimtRoles : public ::testing::TestWithParam<std::tuple<DType, int, Causal>> {
protected:
  Schedules schedulesOf(Schedule schedule, int64_t queries, int64_t keys, Layout layout = Layout::contiguous) const {
    const auto [dtype, dim, causal] = GetParam();
    Case c = attentionCase(dtype, dim, queries, keys);
    c.causal = causal;
    c.backward = false;
    c.schedule = schedule;
    c.layout = layout;
    return Schedules(c, "simt:sm_90a");
  }
};

TEST_P(SimtRoles, WithTheTilesThatTheLibraryChooses) {
  Schedules schedules[] = {schedulesOf({}, 200, 300), schedulesOf({}, 300, 140), schedulesOf({}, 1, 129),
                           schedulesOf({}, 100, 260, Layout::padded)};
  for (uint64_t seed = 0; seed < kSimtSchedulers; ++seed)
    for (Schedules &some : schedules)
      some.run(seed);
}

TEST_P(SimtRoles, WithSmallTiles) {
  constexpr int64_t most = 100;
  const Schedule small{.block_m = 64, .block_n = 64, .num_warps = 4, .num_stages = 2, .roles = Roles::load};
  Schedule overlapping = small, grouped = small, static_persistent = small, dynamic = small;
  overlapping.overlap = Overlap::pingpong;
  grouped.heads_in_l2 = 2;
  static_persistent.tile_scheduler = TileScheduler::static_persistent;
  dynamic.tile_scheduler = TileScheduler::dynamic_persistent;
  Schedule lhsInRegisters = overlapping;
  lhsInRegisters.lhs_in_registers = true;
  lhsInRegisters.tile_scheduler = TileScheduler::static_persistent;
  Schedule dynamicLhs = lhsInRegisters;
  dynamicLhs.tile_scheduler = TileScheduler::dynamic_persistent;
  Schedules schedules[] = {schedulesOf(small, 65, 130),
                           schedulesOf(overlapping, 64, 192),
                           schedulesOf(grouped, 40, 5),
                           schedulesOf(lhsInRegisters, 70, 100),
                           schedulesOf(static_persistent, 70, 100),
                           schedulesOf(static_persistent, 190, 60), // Some iterations have no block.
                           schedulesOf(dynamic, 190, 100),
                           schedulesOf(dynamicLhs, 190, 100)};
  int64_t launches = 0;
  for (uint64_t seed = 0; launches < most && !HasFailure(); ++seed)
    for (Schedules &some : schedules)
      launches += some.run(seed);
}

/// Several program instances add to each tile of dQ, which the adder of each does in its turn.
TEST_P(SimtRoles, WithAdditionsInTurns) {
  const auto [dtype, dim, causal] = GetParam();
  Case c = attentionCase(dtype, dim, 200, 300);
  c.causal = causal;
  c.deterministic = true;
  Schedules chosen(c, "simt:sm_90a");
  c.layout = Layout::scattered; // The producer cannot load by TMA.
  Schedules scattered(c, "simt:sm_90a");
  for (uint64_t seed = 0; seed < kSimtSchedulers; ++seed) {
    chosen.run(seed);
    scattered.run(seed);
  }
}

/// Some scores exceed the first block's by 2^40, and some rows see nothing of the first block: some warps recompute
/// scores.
TEST_P(SimtRoles, WithRecomputedScores) {
  using oracle::Family;
  const auto [dtype, dim, causal] = GetParam();
  Case c = attentionCase(dtype, dim, 70, 260);
  c.causal = causal;
  c.backward = false;
  Schedule serial{
      .block_m = 64, .block_n = 32, .num_warps = 4, .num_stages = 2, .roles = Roles::load, .optimistic_softmax = true};
  Schedule overlapped = serial;
  overlapped.overlap = Overlap::pingpong;
  Schedule static_persistent = overlapped;
  static_persistent.lhs_in_registers = true;
  static_persistent.tile_scheduler = TileScheduler::static_persistent;
  for (const Schedule &schedule : {serial, overlapped, static_persistent})
    for (auto [variant, family] : {std::pair("none", Family::growing_max), std::pair("none", Family::growing_below),
                                   std::pair("none", Family::one_hot), std::pair("none", Family::far_down),
                                   std::pair("window_br", Family::normal), std::pair("alibi_br", Family::growing_max),
                                   std::pair("bias", Family::growing_max), std::pair("documents", Family::normal),
                                   std::pair("softcap", Family::crossing_zero)}) {
      c.schedule = schedule;
      c.variant = variant;
      c.family = family;
      Schedules schedules(c, "simt:sm_90a");
      for (uint64_t seed = 0; seed < 2; ++seed)
        schedules.run(seed);
    }
}

/// A bias may be NaN or infinite where a mask hides it: programs often do not write these elements.
TEST_P(SimtRoles, WithBiasesThatAMaskHides) {
  const auto [dtype, dim, causal] = GetParam();
  Case c = attentionCase(dtype, dim, 70, 100);
  c.causal = Causal::bottom_right;
  c.variant = "bias";
  c.backward = false;
  c.schedule = {
      .block_m = 64, .block_n = 32, .num_warps = 4, .num_stages = 2, .roles = Roles::load, .optimistic_softmax = true};
  c.schedule.overlap = causal == Causal::none ? Overlap::none : Overlap::pingpong;
  Schedules(c, "simt:sm_90a").run(0);
  Tensors hidden = makeTensors(c);
  const oracle::Shape &s = c.shape;
  std::vector<float> bias = hidden.variant.tensors[0].numbers();
  for (size_t n = 0; n < bias.size(); ++n)
    if (int64_t(n) % s.seqlen_k > int64_t(n) / s.seqlen_k % s.seqlen_q + s.seqlen_k - s.seqlen_q)
      bias[n] = n % 2 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
  hidden.variant.tensors[0] = TestTensor(dtype, {s.batch, s.heads, s.seqlen_q, s.seqlen_k}, c.layout, c.poison, bias);
  ASSERT_TRUE(launch(c, hidden).ok());
  EXPECT_EQ(check(hidden, measure(c, hidden)), ""); // The oracle knows only the finite bias.
}

std::string nameOf(const ::testing::TestParamInfo<SimtRoles::ParamType> &info) {
  const auto [dtype, dim, causal] = info.param;
  return std::string(toString(dtype)) + "_" + std::to_string(dim) + (causal == Causal::none ? "_full" : "_causal");
}

INSTANTIATE_TEST_SUITE_P(All, SimtRoles,
                         ::testing::Combine(::testing::Values(bf16, f16), ::testing::Values(64, 128),
                                            ::testing::Values(Causal::none, Causal::bottom_right)),
                         nameOf);

} // namespace
