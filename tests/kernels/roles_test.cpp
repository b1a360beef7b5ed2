// SPDX-License-Identifier: MIT
// Attention with a producer and consumers, lane by lane on the host: no error of synchronisation, and the same bits
// however the tensors lie in memory.
#include "compiler/client/InProcessCompiler.h"
#include "tegula/attention.h"
#include "tegula/simt_device.h"

#include <gtest/gtest.h>

#include <bit>
#include <functional>
#include <random>
#include <vector>

namespace tegula {
namespace {

constexpr int64_t kQueries = 100, kKeys = 200;

/// Numbers of 16 bits in [1, heads, length, dim], with `gap` more between rows.
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
  static constexpr uint16_t kNan = 0x7fff; ///< Around the elements: whoever reads it shows it.

  TensorRef view_;
  std::vector<uint16_t> memory_;
};

/// The outputs of one launch whose tensors have `gap` numbers between rows.
std::vector<uint16_t> attention(int64_t dim, Causal causal, const Schedule &schedule, int64_t gap,
                                int64_t concurrency = 3) {
  SimtOptions options;
  options.concurrency = concurrency;
  options.arch = "sm_90a";
  Expected<std::shared_ptr<SimtDevice>> device = simtDevice(options);
  auto compiler = makeInProcessCompiler();
  KernelCache cache(*compiler, *device);
  const AttentionProblem problem{
      .dtype = bf16, .head_dim = static_cast<int>(dim), .value_dim = static_cast<int>(dim), .causal = causal};
  Expected<AttentionPlan> plan = AttentionPlan::make(problem, cache, schedule);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  Matrix q(2, kQueries, dim, gap, 1), k(1, kKeys, dim, gap, 2), v(1, kKeys, dim, gap, 3), o(2, kQueries, dim, gap, 4);
  std::vector<float> lse(2 * kQueries);
  const Status status = plan->forward({.q = q.view(),
                                       .k = k.view(),
                                       .v = v.view(),
                                       .o = o.view(),
                                       .lse = contiguous(lse.data(), f32, {1, 2, kQueries}),
                                       .scale = 0.125f});
  EXPECT_TRUE(status.ok()) << status.message();
  const auto elements = o.elements();
  return {elements.begin(), elements.end()};
}

constexpr Schedule kRoles{.block_m = 64, .block_n = 64, .num_warps = 4, .num_stages = 2, .num_roles = 2};

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
  Schedule twoGroups{.block_m = 128, .block_n = 64, .num_warps = 8, .num_stages = 3, .num_roles = 2};
  EXPECT_EQ(attention(64, Causal::bottom_right, twoGroups, 0), attention(64, Causal::bottom_right, kRoles, 0));
}

TEST(Roles, ProductsThatOverlapChangeNoBit) {
  Schedule overlapped = kRoles;
  overlapped.num_products = 2;
  EXPECT_EQ(attention(64, Causal::bottom_right, overlapped, 0), attention(64, Causal::bottom_right, kRoles, 0));
  overlapped.block_m = 128;
  overlapped.num_warps = 8;
  EXPECT_EQ(attention(64, Causal::none, overlapped, 0), attention(64, Causal::none, kRoles, 0));
}

TEST(Roles, TheOrderOfBlocksChangesNoBit) {
  const std::vector<uint16_t> expected = attention(64, Causal::bottom_right, kRoles, 0);
  Schedule order = kRoles;
  order.heads_per_group = 2;
  EXPECT_EQ(attention(64, Causal::bottom_right, order, 0), expected);
  order.persistent = 1;
  for (int64_t concurrency : {1, 3, 100})
    EXPECT_EQ(attention(64, Causal::bottom_right, order, 0, concurrency), expected) << concurrency;
  order.heads_per_group = 0;
  EXPECT_EQ(attention(64, Causal::bottom_right, order, 0), expected);
}

} // namespace
} // namespace tegula
