// SPDX-License-Identifier: MIT
// Runs attention with a producer and consumers lane by lane on the host. There must be no synchronisation error, and
// the results must have the same bits for every layout of the tensors in memory.
#include "compiler/client/InProcessCompiler.h"
#include "tegula/attention.h"
#include "tegula/simt_device.h"
#include "tegula/variant_trial.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace tegula {
namespace {

constexpr int64_t kQueries = 100, kKeys = 200;

/// A bf16 tensor [1, heads, length, dim] with `gap` unused elements after each row.
class Matrix {
public:
  Matrix(int64_t heads, int64_t length, int64_t dim, int64_t gap, unsigned seed)
      : view_{.dtype = bf16,
              .rank = 4,
              .shape = {1, heads, length, dim},
              .strides = {heads * length * (dim + gap), length * (dim + gap), dim + gap, 1}},
        memory_(static_cast<size_t>(view_.strides[0]), kNan) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<float> number(-2, 2);
    for (uint16_t &element : elements())
      element = static_cast<uint16_t>(std::bit_cast<uint32_t>(number(random)) >> 16);
  }

  TensorRef view() {
    view_.data = memory_.data();
    return view_;
  }

  std::vector<std::reference_wrapper<uint16_t>> elements() {
    std::vector<std::reference_wrapper<uint16_t>> all;
    for (int64_t row = 0; row < view_.shape[1] * view_.shape[2]; ++row)
      for (int64_t column = 0; column < view_.shape[3]; ++column)
        all.emplace_back(memory_[static_cast<size_t>(row * view_.strides[2] + column)]);
    return all;
  }

private:
  static constexpr uint16_t kNan = 0x7fff; ///< Fills the gaps. Results that depend on a gap are NaN.

  TensorRef view_;
  std::vector<uint16_t> memory_;
};

/// The parameters of one launch.
struct Setting {
  int64_t dim = 64;
  Causal causal = Causal::none;
  Schedule schedule = {};
  int64_t gap = 0; ///< Unused elements after each row.
  int64_t concurrency = 3;
  std::vector<TensorRef> bias = {}; ///< At most one tensor, of bf16.
  int64_t queries = kQueries;
};

/// Returns the output of a launch.
std::vector<uint16_t> attention(const Setting &setting) {
  SimtOptions options;
  options.concurrency = setting.concurrency;
  options.arch = "sm_90a";
  Expected<std::shared_ptr<SimtDevice>> device = simtDevice(options);
  auto compiler = makeInProcessCompiler();
  KernelCache cache(*compiler, *device);
  const int64_t dim = setting.dim, gap = setting.gap, queries = setting.queries;
  AttentionProblem problem{
      .dtype = bf16, .head_dim = static_cast<int>(dim), .value_dim = static_cast<int>(dim), .causal = setting.causal};
  if (!setting.bias.empty())
    problem.variant = additiveBias(bf16);
  Expected<AttentionPlan> plan = AttentionPlan::make(problem, cache, setting.schedule);
  if (!plan) {
    ADD_FAILURE() << plan.status().message();
    return {};
  }
  Matrix q(2, queries, dim, gap, 1), k(1, kKeys, dim, gap, 2), v(1, kKeys, dim, gap, 3), o(2, queries, dim, gap, 4);
  std::vector<float> lse(2 * queries);
  alignas(64) std::array<unsigned char, 64> workspace;
  workspace.fill(0xff);
  const Status status = plan->forward({.q = q.view(),
                                       .k = k.view(),
                                       .v = v.view(),
                                       .o = o.view(),
                                       .lse = contiguous(lse.data(), f32, {1, 2, queries}),
                                       .scale = 0.125f,
                                       .variant_tensors = setting.bias},
                                      {workspace.data(), int64_t(workspace.size())});
  EXPECT_TRUE(status.ok()) << status.message();
  const auto elements = o.elements();
  return {elements.begin(), elements.end()};
}

std::vector<uint16_t> attention(int64_t dim, Causal causal, const Schedule &schedule, int64_t gap,
                                int64_t concurrency = 3) {
  return attention({.dim = dim, .causal = causal, .schedule = schedule, .gap = gap, .concurrency = concurrency});
}

const Schedule kRoles{.block_m = 64, .block_n = 64, .num_warps = 4, .num_stages = 2, .roles = Roles::load};

TEST(Roles, WhereTmaCannotAddressTheTensorsTheProducerMovesElements) {
  EXPECT_EQ(attention(64, Causal::none, kRoles, 3), attention(64, Causal::none, kRoles, 0));
}

