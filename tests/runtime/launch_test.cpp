// SPDX-License-Identifier: MIT
#include "fixture.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <immintrin.h>
#include <limits>
#include <set>
#include <thread>

using namespace tegula;
using namespace tegula::test;

namespace {

/// Launches `count` on a grid and returns how often each instance ran.
std::vector<int32_t> countInstances(const Kernel &count, Grid grid) {
  std::vector<int32_t> counts(std::max<int64_t>(grid.x * grid.y * grid.z, 1));
  EXPECT_OK(count.launch(grid, {view(counts)}));
  return counts;
}

TEST(Launch, RunsEachInstanceOnce) {
  for (const int threads : {1, 2, 3, 8}) {
    const auto count = load(makeDevice(threads), artifact("count", {written("counts", i32)}));
    for (const Grid grid : {Grid{1, 1, 1}, Grid{2, 1, 1}, Grid{1, 7, 1}, Grid{3, 5, 7}, Grid{13, 11, 17},
                            Grid{1, 1, 64}, Grid{10007, 1, 1}, Grid{255, 1, 257}, Grid{101, 103, 7}}) {
      const std::vector<int32_t> counts = countInstances(*count, grid);
      EXPECT_TRUE(std::all_of(counts.begin(), counts.end(), [](int32_t n) { return n == 1; }))
          << grid.x << " x " << grid.y << " x " << grid.z << " on " << threads << " threads";
    }
  }
}

TEST(Launch, RunsNothingForAnEmptyGrid) {
  const int64_t most = std::numeric_limits<int32_t>::max();
  const auto count = load(makeDevice(), artifact("count", {written("counts", i32)}));
  for (const Grid grid : {Grid{0, 1, 1}, Grid{1, 0, 1}, Grid{0, 0, 0}, Grid{most, most, 0}})
    EXPECT_EQ(countInstances(*count, {grid.x, grid.y, grid.z}), std::vector<int32_t>{0});
}

TEST(Launch, PassesShapesStridesScalarsAndGrid) {
  const auto echo = load(makeDevice(1), artifact("echo", {tensor("a", f32, 2), scalar("f", f32), scalar("i", i32),
                                                          scalar("l", i64), written("out", i64)}));
  std::vector<float> a(12);
  a[2] = 7.0f;
  std::vector<int64_t> out(11);
  TensorRef view2 = contiguous(a.data(), f32, {2, 3});
  view2.strides[0] = 6;
  view2.strides[1] = 2;
  ASSERT_TRUE(echo->launch({2, 3, 5}, {view2, 1.0f, -2, int64_t{1} << 40, view(out)}).ok());
  EXPECT_EQ(out, (std::vector<int64_t>{2, 3, 6, 2, 0x3f800000, -2, int64_t{1} << 40, 2, 3, 5, 1}));
}

TEST(Launch, TakesNoArgumentsForAKernelWithoutParameters) {
  const auto nothing = load(makeDevice(), artifact("nothing", {}));
  EXPECT_OK(nothing->launch({5}, {}));
}

TEST(Launch, GivesEachThreadAlignedScratchThatGrows) {
  const auto device = makeDevice(4);
  for (const int64_t bytes : {0, 1, 63, 4096, 100000, 64}) {
    const auto kernel = load(device, artifact("fill_scratch", {scalar("bytes", i64), written("offsets", i64)}, bytes));
    std::vector<int64_t> offsets(500, -1);
    EXPECT_OK(kernel->launch({500}, {bytes, view(offsets)}));
    EXPECT_EQ(offsets, std::vector<int64_t>(500, 0));
  }
}

TEST(Launch, RefusesScratchThatDoesNotFitIntoMemory) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  const auto device = makeDevice(2);
  const auto kernel = load(device, artifact("count", {written("counts", i32)}, most));
  std::vector<int32_t> counts(2);
  EXPECT_ERROR(kernel->launch({2}, {view(counts)}), ErrorCode::resource_exhausted,
               "kernel 'count': no memory for 9223372036854775807 bytes of scratch");
  EXPECT_EQ(counts, std::vector<int32_t>(2, 0));
  EXPECT_OK(load(device, artifact("count", {written("counts", i32)}))->launch({2}, {view(counts)}));
}

TEST(Launch, UsesAsManyThreadsAsAsked) {
  const auto kernel = load(makeDevice(5), artifact("rendezvous", {written("arrived", i32)}));
  std::vector<int32_t> arrived(1);
  EXPECT_OK(kernel->launch({5}, {view(arrived)}));
  EXPECT_EQ(arrived[0], 5);
}

TEST(Launch, UsesNoMoreThreadsThanAsked) {
  for (const int threads : {1, 3}) {
    const auto kernel = load(makeDevice(threads), artifact("identify", {written("threads", i64)}));
    std::vector<int64_t> seen(2000);
    EXPECT_OK(kernel->launch({2000}, {view(seen)}));
    EXPECT_LE(std::set<int64_t>(seen.begin(), seen.end()).size(), static_cast<size_t>(threads));
  }
}

TEST(Launch, IsLegalFromManyThreadsAtATime) {
  const auto device = makeDevice(3);
  const auto count = load(device, artifact("count", {written("counts", i32)}));
  const auto rendezvous = load(device, artifact("rendezvous", {written("arrived", i32)}));
  const auto host = [&](int64_t instances) {
    for (int round = 0; round < 50; ++round) {
      std::vector<int32_t> counts(instances);
      EXPECT_OK(count->launch({instances}, {view(counts)}));
      EXPECT_EQ(counts, std::vector<int32_t>(instances, 1));
    }
    std::vector<int32_t> arrived(1);
    EXPECT_OK(rendezvous->launch({1}, {view(arrived)}));
  };
  std::vector<std::thread> hosts;
  for (int i = 0; i < 8; ++i)
    hosts.emplace_back(host, 97 * i + 1);
  for (std::thread &thread : hosts)
    thread.join();
}

TEST(Launch, ComputesInTheDefaultFloatingPointEnvironment) {
  const auto halve = load(makeDevice(4), artifact("halve", {scalar("x", f32), written("out", f32)}));
  const float smallest = std::numeric_limits<float>::min();
  std::vector<float> out(1000);
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8040); // Flush subnormals to zero, as a host built with -ffast-math does.
  const Status status = halve->launch({1000}, {smallest, view(out)});
  const unsigned after = _mm_getcsr();
  _mm_setcsr(before);
  EXPECT_OK(status);
  EXPECT_EQ(after, before | 0x8040);
  EXPECT_EQ(out, std::vector<float>(1000, std::numeric_limits<float>::denorm_min() * (1 << 22)));
}

TEST(Launch, OutlivesTheDevice) {
  auto device = makeDevice(2);
  const auto count = load(device, artifact("count", {written("counts", i32)}));
  device.reset();
  EXPECT_EQ(countInstances(*count, {100, 1, 1}), std::vector<int32_t>(100, 1));
}

TEST(Launch, RefusesAForeignStream) {
  const auto nothing = load(makeDevice(), artifact("nothing", {}));
  int stream = 0;
  EXPECT_ERROR(nothing->launch({1}, {}, {&stream}), ErrorCode::invalid_argument,
               "kernel 'nothing': the cpu has only the default stream, whose handle is null");
}

} // namespace
