// SPDX-License-Identifier: MIT
// Tests of the intervals of packed sequences against plain loops.
#include "harness/machine.h"
#include "support/test_device.h"
#include "support/test_tensor.h"
#include "tegula/packed.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace tegula::testing {
namespace {

struct Lengths {
  std::vector<int> q, k;
};

std::vector<int32_t> offsetsOf(const std::vector<int> &lengths) {
  std::vector<int32_t> offsets = {0};
  for (const int length : lengths)
    offsets.push_back(offsets.back() + length);
  return offsets;
}

/// Returns which of `others` other positions each of `count` positions sees, [count, others].
std::vector<std::vector<bool>> seenBy(const std::vector<int32_t> &own, const std::vector<int32_t> &other, int count,
                                      int others, int before, int after) {
  std::vector<std::vector<bool>> seen;
  seen.resize(size_t(count), std::vector<bool>(static_cast<size_t>(others)));
  for (size_t s = 0; s + 1 < own.size(); ++s)
    for (int i = own[s]; i < own[s + 1]; ++i)
      for (int j = other[s]; j < other[s + 1]; ++j) {
        const int distance = (j - other[s + 1]) - (i - own[s + 1]);
        seen[size_t(i)][size_t(j)] = (before < 0 || distance >= -before) && (after < 0 || distance <= after);
      }
  return seen;
}

void expectIntervals(const TestTensor &begins, const TestTensor &ends, const std::vector<std::vector<bool>> &seen) {
  const std::vector<float> begin = begins.numbers(), end = ends.numbers();
  EXPECT_TRUE(std::ranges::is_sorted(begin) && std::ranges::is_sorted(end));
  for (size_t i = 0; i < seen.size(); ++i)
    for (size_t j = 0; j < seen[i].size(); ++j)
      ASSERT_EQ(begin[i] <= float(j) && float(j) < end[i], seen[i][j]) << i << " sees " << j;
  EXPECT_TRUE(begins.surroundingsIntact() && ends.surroundingsIntact());
}

void runAndExpect(const Lengths &lengths, int left, int right, int unused = 0) {
  const std::vector<int32_t> of_q = offsetsOf(lengths.q), of_k = offsetsOf(lengths.k);
  const int queries = of_q.back() + unused, keys = of_k.back() + unused;
  const auto numbers = [](int64_t count) {
    return TestTensor({count}, Layout::contiguous, Poison::nan, std::vector<int32_t>(size_t(count), -7));
  };
  const TestTensor q({int64_t(of_q.size())}, Layout::contiguous, Poison::nan, of_q),
      k({int64_t(of_k.size())}, Layout::contiguous, Poison::nan, of_k),
      begin = numbers(queries), end = numbers(queries), query_begin = numbers(keys), query_end = numbers(keys);
  const Expected<PlanSpec> spec = packedIntervals();
  require(spec.status());
  const Plan plan = valueOf(Plan::make(*spec, *machine().cache));
  require(plan.launch({{"offsets_q", q.ref()},
                       {"offsets_k", k.ref()},
                       {"left", int32_t(left)},
                       {"right", int32_t(right)},
                       {"begin", begin.ref()},
                       {"end", end.ref()},
                       {"query_begin", query_begin.ref()},
                       {"query_end", query_end.ref()}}));
  require(machine().device->synchronize());
  expectIntervals(begin, end, seenBy(of_q, of_k, queries, keys, left, right));
  expectIntervals(query_begin, query_end, seenBy(of_k, of_q, keys, queries, right, left));
}

TEST(Packed, WindowsAndCausalMasks) {
  const Lengths lengths = {{20, 5, 0, 37, 3}, {33, 2, 7, 37, 0}};
  for (const auto &[left, right] :
       {std::pair(-1, -1), {-1, 0}, {4, 0}, {7, 3}, {-1, 2}, {0, -1}, {0x7fffffff, 0x7fffffff}})
    runAndExpect(lengths, left, right, 3);
}

TEST(Packed, ManySequences) {
  std::mt19937 random(1);
  Lengths lengths;
  for (int n = 0; n < 150; ++n) {
    lengths.q.push_back(int(random() % 3 == 0 ? 0 : random() % 9));
    lengths.k.push_back(int(random() % 4 == 0 ? 0 : random() % 9));
  }
  runAndExpect(lengths, -1, 0);
}

TEST(Packed, EmptySequences) {
  runAndExpect({{0, 0}, {0, 3}}, -1, -1, 2);
  runAndExpect({{0, 4}, {0, 0}}, -1, 0);
}

} // namespace
} // namespace tegula::testing
