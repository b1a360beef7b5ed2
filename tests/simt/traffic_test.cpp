// SPDX-License-Identifier: MIT
// Tests counts of bank conflicts and sectors, with patterns whose counts are known.
#include "lanes.h"

#include <gtest/gtest.h>

using namespace tegula;
using namespace tegula::test;

namespace {

void expectTraffic(SimtKernel kernel, uint32_t site, int64_t transactions, int64_t ideal) {
  const Outcome outcome =
      run({.kernel = kernel, .in = randomWords(4096, 1), .shared_bytes = 8192, .schedule = {.count_traffic = true}});
  for (const SimtTraffic &traffic : outcome.traffic)
    if (traffic.site.number == site) {
      EXPECT_EQ(traffic.requests, 1);
      EXPECT_EQ(traffic.transactions, transactions);
      EXPECT_EQ(traffic.ideal, ideal);
      return;
    }
  FAIL() << "nothing was counted";
}

template <uint32_t Stride> void writeWords(const Me &me) { me.write(2, 4 * Stride * me.thread(), 0); }
TEST(SimtTraffic, WordsInDifferentBanks) { expectTraffic(asKernel<writeWords<1>>, 2, 1, 1); }
TEST(SimtTraffic, WordsInTwoOfEachBank) { expectTraffic(asKernel<writeWords<2>>, 2, 2, 1); }
TEST(SimtTraffic, WordsInOneBank) { expectTraffic(asKernel<writeWords<32>>, 2, 32, 1); }

template <uint32_t Stride> void writeVectors(const Me &me) {
  me.ops->store_shared(me.lane, 2, 1, kSimtSharedBase + Stride * me.thread(), 16, "0123456789abcdef");
}
TEST(SimtTraffic, VectorsInARow) { expectTraffic(asKernel<writeVectors<16>>, 2, 4, 4); }
TEST(SimtTraffic, VectorsInAColumn) { expectTraffic(asKernel<writeVectors<128>>, 2, 32, 4); }

/// Loads from rows of 128 bytes. `Swizzled` moves each row's 16 bytes to other banks.
template <bool Swizzled> void loadMatrix(const Me &me) {
  const uint32_t row = me.thread(), chunk = Swizzled ? row % 8 : 0;
  const uint32_t address = kSimtSharedBase + 128 * row + 16 * chunk;
  me.ops->store_shared(me.lane, 2, 1, address, 16, "0123456789abcdef");
  me.ops->barrier_warp(me.lane, 3);
  uint32_t words[4];
  me.ops->load_matrices(me.lane, 4, address, 4, 0, words);
}
TEST(SimtTraffic, MatricesWithoutSwizzle) { expectTraffic(asKernel<loadMatrix<false>>, 4, 32, 4); }
TEST(SimtTraffic, MatricesWithSwizzle) { expectTraffic(asKernel<loadMatrix<true>>, 4, 4, 4); }

template <uint32_t Stride> void loadGlobally(const Me &me) {
  uint32_t value = 0;
  me.ops->load(me.lane, 2, me.thread() < 16, me.in(Stride * me.thread()), 4, &value);
}
TEST(SimtTraffic, SectorsOfNeighbours) { // 64 bytes in two sectors, or three if they begin inside one.
  const Outcome outcome =
      run({.kernel = asKernel<loadGlobally<1>>, .in = randomWords(64, 1), .schedule = {.count_traffic = true}});
  ASSERT_EQ(outcome.traffic.size(), 1U);
  EXPECT_TRUE(outcome.traffic.front().global);
  EXPECT_LE(outcome.traffic.front().transactions, 3);
  EXPECT_EQ(outcome.traffic.front().ideal, 2);
}
TEST(SimtTraffic, SectorsOfDistantWords) { expectTraffic(asKernel<loadGlobally<8>>, 2, 16, 2); }

} // namespace
