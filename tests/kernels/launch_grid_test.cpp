// SPDX-License-Identifier: MIT
#include "kernels/launch_grid.h"
#include "tegula/attention.h"

#include <gtest/gtest.h>

#include <tuple>

namespace tegula {
namespace {

std::tuple<int64_t, int64_t, int64_t> gridOf(const AttentionShape &shape, int64_t concurrency,
                                             TileScheduler scheduler = TileScheduler::static_persistent,
                                             GridRows rows = GridRows::scheduled,
                                             const std::optional<Size> &strips = {}) {
  const Schedule schedule{.block_m = 128, .block_n = 64, .tile_scheduler = scheduler};
  const Sizes sizes = {{"batch", shape.batch},       {"heads", shape.heads},       {"kv_heads", shape.kv_heads},
                       {"seqlen_q", shape.seqlen_q}, {"seqlen_k", shape.seqlen_k}, {"concurrency", concurrency}};
  const auto [x, y, z] = launchGrid(rows, schedule, strips);
  return {*evaluate(x, sizes), *evaluate(y, sizes), *evaluate(z, sizes)};
}

constexpr AttentionShape kShape{.batch = 2, .heads = 3, .kv_heads = 3, .seqlen_q = 129, .seqlen_k = 100};

TEST(LaunchGrid, HasAnInstanceForEachBlockOfQueries) {
  EXPECT_EQ(gridOf(kShape, 11, TileScheduler::single_tile), std::tuple(2, 3, 2));
}

TEST(LaunchGrid, HasNoMoreInstancesThanBlocks) {
  EXPECT_EQ(gridOf(kShape, 11), std::tuple(11, 1, 1));
  EXPECT_EQ(gridOf(kShape, 132), std::tuple(12, 1, 1));
}

TEST(LaunchGrid, IsNotEmptyWhereADeviceHoldsNoInstance) {
  EXPECT_EQ(gridOf(kShape, 0), std::tuple(1, 1, 1));
  EXPECT_EQ(gridOf({.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 0}, 0), std::tuple(0, 1, 1));
}

/// A 31-bit counter cannot count these blocks. The grid then has one instance for each, so that the device refuses it.
TEST(LaunchGrid, HasAnInstanceForEachOfTooManyBlocks) {
  constexpr int64_t kMany = int64_t(1) << 30;
  EXPECT_EQ(
      gridOf({.batch = 1, .heads = kMany, .kv_heads = 1, .seqlen_q = 128}, 132, TileScheduler::dynamic_persistent),
      std::tuple(132, 1, 1));
  EXPECT_EQ(
      gridOf({.batch = 2, .heads = kMany, .kv_heads = 1, .seqlen_q = 128}, 132, TileScheduler::dynamic_persistent),
      std::tuple(2 * kMany, 1, 1));
}

/// A device launches up to 2^31 - 1 instances. The counter must also count one number for each instance.
TEST(LaunchGrid, IsTooLargeToLaunchIfTheCounterCannotCountTheBlocks) {
  constexpr int64_t kTooMany = (int64_t(1) << 31) - 1;
  EXPECT_EQ(
      gridOf({.batch = 1, .heads = kTooMany, .kv_heads = 1, .seqlen_q = 128}, 132, TileScheduler::dynamic_persistent),
      std::tuple(int64_t(1) << 31, 1, 1));
}

TEST(LaunchGrid, HasAnInstanceForEachBlockOfKeysOfAKvHead) {
  EXPECT_EQ(gridOf(kShape, 1, TileScheduler::single_tile, GridRows::keys), std::tuple(2, 3, 2));
}

TEST(LaunchGrid, AlternatesAsManyHeadsAsRunIfBlocksOfKeysHaveAnOrder) {
  const AttentionShape shape{.batch = 3, .heads = 12, .kv_heads = 12, .seqlen_q = 4096, .seqlen_k = 4096};
  auto gridFor = [&](int64_t resident) {
    return gridOf(shape, resident, TileScheduler::single_tile, GridRows::ordered_keys);
  };
  const int64_t blocks = std::get<1>(gridFor(1));
  EXPECT_EQ(gridFor(0), std::tuple(1, blocks, 36));
  EXPECT_EQ(gridFor(blocks), std::tuple(1, blocks, 36));
  EXPECT_EQ(gridFor(blocks + 1), std::tuple(2, blocks, 18));
  EXPECT_EQ(gridFor(4 * blocks), std::tuple(4, blocks, 9));
  EXPECT_EQ(gridFor(100 * blocks), std::tuple(4, blocks, 9)); // 8 does not divide 12.
}

TEST(LaunchGrid, HasAnInstanceForEachListedBlock) {
  EXPECT_EQ(gridOf(kShape, 11, TileScheduler::single_tile, GridRows::scheduled, 7), std::tuple(7, 3, 2));
  EXPECT_EQ(gridOf(kShape, 132, TileScheduler::static_persistent, GridRows::scheduled, 7), std::tuple(42, 1, 1));
}

TEST(LaunchGrid, AlternatesFewHeadsIfBlocksOfKeysAreListed) {
  AttentionShape shape{.batch = 3, .heads = 12, .kv_heads = 12};
  auto gridFor = [&] { return gridOf(shape, 132, TileScheduler::single_tile, GridRows::keys, 7); };
  EXPECT_EQ(gridFor(), std::tuple(4, 7, 9));
  shape.kv_heads = 6;
  EXPECT_EQ(gridFor(), std::tuple(2, 7, 9));
  shape.kv_heads = 3;
  EXPECT_EQ(gridFor(), std::tuple(1, 7, 9));
}

TEST(LaunchGrid, CountsBlocksBeyond64Bits) {
  constexpr int64_t kLarge = int64_t(1) << 32;
  EXPECT_EQ(gridOf({.batch = 2, .heads = kLarge, .kv_heads = 1, .seqlen_q = 128 * kLarge}, 132), std::tuple(132, 1, 1));
  EXPECT_EQ(gridOf({.batch = 0, .heads = kLarge, .kv_heads = 1, .seqlen_q = 128 * kLarge}, 132), std::tuple(0, 1, 1));
  EXPECT_EQ(gridOf({.batch = kLarge, .heads = kLarge, .kv_heads = 1, .seqlen_q = 0}, 132), std::tuple(0, 1, 1));
}

} // namespace
} // namespace tegula
