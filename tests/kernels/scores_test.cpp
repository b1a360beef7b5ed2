// SPDX-License-Identifier: MIT
// Tests the order of a forward kernel's blocks of queries, and the order in which each block visits its tiles of keys.
#include "kernels/scores.h"
#include "kernels/tile_counts.h"
#include "language/machine.h"

#include <algorithm>
#include <gmock/gmock.h>

namespace tegula {
namespace {

using language::Array;
using ::testing::ElementsAre;

constexpr int kBlockM = 32, kBlockN = 16, kMaxSteps = 16;

struct Rows {
  int64_t seqlen_q, seqlen_k, row = 0;
  Causal causal = Causal::none;
};

AttentionConfig configOf(const Rows &v, const Variant &variant, int block_n) {
  return {.dtype = f32,
          .head_dim = 8,
          .value_dim = 8,
          .causal = v.causal,
          .variant = variant,
          .block_m = kBlockM,
          .block_n = block_n};
}

/// Returns the first keys of the tiles that queries `row` to `row + kBlockM - 1` visit, in the order of the visits.
std::vector<int> visited(const Variant &variant, const Rows &v) {
  Array<float> q({1, 1, v.seqlen_q, 8}), k({1, 1, v.seqlen_k, 8});
  Array<int32_t> positions({kMaxSteps}, -1);
  const AttentionConfig config = configOf(v, variant, kBlockN);
  auto kernel = [&](View Q, View K, View P) {
    Value zero = constant(DType::index, 0);
    Scores scores(config, Q, K.dim(2), zero, zero, {});
    ScoreStrip strip = scores.ofQueries(constant(DType::index, v.row));
    Var next = zero;
    strip.visits().forEach([&](const Visit &tile) {
      P.store(next, broadcast(cast(i32, tile.position), {1}));
      next = next + 1;
    });
  };
  language::run(language::testedLanes().front(), Grid{1, 1, 1}, kernel, q, k, positions);
  return {positions.data.begin(), std::find(positions.data.begin(), positions.data.end(), -1)};
}

/// Returns the first queries of the tiles that keys `v.row` to `v.row + kBlockN - 1` visit.
std::vector<int> visitedByKeys(const Variant &variant, const Rows &v) {
  Array<float> q({1, 1, v.seqlen_q, 8}), k({1, 1, v.seqlen_k, 8});
  Array<int32_t> positions({kMaxSteps}, -1);
  const AttentionConfig config = configOf(v, variant, kBlockN);
  auto kernel = [&](View Q, View K, View P) {
    Value zero = constant(DType::index, 0);
    Scores scores(config, Q, K.dim(2), zero, zero, {});
    Var next = zero;
    scores.ofKeys(constant(DType::index, v.row)).visits().forEach([&](const Visit &tile) {
      P.store(next, broadcast(cast(i32, tile.position), {1}));
      next = next + 1;
    });
  };
  language::run(language::testedLanes().front(), Grid{1, 1, 1}, kernel, q, k, positions);
  return {positions.data.begin(), std::find(positions.data.begin(), positions.data.end(), -1)};
}

/// Returns the first queries of the blocks, in the order of the blocks.
std::vector<int> firstQueries(const Rows &v, int block_n = kBlockN) {
  Array<float> q({1, 1, v.seqlen_q, 8}), k({1, 1, v.seqlen_k, 8});
  const int64_t blocks = (v.seqlen_q + kBlockM - 1) / kBlockM;
  Array<int32_t> queries({blocks}, -1);
  const AttentionConfig config = configOf(v, {}, block_n);
  auto kernel = [&](View Q, View K, View P) {
    Value zero = constant(DType::index, 0), block = programId(0);
    Scores scores(config, Q, K.dim(2), zero, zero, {});
    P.store(block, broadcast(cast(i32, scores.firstQuery(block)), {1}));
  };
  language::run(language::testedLanes().front(), Grid{static_cast<int>(blocks), 1, 1}, kernel, q, k, queries);
  return queries.data;
}

TEST(BlocksOfQueries, AscendWhereAllSeeTheSameKeys) {
  EXPECT_THAT(firstQueries({.seqlen_q = 70, .seqlen_k = 70}), ElementsAre(0, 32, 64));
}

TEST(BlocksOfQueries, BeginWithTheLastQueryWhereItSeesMost) {
  EXPECT_THAT(firstQueries({.seqlen_q = 70, .seqlen_k = 70, .causal = Causal::top_left}), ElementsAre(38, 6, -26));
  EXPECT_THAT(firstQueries({.seqlen_q = 1, .seqlen_k = 70, .causal = Causal::bottom_right}), ElementsAre(-31));
}

TEST(BlocksOfQueries, LieBesideBlocksOfAsManyKeys) {
  EXPECT_THAT(firstQueries({.seqlen_q = 70, .seqlen_k = 70, .causal = Causal::top_left}, kBlockM),
              ElementsAre(64, 32, 0));
}

TEST(BlocksOfQueries, SeeNothingMoreForRowsBeforeTheFirst) {
  EXPECT_THAT(visited({}, {.seqlen_q = 70, .seqlen_k = 70, .row = -26, .causal = Causal::bottom_right}),
              ElementsAre(0));
  EXPECT_THAT(visited(slidingWindow(16, 0, Alignment::bottom_right), {.seqlen_q = 6, .seqlen_k = 70, .row = -26}),
              ElementsAre(48, 64));
}

Variant peaked(Alignment alignment) { return {.name = "peaked", .peak = alignment}; }

TEST(OrderOfKeys, IsAscendingWithoutAPeak) {
  EXPECT_THAT(visited({}, {.seqlen_q = 96, .seqlen_k = 70, .row = 32}), ElementsAre(0, 16, 32, 48, 64));
}

TEST(OrderOfKeys, BeginsBesideTheFirstQueryOfTheBlock) {
  const Variant variant = peaked(Alignment::top_left);
  EXPECT_THAT(visited(variant, {.seqlen_q = 96, .seqlen_k = 70, .row = 0}), ElementsAre(0, 16, 32, 48, 64));
  EXPECT_THAT(visited(variant, {.seqlen_q = 96, .seqlen_k = 70, .row = 32}), ElementsAre(32, 48, 64, 0, 16));
}

TEST(OrderOfKeys, StaysAmongTheKeys) {
  // With top_left, the diagonal of these last queries lies after all keys. With bottom_right, the diagonal of these
  // first queries lies before all keys.
  EXPECT_THAT(visited(peaked(Alignment::top_left), {.seqlen_q = 96, .seqlen_k = 40, .row = 64}),
              ElementsAre(32, 0, 16));
  EXPECT_THAT(visited(peaked(Alignment::bottom_right), {.seqlen_q = 96, .seqlen_k = 40, .row = 0}),
              ElementsAre(0, 16, 32));
  EXPECT_THAT(visited(peaked(Alignment::top_left), {.seqlen_q = 96, .seqlen_k = 0, .row = 0}), ElementsAre());
}

TEST(OrderOfKeys, FollowsTheAlignment) {
  EXPECT_THAT(visited(peaked(Alignment::bottom_right), {.seqlen_q = 32, .seqlen_k = 70, .row = 0}),
              ElementsAre(32, 48, 64, 0, 16));
}

TEST(OrderOfKeys, GoesAroundWithinWhatIsVisited) {
  const Variant window = combine(slidingWindow(32, 0, Alignment::top_left), peaked(Alignment::top_left));
  EXPECT_THAT(visited(window, {.seqlen_q = 128, .seqlen_k = 128, .row = 64}), ElementsAre(64, 80, 32, 48));
  EXPECT_THAT(
      visited(peaked(Alignment::top_left), {.seqlen_q = 128, .seqlen_k = 128, .row = 64, .causal = Causal::top_left}),
      ElementsAre(64, 80, 0, 16, 32, 48));
}

TEST(OrderOfKeys, OfTwoVariantsIsThatOfTheFirstWithAPeak) {
  const Variant near = peaked(Alignment::top_left), far = peaked(Alignment::bottom_right);
  EXPECT_EQ(combine(near, far).peak, Alignment::top_left);
  EXPECT_EQ(combine(softcap(30), far).peak, Alignment::bottom_right);
  EXPECT_EQ(alibi(Alignment::bottom_right).peak, Alignment::bottom_right);
}

TEST(TilesOfAUnion, AreThoseOfItsSets) {
  const Variant variant = windowWithGlobals(32, 0, 16, Alignment::bottom_right);
  EXPECT_THAT(visited(variant, {.seqlen_q = 200, .seqlen_k = 200, .row = 160}), ElementsAre(0, 128, 144, 160, 176));
  EXPECT_THAT(visited(variant, {.seqlen_q = 200, .seqlen_k = 200}),
              ElementsAre(0, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192));
  EXPECT_THAT(visited(variant, {.seqlen_q = 1, .seqlen_k = 150}), ElementsAre(0, 112, 128, 144)); // A decode step.
  EXPECT_THAT(visitedByKeys(variant, {.seqlen_q = 200, .seqlen_k = 200, .row = 160}), ElementsAre(0, 160, 192));
  EXPECT_THAT(visitedByKeys(variant, {.seqlen_q = 200, .seqlen_k = 200}), ElementsAre(0, 32, 64, 96, 128, 160, 192));
}

TEST(TilesOfAUnion, LieInTheCommonPart) {
  const Variant variant = windowWithGlobals(32, 8, 16, Alignment::top_left);
  const Rows rows{.seqlen_q = 200, .seqlen_k = 200, .row = 0, .causal = Causal::top_left};
  EXPECT_THAT(visited(variant, rows), ElementsAre(0, 16));
  EXPECT_THAT(visitedByKeys(variant, {.seqlen_q = 200, .seqlen_k = 200, .row = 96, .causal = Causal::top_left}),
              ElementsAre(96, 128));
}

/// An interval that is empty touches no tile, though its bounds lie in one.
TEST(TilesOfAUnion, AreNoneOfAnEmptySet) {
  const Variant variant = combine(windowWithGlobals(32, 0, 0, Alignment::top_left), peaked(Alignment::top_left));
  EXPECT_THAT(visited(variant, {.seqlen_q = 200, .seqlen_k = 70, .row = 128}), ElementsAre());
  EXPECT_THAT(visited(variant, {.seqlen_q = 200, .seqlen_k = 200, .row = 128}), ElementsAre(128, 144, 96, 112));
}

/// The cost model of the tuner counts tiles by the rule of the kernels.
TEST(TileCounts, AreAsManyAsAKernelVisits) {
  const Variant variants[] = {
      {},
      slidingWindow(32, 8, Alignment::top_left),
      slidingWindow(kNoBound, 40, Alignment::top_left),
      windowWithGlobals(24, 4, 16, Alignment::top_left),
      combine(windowWithGlobals(0, 0, 40, Alignment::top_left), slidingWindow(kNoBound, 20, Alignment::top_left)),
      either(slidingWindow(16, 0, Alignment::top_left), globalTokens(0, Alignment::top_left))};
  const Schedule schedule{.block_m = kBlockM, .block_n = kBlockN};
  for (const auto &[queries, keys] : {std::pair(96, 70), std::pair(20, 150)})
    for (const Causal causal : {Causal::none, Causal::top_left})
      for (const Variant &variant : variants) {
        SCOPED_TRACE(variant.name + " " + std::to_string(queries) + " " + std::to_string(keys));
        const AttentionProblem problem{.causal = causal, .variant = variant};
        const ModelledLaunch launch{.shape = {1, 1, 1, queries, keys}};
        const TileCounts tiles(problem, launch, schedule);
        for (int64_t row = -kBlockM / 2; row < queries; row += kBlockM)
          EXPECT_EQ(tiles.ofQueries(row), visited(variant, {queries, keys, row, causal}).size()) << row;
        for (int64_t key = 0; key < keys; key += 2 * kBlockN)
          EXPECT_EQ(tiles.ofKeys(key), visitedByKeys(variant, {queries, keys, key, causal}).size()) << key;
      }
}

/// Returns the errors of a program that uses a variant's functions.
std::string errorsOf(const Variant &variant) {
  const AttentionConfig config = configOf({}, variant, kBlockN);
  auto kernel = [&](View Q, View K, View S) {
    Value zero = constant(DType::index, 0);
    Scores scores(config, Q, K.dim(2), zero, zero, {});
    ScoreStrip strip = scores.ofQueries(zero);
    S.store(0, strip.masked(fill({kBlockM, kBlockN}, 1.0), {zero}));
    for (const ScoreStrip &visited : {strip, scores.ofKeys(zero)})
      visited.visits().forEach([&](const Visit &tile) { S.store(tile.position, fill({kBlockM, kBlockN}, 1.0)); });
  };
  Expected<Program> program =
      record("kernel", kernel, TensorArg{"q", f32, 4}, TensorArg{"k", f32, 4}, TensorArg{"s", f32, 2});
  return program ? "" : program.status().message();
}

std::string atLine(int line, const std::string &error) {
  return std::string(__FILE__) + ":" + std::to_string(line) + ": error: " + error;
}

TEST(FunctionsOfAVariant, MayReturnWhatTheyMust) {
  Variant variant{.name = "legal"};
  variant.mask = [](const ScoreIndex &at, VariantViews) { return at.key <= 3; };
  variant.score = [](Value score, const ScoreIndex &, VariantViews) { return cast(bf16, score); };
  variant.ranges = {{[](Value query, const HeadIndex &, VariantViews) -> Interval {
                       return {query, query + 1};
                     },
                     [](Value key, const HeadIndex &at, VariantViews) -> Interval {
                       return {key, at.seqlen_q};
                     }}};
  EXPECT_EQ(errorsOf(variant), "");
  EXPECT_EQ(errorsOf(combine(variant, softcap(30))), "");
}

TEST(FunctionsOfAVariant, HaveErrorsAtTheLineOfTheirResult) {
  Variant variant{.name = "recency"};
  const int line = __LINE__ + 1;
  variant.mask = [](const ScoreIndex &at, VariantViews) { return cast(f32, at.query - at.key); };
  const std::string error = atLine(line, "Variant 'recency': mask returned f32 [32, 16]; it must return a condition "
                                         "(i1), such as at.key <= at.query, that repeats to [32, 16]");
  EXPECT_EQ(errorsOf(variant), error);
  EXPECT_EQ(errorsOf(combine(softcap(30), variant)), error);
}

TEST(FunctionsOfAVariant, HaveNotesWhereTheyAreGiven) {
  Variant variant;
  const int line = __LINE__ + 1;
  auto mask = [](const ScoreIndex &at, VariantViews) { return asRow(iota(7)) < at.query; };
  variant.mask = mask;
  EXPECT_EQ(errorsOf(variant), atLine(line, "a Variant without a name: mask returned i1 [32, 7]; it must return a "
                                            "condition (i1), such as at.key <= at.query, that repeats to [32, 16]\n") +
                                   __FILE__ + ":" + std::to_string(line + 1) + ": note: the function is given here");
}

/// The schedule chooses the size of a tile, so a score depends on no other score.
TEST(FunctionsOfAVariant, CombineNoScores) {
  auto errorAt = [](int line, const std::string &operation) {
    return atLine(line, "Variant 'mixed': score combines elements of a tile by " + operation +
                            "; each element must depend on one element of the input only, because a tile may have any "
                            "size");
  };
  Variant variant{.name = "mixed"};
  variant.score = [](Value score, const ScoreIndex &, VariantViews) { return score - asColumn(rowMax(score)); };
  EXPECT_EQ(errorsOf(variant), errorAt(__LINE__ - 1, "a reduction"));
  EXPECT_EQ(errorsOf(combine(softcap(30), variant)), errorAt(__LINE__ - 2, "a reduction"));
  variant.score = [](Value score, const ScoreIndex &, VariantViews) { return asColumn(rowMax(2.0 * score)); };
  EXPECT_EQ(errorsOf(variant), errorAt(__LINE__ - 1, "a reduction"));
  variant.score = [](Value score, const ScoreIndex &, VariantViews) { return transpose(exp(transpose(score))); };
  EXPECT_EQ(errorsOf(variant), errorAt(__LINE__ - 1, "a transpose"));
  variant.score = [](Value score, const ScoreIndex &, VariantViews) { return cumsum(tanh(score), 1); };
  EXPECT_EQ(errorsOf(variant), errorAt(__LINE__ - 1, "a cumsum"));
  variant.score = [](Value score, const ScoreIndex &, VariantViews) { return select(any(score > 3.0), score, 0.0); };
  EXPECT_EQ(errorsOf(variant), errorAt(__LINE__ - 1, "a reduction"));
}

TEST(FunctionsOfAVariant, CombineNoScoresInLoopsAndBranches) {
  Variant variant{.name = "mixed"};
  int line = 0;
  variant.score = [&](Value score, const ScoreIndex &, VariantViews) {
    Var sum = score, previous = 0.0 * score;
    for ([[maybe_unused]] Value i : range(0, 3)) {
      sum = sum + asColumn(rowSum(previous)), line = __LINE__;
      previous = score;
    }
    return Value(sum);
  };
  EXPECT_THAT(errorsOf(variant), ::testing::HasSubstr("mixed': score combines elements of a tile by a reduction"));
  EXPECT_THAT(errorsOf(variant),
              ::testing::StartsWith(std::string(__FILE__) + ":" + std::to_string(line) + ": error: "));
  variant.score = [&](Value score, const ScoreIndex &at, VariantViews) {
    Var result = score;
    when(at.head > 1, [&] { result = tanh(score); });
    for (Value i : range(0, at.head))
      result = result * cast(f32, i);
    return Value(result);
  };
  EXPECT_EQ(errorsOf(variant), "");
}

TEST(FunctionsOfAVariant, AreAScoreAndBoundsToo) {
  Variant variant{.name = "mine"};
  const int line = __LINE__ + 1;
  variant.score = [](Value score, const ScoreIndex &, VariantViews) { return score > 0.0; };
  EXPECT_EQ(errorsOf(variant),
            atLine(line, "Variant 'mine': score returned i1 [32, 16]; it must return a floating-point "
                         "score that repeats to [32, 16]"));
  variant.score = {};
  auto legal = [](Value key, const HeadIndex &at, VariantViews) -> Interval { return {key, at.seqlen_q}; };
  auto half = [](Value query, const HeadIndex &, VariantViews) -> Interval { return {query, 0.5 * query}; };
  variant.ranges = {{half, legal}};
  EXPECT_THAT(errorsOf(variant), ::testing::HasSubstr("Variant 'mine': keys of a VisibleRange returned an f32 scalar; "
                                                      "it must return an Interval of two integers"));
  variant.ranges = {{legal, half}};
  EXPECT_THAT(errorsOf(variant), ::testing::HasSubstr("Variant 'mine': queries of a VisibleRange returned"));
  variant.ranges = {};
  variant.any_of = {{.ranges = {{legal, legal}}}, {.ranges = {{half, legal}}}};
  EXPECT_THAT(errorsOf(variant), ::testing::StartsWith(atLine(line + 6, "Variant 'mine': keys of a VisibleRange")));
}

} // namespace
} // namespace tegula
