// SPDX-License-Identifier: MIT
// Tests that visitedTiles() has each score once, and no tile without scores where lists tell.
#include "tegula/visited_tiles.h"

#include "harness/machine.h"
#include "harness/variant_case.h"
#include "support/test_device.h"
#include "workload/checked_variant.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tegula::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr AttentionShape kShape = {.batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 150, .seqlen_k = 170};

oracle::Shape oracleShape() {
  return {.batch = kShape.batch,
          .heads = kShape.heads,
          .kv_heads = kShape.kv_heads,
          .seqlen_q = kShape.seqlen_q,
          .seqlen_k = kShape.seqlen_k,
          .head_dim = 16,
          .value_dim = 16};
}

/// The scores of all heads that tiles have.
class Coverage {
public:
  explicit Coverage(const VisitedTiles &tiles) : tiles_(tiles) {
    for (const VisitedTile &tile : tiles.tiles)
      forEach(tile, [&](const oracle::Position &p) { ++times_[placeOf(p)]; });
  }

  int timesOf(const oracle::Position &p) const { return times_[placeOf(p)]; }

  /// Returns the number of tiles in which no score exists.
  int64_t emptyTiles(const oracle::Rules &rules) const {
    int64_t empty = 0;
    for (const VisitedTile &tile : tiles_.tiles) {
      int64_t seen = 0;
      forEach(tile, [&](const oracle::Position &p) { seen += rules.sees(p); });
      empty += seen == 0;
    }
    return empty;
  }

private:
  static size_t placeOf(const oracle::Position &p) {
    return size_t(((p.batch * kShape.heads + p.head) * kShape.seqlen_q + p.query) * kShape.seqlen_k + p.key);
  }

  template <class Body> void forEach(const VisitedTile &tile, Body body) const {
    for (int64_t query = std::max<int64_t>(tile.query, 0);
         query < std::min(tile.query + tiles_.block_m, kShape.seqlen_q); ++query)
      for (int64_t key = tile.key; key < std::min(tile.key + tiles_.block_n, kShape.seqlen_k); ++key)
        body({tile.batch, tile.head, query, key});
  }

  const VisitedTiles &tiles_;
  std::vector<int> times_ = std::vector<int>(size_t(oracleShape().sizeScores()));
};

struct Visitor {
  const char *variant;
  BlockMask::Source blocks = BlockMask::Source::none;
  Causal causal = Causal::none;
  Schedule schedule = {.block_m = 32, .block_n = 16};
  bool deterministic = false;
};

AttentionProblem problemOf(const Visitor &v) {
  return {.dtype = f32,
          .head_dim = 16,
          .value_dim = 16,
          .causal = v.causal,
          .variant = makeVariant(v.variant, f32),
          .block_mask = {.source = v.blocks},
          .backward = true,
          .deterministic = v.deterministic};
}

void expectEachScoreOnce(const Visitor &v) {
  SCOPED_TRACE(std::string(v.variant) + " causal=" + std::to_string(int(v.causal)) +
               " block_mask=" + std::to_string(int(v.blocks)) + " block_m=" + std::to_string(v.schedule.block_m));
  VariantRun run = makeRun(v.variant, oracleShape(), f32, Layout::contiguous, Poison::nan, 1);
  if (v.causal != Causal::none)
    addCausal(run.exact, oracleShape(),
              v.causal == Causal::top_left ? oracle::Corner::top_left : oracle::Corner::bottom_right);
  const std::vector<TensorRef> tensors = run.tensorRefs();
  for (Pass pass : {Pass::forward, Pass::backward}) {
    const VisitedTiles visited = valueOf(visitedTiles(problemOf(v), pass, {.shape = kShape, .variant_tensors = tensors},
                                                      *machine().cache, *machine().device, v.schedule));
    const Coverage coverage(visited);
    EXPECT_EQ(visited.block_m, v.schedule.block_m);
    int64_t wrong = 0;
    for (int64_t batch = 0; batch < kShape.batch; ++batch)
      for (int64_t head = 0; head < kShape.heads; ++head)
        for (int64_t query = 0; query < kShape.seqlen_q; ++query)
          for (int64_t key = 0; key < kShape.seqlen_k; ++key) {
            const oracle::Position p{batch, head, query, key};
            wrong += run.exact.sees(p) ? coverage.timesOf(p) != 1 : coverage.timesOf(p) > 1;
          }
    EXPECT_EQ(wrong, 0) << "pass " << int(pass);
    if (v.blocks == BlockMask::Source::computed) {
      EXPECT_EQ(coverage.emptyTiles(run.exact), 0) << "pass " << int(pass);
    }
  }
}