TEST(Roles, RowsOfTmaMayHaveGaps) {
  EXPECT_EQ(attention(64, Causal::bottom_right, kRoles, 8), attention(64, Causal::bottom_right, kRoles, 0));
}

TEST(Roles, HeadsThatAreNoWholePanelArePadded) {
  EXPECT_EQ(attention(40, Causal::top_left, kRoles, 3), attention(40, Causal::top_left, kRoles, 0));
}

TEST(Roles, WarpgroupsAndStagesChangeNoBit) {
  Schedule twoGroups{.block_m = 128, .block_n = 64, .num_warps = 8, .num_stages = 3, .roles = Roles::load};
  EXPECT_EQ(attention(64, Causal::bottom_right, twoGroups, 0), attention(64, Causal::bottom_right, kRoles, 0));
}

TEST(Roles, InstancesThatShareAMultiprocessorChangeNoBit) {
  Schedule shared = kRoles;
  shared.instances_per_sm = 3;
  EXPECT_EQ(attention(64, Causal::bottom_right, shared, 0), attention(64, Causal::bottom_right, kRoles, 0));
}

TEST(Roles, ProductsThatOverlapChangeNoBit) {
  Schedule overlapped = kRoles;
  overlapped.overlap = Overlap::pingpong;
  EXPECT_EQ(attention(64, Causal::bottom_right, overlapped, 0), attention(64, Causal::bottom_right, kRoles, 0));
  overlapped.block_m = 128;
  overlapped.num_warps = 8;
  EXPECT_EQ(attention(64, Causal::none, overlapped, 0), attention(64, Causal::none, kRoles, 0));
}

TEST(Roles, LhsInRegistersChangesNoBit) {
  Schedule lhsInRegisters = kRoles;
  lhsInRegisters.overlap = Overlap::pingpong;
  lhsInRegisters.lhs_in_registers = true;
  for (int64_t dim : {64, 40, 128})
    EXPECT_EQ(attention(dim, Causal::bottom_right, lhsInRegisters, 0), attention(dim, Causal::bottom_right, kRoles, 0))
        << dim;
  lhsInRegisters.tile_scheduler = TileScheduler::static_persistent;
  EXPECT_EQ(attention(64, Causal::none, lhsInRegisters, 0), attention(64, Causal::none, kRoles, 0));
  EXPECT_EQ(attention(64, Causal::none, lhsInRegisters, 3), attention(64, Causal::none, kRoles, 0));
}

TEST(Roles, TheOrderOfBlocksChangesNoBit) {
  const std::vector<uint16_t> expected = attention(64, Causal::bottom_right, kRoles, 0);
  Schedule order = kRoles;
  order.heads_in_l2 = 2;
  EXPECT_EQ(attention(64, Causal::bottom_right, order, 0), expected);
  order = kRoles;
  order.tile_scheduler = TileScheduler::static_persistent;
  for (int64_t concurrency : {1, 3, 100})
    EXPECT_EQ(attention(64, Causal::bottom_right, order, 0, concurrency), expected) << concurrency;
}

TEST(Roles, TheOrderOfManyBlocksChangesNoBit) {
  Setting setting{.causal = Causal::bottom_right, .schedule = kRoles, .queries = 600}; // More than 8 blocks a head.
  const std::vector<uint16_t> expected = attention(setting);
  setting.schedule.tile_scheduler = TileScheduler::static_persistent;
  for (int64_t concurrency : {1, 3, 7, 100}) {
    setting.concurrency = concurrency;
    EXPECT_EQ(attention(setting), expected) << concurrency;
  }
}

TEST(Roles, DynamicBlocksChangeNoBit) {
  for (int64_t dim : {64, 128})
    for (Causal causal : {Causal::none, Causal::bottom_right}) {
      Setting setting{.dim = dim, .causal = causal, .schedule = kRoles, .queries = 600};
      const std::vector<uint16_t> expected = attention(setting);
      setting.schedule.tile_scheduler = TileScheduler::dynamic_persistent;
      for (auto [heads, concurrency] : {std::pair(0, 1), std::pair(0, 100), std::pair(2, 3), std::pair(3, 7)}) {
        setting.schedule.heads_in_l2 = heads;
        setting.concurrency = concurrency;
        EXPECT_EQ(attention(setting), expected) << dim << " " << heads << " " << concurrency;
      }
      setting.gap = 3; // A warp copies instead of TMA.
      EXPECT_EQ(attention(setting), expected) << dim;
    }
}

