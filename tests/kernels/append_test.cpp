// SPDX-License-Identifier: MIT
// Tests of appending against plain loops in 64 bits.
#include "harness/case.h"
#include "harness/machine.h"
#include "oracle/convert.h"
#include "support/test_device.h"
#include "support/test_tensor.h"
#include "tegula/append.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

namespace tegula::testing {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kPositions = 90; ///< Angles of fewer positions than the cache has room for.

struct Append {
  DType dtype = f32;
  int64_t heads = 4, kv_heads = 2, added = 3, queries = 2, room = 100;
  int head_dim = 24, value_dim = 16, page = 0, rotary_dim = 0;
  bool interleaved = false, rotates_queries = false, same_position = false;
  std::vector<int> lengths = {0, 97, 98, 40, 88}; ///< Before.
  CacheLengths counted = CacheLengths::before;    ///< The keys that the argument `lengths` counts.
  Layout layout = Layout::contiguous;

  int64_t batch() const { return int64_t(lengths.size()); }
  int64_t pagesOfSequence() const { return page != 0 ? (room + page - 1) / page : 1; }
  int64_t owners() const { return page != 0 ? batch() * pagesOfSequence() + 1 : batch(); }
  int64_t keysOfOwner() const { return page != 0 ? page : room; }
  AppendProblem problem() const {
    return {.dtype = dtype,
            .head_dim = head_dim,
            .value_dim = value_dim,
            .has_pages = page != 0,
            .rotary_dim = rotary_dim,
            .interleaved = interleaved,
            .rotates_queries = rotates_queries,
            .same_position = same_position,
            .lengths = counted};
  }
};

struct AppendTensors {
  explicit AppendTensors(const Append &a)
      : table(tableOf(a)), k_numbers(random(a, a.kv_heads * a.added * a.head_dim, 1)),
        v_numbers(random(a, a.kv_heads * a.added * std::max(a.value_dim, 1), 2)),
        q_numbers(random(a, a.heads * a.queries * a.head_dim, 3)),
        cos_numbers(oracle::normalNumbers(kPositions * std::max(a.rotary_dim / 2, 1), a.dtype, 4)),
        sin_numbers(oracle::normalNumbers(kPositions * std::max(a.rotary_dim / 2, 1), a.dtype, 5)),
        k_new(a.dtype, {a.batch(), a.kv_heads, a.added, a.head_dim}, a.layout, Poison::nan, k_numbers),
        v_new(a.dtype, {a.batch(), a.kv_heads, a.added, std::max(a.value_dim, 1)}, a.layout, Poison::nan, v_numbers),
        q(a.dtype, {a.batch(), a.heads, a.queries, a.head_dim}, a.layout, Poison::nan, q_numbers),
        cos(a.dtype, {kPositions, std::max(a.rotary_dim / 2, 1)}, a.layout, Poison::nan, cos_numbers),
        sin(a.dtype, {kPositions, std::max(a.rotary_dim / 2, 1)}, a.layout, Poison::nan, sin_numbers),
        lengths({a.batch()}, Layout::contiguous, Poison::nan, lengthsOf(a)),
        page_table({a.batch(), a.pagesOfSequence()}, Layout::contiguous, Poison::nan, table),
        k(a.dtype, {a.owners(), a.kv_heads, a.keysOfOwner(), a.head_dim}, a.layout, Poison::nan, before(a, a.head_dim)),
        v(a.dtype, {a.owners(), a.kv_heads, a.keysOfOwner(), std::max(a.value_dim, 1)}, a.layout, Poison::nan,
          before(a, std::max(a.value_dim, 1))),
        rotated(a.dtype, {a.batch(), a.heads, a.queries, a.head_dim}, a.layout, Poison::nan) {}

  static std::vector<float> random(const Append &a, int64_t ofSequence, int seed) {
    return oracle::normalNumbers(a.batch() * ofSequence, a.dtype, seed);
  }
  /// The numbers that a cache has before: 7 in all places.
  static std::vector<float> before(const Append &a, int64_t columns) {
    return std::vector<float>(size_t(a.owners() * a.kv_heads * a.keysOfOwner() * columns), 7.0f);
  }
  static std::vector<int32_t> lengthsOf(const Append &a) {
    std::vector<int32_t> lengths(a.lengths.begin(), a.lengths.end());
    for (int32_t &length : lengths)
      length += a.counted == CacheLengths::before ? 0 : int32_t(a.added) - (a.counted == CacheLengths::last_key);
    return lengths;
  }
  static std::vector<int32_t> tableOf(const Append &a) {
    std::vector<int32_t> pages(size_t(a.owners()));
    std::iota(pages.begin(), pages.end(), 0);
    std::shuffle(pages.begin(), pages.end(), std::mt19937(7));
    pages.resize(size_t(a.batch() * a.pagesOfSequence()));
    return pages;
  }

