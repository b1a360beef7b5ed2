// SPDX-License-Identifier: MIT
// Tests unions of bands and ranges against the oracle, with everything that a problem and a schedule may add to them.
#include "harness/case.h"
#include "harness/machine.h"
#include "support/test_device.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>

namespace tegula::testing {
namespace {

using ::testing::HasSubstr;

Case caseOf(const std::string &variant, int queries, int keys) {
  return {.variant = variant,
          .schedule = {.block_m = 32, .block_n = 16},
          .shape = {.batch = 2,
                    .heads = 4,
                    .kv_heads = 2,
                    .seqlen_q = queries,
                    .seqlen_k = keys,
                    .head_dim = 16,
                    .value_dim = 16}};
}

/// Calls `test` with unions of 2 to 4 sets, with and without a causal mask.
template <class Test> void forEachUnion(int queries, int keys, Test test) {
  for (auto [variant, causal] : {std::pair{"global_tl", Causal::none},
                                 {"global_br", Causal::bottom_right},
                                 {"windows_br", Causal::none},
                                 {"either_tl", Causal::top_left},
                                 {"windows_br+either_br", Causal::none}}) {
    Case c = caseOf(variant, queries, keys);
    c.causal = causal;
    test(c);
  }
}

TEST(Unions, AnyLengthsAndTiles) {
  for (auto [queries, keys] : {std::pair{200, 200}, {33, 240}, {240, 33}, {1, 190}, {20, 0}}) {
    bool isLarge = false; // The other tile of every second union.
    forEachUnion(queries, keys, [&](Case c) {
      EXPECT_EQ(runCase(c), "");
      c.schedule = isLarge ? Schedule{.block_m = 64, .block_n = 64} : Schedule{.block_m = 16, .block_n = 48};
      EXPECT_EQ(runCase(c), "");
      isLarge = !isLarge;
    });
  }
}

TEST(Unions, TilesThatTheLibraryChooses) {
  for (int head_dim : {64, 128})
    forEachUnion(200, 330, [&](Case c) {
      c.dtype = bf16;
      c.schedule = {};
      c.shape.batch = 1;
      c.shape.head_dim = c.shape.value_dim = head_dim;
      EXPECT_EQ(runCase(c), "");
    });
}

TEST(Unions, InstancesWithSeveralBlocks) {
  bool isDynamic = false;
  forEachUnion(150, 170, [&](Case c) {
    c.schedule.tile_scheduler = isDynamic ? TileScheduler::dynamic_persistent : TileScheduler::static_persistent;
    EXPECT_EQ(runCase(c), "");
    isDynamic = !isDynamic;
  });
}

/// The blocks of keys that visit a tile of queries are not neighbours, so turns must count the visits.
TEST(Unions, DeterministicGradients) {
  const int reruns = onGpu() ? 100 : 2;
  for (auto [queries, keys] : {std::pair{200, 200}, {33, 240}})
    forEachUnion(queries, keys, [&](Case c) {
      c.deterministic = true;
      EXPECT_EQ(runCase(c, nullptr, reruns), "");
    });
}

TEST(Unions, MakeListsWhereTurnsCountVisits) {
  AttentionProblem problem{.dtype = f32,
                           .head_dim = 16,
                           .value_dim = 16,
                           .variant = windowWithGlobals(16, 0, 8, Alignment::top_left),
                           .backward = true};
  const AttentionShape shape{.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 64, .seqlen_k = 64};
  const Schedule schedule{.block_m = 16, .block_n = 16};
  EXPECT_EQ(*valueOf(AttentionPlan::make(problem, *machine().cache, schedule)).listBytes(shape), 0);
  problem.deterministic = true;
  EXPECT_GT(*valueOf(AttentionPlan::make(problem, *machine().cache, schedule)).listBytes(shape), 0);
}

TEST(Unions, BlockMasks) {
  for (BlockMask::Source source : {BlockMask::Source::computed, BlockMask::Source::given})
    forEachUnion(130, 150, [&](Case c) {
      c.block_mask = {.source = source, .per_batch = true, .block_q = 48, .block_k = 32};
      EXPECT_EQ(runCase(c), "");
    });
}

TEST(Unions, Dropout) {
  forEachUnion(130, 150, [](Case c) {
    c.dropout_p = 0.25;
    EXPECT_EQ(runCase(c), "");
  });
}

/// The order of visits begins at the diagonal.
TEST(Unions, Peaks) {
  for (const char *variant : {"global_br+alibi_br", "alibi_br+windows_br", "either_br+alibi_br"})
    for (auto [queries, keys] : {std::pair{200, 200}, {33, 240}, {240, 33}, {1, 190}})
      EXPECT_EQ(runCase(caseOf(variant, queries, keys)), "");
}

TEST(Unions, CombineWithOtherParts) {
  for (const char *variant : {"global_tl+window_tl", "documents+global_br", "prefix_tl+windows_tl", "ids+global_tl",
                              "bias+windows_tl+softcap"})
    EXPECT_EQ(runCase(caseOf(variant, 150, 170)), "");
}

TEST(Unions, ContainNumbersThatAreNotFinite) {
  for (oracle::Family family : oracle::allFamilies()) {
    Case c = caseOf("global_br", 100, 120);
    c.family = family;
    c.contain_nonfinite = hasGpuCode();
    EXPECT_EQ(runCase(c), "");
  }
}

/// Returns o of all queries. The values of keys 16 to 63 are `number`.
std::vector<float> outputWith(float number, Case c) {
  Tensors t = makeTensors(c);
  const int64_t columns = c.shape.value_dim;
  for (int64_t head = 0; head < c.shape.batch * c.shape.kv_heads; ++head) {
    const auto first = t.inputs.v.begin() + head * c.shape.seqlen_k * columns;
    std::fill(first + 16 * columns, first + 64 * columns, number);
  }
  t.v =
      TestTensor(c.dtype, {c.shape.batch, c.shape.kv_heads, c.shape.seqlen_k, columns}, c.layout, c.poison, t.inputs.v);
  EXPECT_EQ(launch(c, t).message(), "");
  return t.o.numbers();
}

/// A masked key that is visited is multiplied by 0, and 0 times NaN is NaN. The queries of the last two blocks see the
/// global keys before the NaN, and their window after it.
TEST(Unions, TilesBetweenTwoSetsAreNotVisited) {
  if (!hasGpuCode())
    GTEST_SKIP() << "the cpu contains what it visits; tegula_kernels_test_simt runs this test";
  for (DType dtype : {f32, bf16}) {
    Case c = caseOf("global_tl", 128, 128);
    c.dtype = dtype;
    c.backward = false;
    const std::vector<float> clean = outputWith(1, c),
                             poisoned = outputWith(std::numeric_limits<float>::quiet_NaN(), c);
    const int64_t row = c.shape.value_dim, head = c.shape.seqlen_q * row;
    for (size_t n = 0; n < clean.size(); ++n) {
      if (int64_t(n) % head / row >= 96)
        ASSERT_EQ(clean[n], poisoned[n]) << n;
    }
  }
}

//===-- Refusals --------------------------------------------------------------------------------------------------===//

std::string refusalOf(const Variant &variant, Causal causal = Causal::none) {
  return AttentionPlan::make({.dtype = f32, .head_dim = 16, .value_dim = 16, .causal = causal, .variant = variant},
                             *machine().cache)
      .status()
      .message();
}

Variant windowsOf(int count) {
  Variant variant{.name = "windows"};
  for (int n = 0; n < count; ++n)
    variant.any_of.push_back({.bands = {{n, n, Alignment::top_left}}});
  return variant;
}

TEST(Unions, RefuseWhatIsNoUnion) {
  EXPECT_EQ(refusalOf(windowsOf(4)), "");
  EXPECT_EQ(refusalOf(windowsOf(5)), "argument 'variant': 'windows' has 5 sets in any_of; at most 4 are supported");
  Variant all = windowsOf(1);
  all.any_of.emplace_back();
  EXPECT_EQ(refusalOf(all), "argument 'variant': set 1 in any_of of 'windows' has no band and no range, so that it has "
                            "all keys, and the union too; give it one, or leave any_of out");
  EXPECT_EQ(refusalOf(windowWithGlobals(8, 0, -1, Alignment::top_left)),
            "argument 'global_tokens': it is -1; it must be from 0 to 1073741824");
}

TEST(Unions, RefuseTwoDiagonals) {
  EXPECT_THAT(refusalOf(windowsOf(2), Causal::bottom_right), HasSubstr("a band of 'windows' counts from top_left"));
  EXPECT_THAT(refusalOf(windowWithGlobals(8, 0, 4, Alignment::top_left), Causal::bottom_right),
              HasSubstr("a band of 'window_with_globals' counts from top_left"));
}

TEST(Unions, RefuseTooManyIntersections) {
  EXPECT_EQ(refusalOf(combine(windowsOf(2), windowsOf(2))), "");
  EXPECT_EQ(combine(windowsOf(2), windowsOf(2)).any_of.size(), 4u);
  EXPECT_EQ(combine(softcap(30), windowsOf(3)).any_of.size(), 3u);
  EXPECT_EQ(
      refusalOf(combine(windowsOf(2), windowsOf(3))),
      "combine: 'windows' has 2 sets in any_of, 'windows' has 3; the 6 intersections of two of them are too many: "
      "a union has at most 4 sets");
}

TEST(Unions, OfTwoVariantsHaveOnlySetsOfKeys) {
  EXPECT_EQ(either(windowsOf(2), prefixLm(Alignment::top_left)).any_of.size(), 3u);
  EXPECT_EQ(either(windowsOf(2), prefixLm(Alignment::top_left)).name, "windows|prefix_lm");
  EXPECT_EQ(refusalOf(either(softcap(30), windowsOf(2))),
            "either: 'softcap' has a mask, a score, a probability, a product or a peak, which are no bands and ranges "
            "of keys; combine "
            "the union with a variant that has them");
  EXPECT_EQ(refusalOf(either(windowsOf(2), {.name = "plain"})),
            "either: 'plain' has no band and no range, so that it has all keys, and the union too");
  EXPECT_EQ(refusalOf(either(windowsOf(2), windowsOf(3))),
            "either: 'windows' and 'windows' have 5 sets of keys together; a union has at most 4");
}

} // namespace
} // namespace tegula::testing