TEST(Roles, DynamicBlocksOfAnyNumberOfWarpgroupsChangeNoBit) {
  for (int groups : {1, 2, 3}) {
    Setting setting{.causal = Causal::bottom_right, .schedule = kRoles};
    setting.schedule.block_m = 64 * groups;
    setting.schedule.num_warps = 4 * groups;
    const std::vector<uint16_t> expected = attention(setting);
    setting.schedule.tile_scheduler = TileScheduler::dynamic_persistent;
    EXPECT_EQ(attention(setting), expected) << groups;
    setting.schedule.overlap = Overlap::pingpong;
    for (bool lhsInRegisters : {false, true})
      for (int64_t gap : {0, 3}) {
        setting.schedule.lhs_in_registers = lhsInRegisters;
        setting.gap = gap;
        EXPECT_EQ(attention(setting), expected) << groups << " " << lhsInRegisters << " " << gap;
      }
  }
}

/// Returns the output with a bias of these strides that begins at element `shift` of its memory. TMA cannot address the
/// bias unless the shift is a multiple of 8.
std::vector<uint16_t> withBias(Setting setting, const std::array<int64_t, 4> &strides, int64_t shift) {
  std::vector<uint16_t> memory(static_cast<size_t>(shift + 2 * kQueries * (kKeys + 8)));
  std::mt19937 random(6);
  std::uniform_real_distribution<float> number(-3, 3);
  for (size_t i = static_cast<size_t>(shift); i < memory.size(); ++i)
    memory[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(number(random)) >> 16);
  TensorRef bias{.data = memory.data() + shift, .dtype = bf16, .rank = 4, .shape = {1, 2, kQueries, kKeys}};
  std::copy(strides.begin(), strides.end(), bias.strides);
  setting.bias = {bias};
  return attention(setting);
}

TEST(Roles, ABiasThatTmaCannotAddressChangesNoBit) {
  Setting setting{.causal = Causal::bottom_right, .schedule = kRoles};
  Setting static_persistent = setting, dynamic = setting, wide = setting;
  static_persistent.schedule.tile_scheduler = TileScheduler::static_persistent;
  wide.schedule.block_n = 80; // More than one panel, the last one not full.
  const std::array<int64_t, 4> strides[] = {{0, kQueries * kKeys, kKeys, 1},
                                            {0, kQueries * (kKeys + 8), kKeys + 8, 1},
                                            {0, 0, kKeys, 1},  // One bias for all heads.
                                            {0, kKeys, 0, 1}}; // One bias for all queries.
  dynamic.schedule.tile_scheduler = TileScheduler::dynamic_persistent;
  for (const Setting &each : {setting, static_persistent, dynamic, wide})
    for (const std::array<int64_t, 4> &stride : strides)
      EXPECT_EQ(withBias(each, stride, 0), withBias(each, stride, 1));
}

TEST(Roles, ABiasIsAdded) {
  const Setting setting{.schedule = kRoles};
  EXPECT_NE(withBias(setting, {0, kQueries * kKeys, kKeys, 1}, 0), attention(setting));
}

/// A score that depends on the distance to the key in two ways has a branch of its own, besides that of the mask.
TEST(Roles, ScoresWithTheirOwnBranch) {
  VariantTrial trial;
  trial.shape = {.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 256, .seqlen_k = 256};
  trial.schedule = {.block_m = 128,
                    .block_n = 64,
                    .num_warps = 8,
                    .num_stages = 2,
                    .roles = Roles::load,
                    .overlap = Overlap::pingpong,
                    .optimistic_softmax = true};
  trial.problem = {.dtype = bf16, .head_dim = 64, .value_dim = 64};
  trial.problem.variant = {.name = "near_or_far"};
  trial.problem.variant.score = [](Value score, const ScoreIndex &at, VariantViews) {
    return 5.0 * tanh(score / 5.0) + select(at.query - at.key < 16, 0.5, -0.5);
  };
  trial.plain.score = [](double score, const ScorePosition &p) {
    return 5 * std::tanh(score / 5) + (p.query - p.key < 16 ? 0.5 : -0.5);
  };
  const std::shared_ptr<Device> device = *simtDevice({.arch = "sm_90a"});
  const std::unique_ptr<Compiler> compiler = makeInProcessCompiler();
  KernelCache cache(*compiler, device);
  for (Causal causal : {Causal::none, Causal::top_left}) {
    trial.problem.causal = causal;
    const Expected<VariantReport> report = tryVariant(trial, cache, device);
    ASSERT_TRUE(report.ok()) << report.status().message();
    EXPECT_EQ(verdict(*report).message(), "");
  }
}

} // namespace
} // namespace tegula