TEST(VisitedTiles, HaveEachScoreOnce) {
  for (const char *variant : {"none", "window_br", "prefix_br", "documents", "ids", "global_br", "windows_br",
                              "either_br", "intervals", "alibi_br"})
    for (BlockMask::Source blocks : {BlockMask::Source::none, BlockMask::Source::computed})
      for (Causal causal : {Causal::none, Causal::bottom_right})
        if (isLegal(variant, causal))
          expectEachScoreOnce({.variant = variant, .blocks = blocks, .causal = causal});
}

TEST(VisitedTiles, AreThoseOfTheSchedule) {
  for (auto [block_m, block_n] : {std::pair{64, 32}, {32, 64}, {48, 48}})
    for (bool deterministic : {false, true})
      expectEachScoreOnce({.variant = "none",
                           .causal = Causal::top_left,
                           .schedule = {.block_m = block_m, .block_n = block_n},
                           .deterministic = deterministic});
  if (!onGpu())
    expectEachScoreOnce(
        {.variant = "window_br",
         .schedule = {.block_m = 32, .block_n = 16, .tile_scheduler = TileScheduler::dynamic_persistent}});
}

/// Returns the number of tiles of each strip of the first head, in the order in which kernels begin with strips.
std::vector<int> tilesOfStrips(Pass pass, const AttentionShape &shape) {
  const VisitedTiles visited = valueOf(
      visitedTiles(problemOf({.variant = "none", .blocks = BlockMask::Source::computed, .causal = Causal::top_left}),
                   pass, {.shape = shape}, *machine().cache, *machine().device, {.block_m = 16, .block_n = 16}));
  std::vector<int> tiles;
  int64_t last = -1;
  for (const VisitedTile &tile : visited.tiles) {
    const int64_t first = pass == Pass::forward ? tile.query : tile.key;
    if (first != last)
      tiles.push_back(0);
    ++tiles.back();
    last = first;
  }
  return tiles;
}

TEST(VisitedTiles, OfListsBeginWithTheLongestStrips) {
  constexpr AttentionShape shape = {.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 80, .seqlen_k = 80};
  EXPECT_THAT(tilesOfStrips(Pass::forward, shape), ElementsAre(5, 4, 3, 2, 1));
  EXPECT_THAT(tilesOfStrips(Pass::backward, shape), ElementsAre(5, 4, 3, 2, 1));
}

TEST(VisitedTiles, AreAPartOfAllTiles) {
  const VisitedTiles all = valueOf(visitedTiles(problemOf({"none"}), Pass::forward, {.shape = kShape}, *machine().cache,
                                                *machine().device, {.block_m = 32, .block_n = 16}));
  EXPECT_EQ(all.total, 2 * 4 * 5 * 11);
  EXPECT_EQ(all.share(), 1);
  const VisitedTiles causal =
      valueOf(visitedTiles(problemOf({.variant = "none", .causal = Causal::top_left}), Pass::forward,
                           {.shape = {.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 64, .seqlen_k = 64}},
                           *machine().cache, *machine().device, {.block_m = 16, .block_n = 16}));
  EXPECT_EQ(causal.tiles.size(), 4 + 3 + 2 + 1);
  EXPECT_EQ(causal.total, 16);
}

TEST(VisitedTiles, OfNoScoresAreNone) {
  const VisitedTiles none = valueOf(visitedTiles(problemOf({"none"}), Pass::backward,
                                                 {.shape = {.batch = 1, .heads = 1, .kv_heads = 1, .seqlen_q = 20}},
                                                 *machine().cache, *machine().device));
  EXPECT_EQ(none.share(), 0);
}

TEST(VisitedTiles, AreRefusedForOtherProblems) {
  auto message = [](AttentionProblem problem, AttentionLists call) {
    return visitedTiles(problem, Pass::forward, call, *machine().cache, *machine().device).status().message();
  };
  AttentionProblem flash1 = problemOf({"none"});
  flash1.algorithm = Algorithm::flash1;
  EXPECT_THAT(message(flash1, {.shape = kShape}), HasSubstr("the algorithm is flash1; it must be flash2"));
  EXPECT_THAT(message(problemOf({"documents"}), {.shape = kShape}), HasSubstr("argument 'variant_tensors'"));
}

} // namespace
} // namespace tegula::testing
