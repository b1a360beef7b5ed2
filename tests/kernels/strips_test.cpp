// SPDX-License-Identifier: MIT
// Tests of the lists of blocks that sequences which lie one after another have.
#include "harness/machine.h"
#include "kernels/strips.h"
#include "support/test_device.h"
#include "support/test_tensor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tegula::testing {
namespace {

constexpr int kBlock = 16;

struct Rows {
  int begin, end;
  int length() const { return end - begin; }
};

/// Returns the listed blocks in their order, as far as the list has room for them.
std::vector<Rows> listedBlocks(const std::vector<int32_t> &offsets, int rows, Pass pass) {
  const AttentionConfig config{
      .head_dim = 8, .value_dim = 8, .variant = packedSequences(), .block_m = kBlock, .block_n = kBlock};
  const Program program = valueOf(pass == Pass::forward ? recordStripsOfQueries(config) : recordStripsOfKeys(config));
  const Sizes sizes = {{"rows", rows}, {"offsets", int64_t(offsets.size())}};
  const int64_t most = *evaluate(mostStrips(Size("rows"), kBlock, Size("offsets")), sizes);
  EXPECT_LE(most, *evaluate(mostStrips(Size("rows"), kBlock), sizes));
  const TestTensor tensor(bf16, {1, 1, rows, 8}, Layout::contiguous, Poison::nan),
      list({2, 1 + most}, Layout::contiguous, Poison::nan, std::vector<int32_t>(size_t(2 * (1 + most)), -7)),
      of({int64_t(offsets.size())}, Layout::contiguous, Poison::nan, offsets);
  const auto kernel = valueOf(machine().cache->get(program.text));
  require(kernel->launch({int64_t(offsets.size()), 1, 1}, {tensor.ref(), list.ref(), of.ref()}));
  require(machine().device->synchronize());
  EXPECT_TRUE(list.surroundingsIntact());
  const std::vector<float> numbers = list.numbers();
  const auto count = int64_t(numbers[0]);
  std::vector<Rows> blocks;
  for (int64_t n = 1; n <= std::min(count, most); ++n)
    blocks.push_back({int(numbers[size_t(n)]), int(numbers[size_t(n + 1 + most)])});
  return blocks;
}

/// Checks that each row is in one block, and each block in one long sequence or between such.
void expectBlocksOf(const std::vector<int32_t> &offsets, int rows) {
  for (Pass pass : {Pass::forward, Pass::backward}) {
    std::vector<int> times(static_cast<size_t>(rows));
    for (const auto &[begin, end] : listedBlocks(offsets, rows, pass)) {
      EXPECT_LE(end - begin, kBlock);
      for (int row = begin; row < end; ++row)
        ++times.at(size_t(row));
      for (size_t s = 0; s + 1 < offsets.size(); ++s)
        if (offsets[s + 1] - offsets[s] >= 2 * kBlock && begin < offsets[s + 1] && end > offsets[s])
          EXPECT_TRUE(begin >= offsets[s] && end <= offsets[s + 1]) << begin << " to " << end;
    }
    EXPECT_EQ(std::ranges::count(times, 1), rows);
  }
}

TEST(Strips, LongSequencesHaveBlocksOfTheirOwn) {
  expectBlocksOf({0, 100, 110, 115, 300, 364, 370}, 370);
  expectBlocksOf({0, 64, 128, 193, 193, 193, 300}, 333);
  expectBlocksOf({0, 5, 5, 90, 91, 200}, 200);
}

TEST(Strips, FewSequencesAndNoRows) {
  expectBlocksOf({0, 0}, 0);
  expectBlocksOf({0}, 40);
  expectBlocksOf({0, 1}, 1);
  expectBlocksOf({0, 0, 0, 500}, 500);
}

TEST(Strips, ManySequences) {
  std::mt19937 random(1);
  for (int run = 0; run < 3; ++run) {
    std::vector<int32_t> offsets = {0};
    for (int n = 0; n < 300; ++n)
      offsets.push_back(offsets.back() + int32_t(random() % 4 == 0 ? random() % 200 : random() % 20));
    expectBlocksOf(offsets, offsets.back() + int(random() % 70));
  }
}

/// Blocks of the longest sequence come first. Later queries see more keys, and earlier keys are seen by more queries.
TEST(Strips, LongestBlocksComeFirst) {
  const std::vector<int32_t> offsets = {0, 70, 170, 180};
  const std::vector<Rows> queries = listedBlocks(offsets, 180, Pass::forward),
                          keys = listedBlocks(offsets, 180, Pass::backward);
  EXPECT_EQ(queries.front().begin, 70 + 96);
  EXPECT_EQ(queries.front().length(), 4);
  EXPECT_EQ(keys.front().begin, 70);
  EXPECT_EQ(keys.front().length(), kBlock);
  EXPECT_EQ(keys.back().end, 180);
}

/// Wrong offsets give wrong results, but write nothing outside of the list.
TEST(Strips, WrongOffsetsStayInside) {
  listedBlocks({0, 500, 20, -3, 0x7fffffff}, 100, Pass::forward);
  listedBlocks({300, 200, 100, 0}, 100, Pass::backward);
}

} // namespace
} // namespace tegula::testing