  std::vector<int32_t> table;
  std::vector<float> k_numbers, v_numbers, q_numbers, cos_numbers, sin_numbers;
  TestTensor k_new, v_new, q, cos, sin, lengths, page_table, k, v, rotated;
};

/// Returns a row with the angles of a position.
std::vector<double> turned(const Append &a, const AppendTensors &t, const float *row, int64_t position) {
  std::vector<double> result(row, row + a.head_dim);
  for (int64_t i = 0; i < a.rotary_dim / 2; ++i) {
    const size_t first = size_t(a.interleaved ? 2 * i : i),
                 second = first + size_t(a.interleaved ? 1 : a.rotary_dim / 2);
    const bool isThere = position >= 0 && position < kPositions;
    const size_t at = size_t(position * (a.rotary_dim / 2) + i);
    const double cos = isThere ? t.cos_numbers[at] : 0, sin = isThere ? t.sin_numbers[at] : 0;
    result[first] = row[first] * cos - row[second] * sin;
    result[second] = row[first] * sin + row[second] * cos;
  }
  return result;
}

void expectRow(const Append &a, const float *found, const std::vector<double> &expected) {
  const double rounding = a.dtype == f32 ? 0x1p-22 : oracle::unitRoundoff(a.dtype);
  for (size_t c = 0; c < expected.size(); ++c)
    ASSERT_NEAR(found[c], expected[c], rounding * 8) << "column " << c;
}

/// Checks a cache: rows that were appended, and 7 elsewhere. `row(b, head, i)` is the new row.
template <class Row>
void expectCache(const Append &a, const AppendTensors &t, const TestTensor &cache, int64_t columns, Row row) {
  std::vector<float> numbers = cache.numbers();
  for (int64_t b = 0; b < a.batch(); ++b)
    for (int64_t i = 0; i < a.added; ++i) {
      const int64_t key = a.lengths[size_t(b)] + i;
      if (key < 0 || key >= (a.page != 0 ? a.pagesOfSequence() * a.page : a.room))
        continue;
      const int64_t owner = a.page != 0 ? t.table[size_t(b * a.pagesOfSequence() + key / a.page)] : b;
      const int64_t place = a.page != 0 ? key % a.page : key;
      for (int64_t h = 0; h < a.kv_heads; ++h) {
        float *found = &numbers[size_t(((owner * a.kv_heads + h) * a.keysOfOwner() + place) * columns)];
        ASSERT_NO_FATAL_FAILURE(expectRow(a, found, row(b, h, i))) << "sequence " << b << ", key " << key;
        std::fill_n(found, columns, 7.0f);
      }
    }
  EXPECT_EQ(std::ranges::count(numbers, 7.0f), int64_t(numbers.size()));
  EXPECT_TRUE(cache.surroundingsIntact());
}

Status run(const Append &a, const AppendTensors &t) {
  const Expected<PlanSpec> spec = appendToCache(a.problem());
  require(spec.status());
  const Plan plan = valueOf(Plan::make(*spec, *machine().cache));
  const std::vector<NamedArgument> named = {{"k_new", t.k_new.ref()},
                                            {"v_new", t.v_new.ref()},
                                            {"q", t.q.ref()},
                                            {"cos", t.cos.ref()},
                                            {"sin", t.sin.ref()},
                                            {"k", t.k.ref()},
                                            {"v", t.v.ref()},
                                            {"lengths", t.lengths.ref()},
                                            {"page_table", t.page_table.ref()},
                                            {"q_rotated", t.rotated.ref()}};
  std::vector<Argument> arguments;
  for (const Parameter &parameter : plan.arguments())
    arguments.push_back(std::ranges::find(named, parameter.name, &NamedArgument::name)->value);
  TEGULA_RETURN_IF_ERROR(plan.launch(arguments, {}));
  return machine().device->synchronize();
}

void runAndExpect(const Append &a) {
  const AppendTensors t(a);
  require(run(a, t));
  expectCache(a, t, t.k, a.head_dim, [&](int64_t b, int64_t h, int64_t i) {
    const float *row = &t.k_numbers[size_t(((b * a.kv_heads + h) * a.added + i) * a.head_dim)];
    return turned(a, t, row, a.lengths[size_t(b)] + i);
  });
  if (a.value_dim != 0)
    expectCache(a, t, t.v, a.value_dim, [&](int64_t b, int64_t h, int64_t i) {
      const float *row = &t.v_numbers[size_t(((b * a.kv_heads + h) * a.added + i) * a.value_dim)];
      return std::vector<double>(row, row + a.value_dim);
    });
  if (!a.rotates_queries)
    return;
  const std::vector<float> rotated = t.rotated.numbers();
  for (int64_t row = 0; row < a.batch() * a.heads * a.queries; ++row) {
    const int64_t position = a.lengths[size_t(row / a.queries / a.heads)] + (a.same_position ? 0 : row % a.queries);
    ASSERT_NO_FATAL_FAILURE(expectRow(a, &rotated[size_t(row * a.head_dim)],
                                      turned(a, t, &t.q_numbers[size_t(row * a.head_dim)], position)));
  }
  EXPECT_TRUE(t.rotated.surroundingsIntact());
}

TEST(Append, ElementTypesAndLayouts) {
  for (DType dtype : {f32, f16, bf16})
    runAndExpect({.dtype = dtype});
  for (Layout layout : {Layout::padded, Layout::scattered, Layout::reversed})
    runAndExpect({.dtype = bf16, .page = 16, .rotary_dim = 8, .layout = layout});
}

TEST(Append, Pages) {
  for (int page : {5, 16, 64})
    runAndExpect({.page = page});
}

TEST(Append, RotaryEmbeddings) {
  for (bool interleaved : {false, true})
    for (int rotary_dim : {2, 16, 24})
      runAndExpect({.queries = 3, .rotary_dim = rotary_dim, .interleaved = interleaved, .rotates_queries = true});
  runAndExpect({.dtype = bf16, .queries = 1, .page = 16, .rotary_dim = 16, .rotates_queries = true});
  runAndExpect({.queries = 5, .rotary_dim = 16, .rotates_queries = true, .same_position = true});
}

TEST(Append, ARotaryEmbeddingAlone) {
  Append a{.dtype = bf16, .queries = 21, .rotary_dim = 16, .interleaved = true};
  const AppendTensors t(a);
  const Expected<PlanSpec> spec =
      rotaryEmbedding({.dtype = a.dtype, .head_dim = a.head_dim, .rotary_dim = a.rotary_dim, .interleaved = true});
  require(spec.status());
  const Plan plan = valueOf(Plan::make(*spec, *machine().cache));
  std::vector<int32_t> numbers;
  for (int64_t i = 0; i < a.batch() * a.queries; ++i)
    numbers.push_back(int32_t(i * 37 % (kPositions + 3) - 1)); // Some have no angle.
  const TestTensor positions({a.batch(), a.queries}, Layout::contiguous, Poison::nan, numbers);
  require(plan.launch({{"x", t.q.ref()},
                       {"positions", positions.ref()},
                       {"y", t.rotated.ref()},
                       {"cos", t.cos.ref()},
                       {"sin", t.sin.ref()}}));
  require(machine().device->synchronize());
  const std::vector<float> rotated = t.rotated.numbers();
  for (int64_t row = 0; row < a.batch() * a.heads * a.queries; ++row) {
    const int64_t position = numbers[size_t(row / a.queries / a.heads * a.queries + row % a.queries)];
    ASSERT_NO_FATAL_FAILURE(expectRow(a, &rotated[size_t(row * a.head_dim)],
                                      turned(a, t, &t.q_numbers[size_t(row * a.head_dim)], position)));
  }
}

TEST(Append, ManyRowsAndOneTensor) {
  runAndExpect({.added = 37, .room = 120, .value_dim = 0, .rotary_dim = 10});
  runAndExpect({.kv_heads = 1, .added = 1, .head_dim = 7, .value_dim = 3});
}

TEST(Append, WhatHasNoPlaceIsLeftOut) {
  runAndExpect({.page = 16, .lengths = {-2, 111, 1 << 30, 12}});
  runAndExpect({.rotary_dim = 4, .lengths = {-1, 99, 100}});
}

TEST(Append, WhatLengthsCount) {
  for (CacheLengths counted : {CacheLengths::all, CacheLengths::last_key})
    for (bool same_position : {false, true})
      runAndExpect({.queries = 3,
                    .page = 16,
                    .rotary_dim = 16,
                    .rotates_queries = true,
                    .same_position = same_position,
                    .counted = counted});
}

TEST(Append, SaysWhatIsWrong) {
  const auto message = [](const AppendProblem &problem) { return appendToCache(problem).status().message(); };
  EXPECT_THAT(message({.head_dim = 0}), HasSubstr("argument 'head_dim': it is 0; it must be from 1 to 1024"));
  EXPECT_THAT(message({.head_dim = 8, .value_dim = 2000}), HasSubstr("it is 2000; it must be from 0 to 1024"));
  EXPECT_THAT(message({.head_dim = 8, .rotary_dim = 3}), HasSubstr("it is 3; it must be even, and from 0 to head_dim"));
  EXPECT_THAT(message({.head_dim = 8, .lengths = CacheLengths::last_page}),
              HasSubstr("argument 'lengths': they are those of last pages; appending has no page_offsets"));
  const Append fewer{.added = 3, .queries = 2, .rotary_dim = 16, .rotates_queries = true, .counted = CacheLengths::all};
  EXPECT_THAT(run(fewer, AppendTensors(fewer)).message(),
              HasSubstr("lengths count the new keys, so queries must be as many"));
  EXPECT_THAT(message({.head_dim = 8, .rotates_queries = true}), HasSubstr("it is set, and rotary_dim is 0"));
  EXPECT_THAT(rotaryEmbedding({.head_dim = 8}).status().message(),
              HasSubstr("argument 'rotary_dim': it is 0; it must be even, and from 2 to head_dim"));
  EXPECT_THAT(message({.dtype = i32, .head_dim = 8}), HasSubstr("argument 'dtype': it must be f32, f16 or bf16"));
}

} // namespace
} // namespace tegula::testing
