// SPDX-License-Identifier: MIT
// Tests that a block mask skips exactly the tiles without scores, and that skipping changes no result.
#include "harness/case.h"
#include "harness/machine.h"
#include "kernels/kernel_config.h"
#include "kernels/list_plan.h"
#include "support/test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

namespace tegula::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::HasSubstr;

constexpr int kBlockM = 32, kBlockN = 16;

/// Returns whether the score of a query and a key exists.
using Sees = std::function<bool(int64_t query, int64_t key)>;

/// The row of a list: whole tiles, then the others.
struct Row {
  std::vector<int32_t> whole, partial;
};

/// Returns the tiles of a strip by definition.
Row tilesOf(const Sees &sees, const AttentionShape &shape, Pass pass, int64_t strip) {
  const bool isForward = pass == Pass::forward;
  const int64_t tiles = isForward ? (shape.seqlen_k + kBlockN - 1) / kBlockN : (shape.seqlen_q + kBlockM - 1) / kBlockM;
  Row row;
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t i = (isForward ? strip : tile) * kBlockM, j = (isForward ? tile : strip) * kBlockN;
    int64_t seen = 0, rows = std::min<int64_t>(kBlockM, shape.seqlen_q - i);
    for (int64_t query = i; query < i + rows; ++query)
      for (int64_t key = j; key < std::min<int64_t>(j + kBlockN, shape.seqlen_k); ++key)
        seen += sees(query, key);
    if (seen == rows * kBlockN)
      row.whole.push_back(int32_t(tile));
    else if (seen > 0)
      row.partial.push_back(int32_t(tile));
  }
  return row;
}

std::vector<int32_t> read(const TensorRef &tensor) {
  int64_t count = 1;
  for (int axis = 0; axis < tensor.rank; ++axis)
    count *= tensor.shape[axis];
  std::vector<int32_t> numbers(count);
  EXPECT_TRUE(machine().device->copyToHost(numbers.data(), tensor.data, count * 4).ok());
  return numbers;
}

/// Checks the lists that a plan makes for one head, against the definition.
void checkLists(const AttentionProblem &problem, const AttentionShape &shape, const Sees &sees) {
  for (Pass pass : {Pass::forward, Pass::backward}) {
    Expected<ListPlan> plan =
        ListPlan::make(problem, pass, *machine().cache, {.block_m = kBlockM, .block_n = kBlockN}, nullptr);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    ScratchMemory memory(*plan->listBytes(shape)), workspace(*plan->workspaceBytes(shape));
    const ListTensors lists = plan->tensors(shape, memory.get().data);
    ASSERT_TRUE(plan->launch({.shape = shape}, lists, workspace.get(), {}).ok());
    ASSERT_TRUE(machine().device->synchronize().ok());
    const std::vector<int32_t> tiles = read(lists.tiles), counts = read(lists.counts);
    EXPECT_EQ(lists.tiles.shape[0], 1);
    EXPECT_EQ(lists.tiles.shape[1], 1);
    std::vector<int32_t> order, longest_first;
    for (int64_t strip = 0; strip < lists.tiles.shape[2]; ++strip) {
      const Row row = tilesOf(sees, shape, pass, strip);
      std::vector<int32_t> expected = row.whole;
      expected.insert(expected.end(), row.partial.begin(), row.partial.end());
      ASSERT_EQ(counts[3 * strip], int32_t(expected.size()));
      EXPECT_EQ(counts[3 * strip + 1], int32_t(row.whole.size()));
      order.push_back(counts[3 * strip + 2]);
      longest_first.push_back(int32_t(strip));
      const auto first = tiles.begin() + strip * lists.tiles.shape[3];
      EXPECT_THAT(std::vector(first, first + int64_t(expected.size())), ElementsAreArray(expected));
    }
    std::ranges::stable_sort(longest_first, std::greater(), [&](int32_t strip) { return counts[3 * strip]; });
    if (pass == Pass::forward)
      EXPECT_EQ(order, longest_first);
  }
}

AttentionProblem computed(Variant variant, Causal causal = Causal::none) {
  return {.dtype = f32,
          .head_dim = 16,
          .value_dim = 16,
          .causal = causal,
          .variant = std::move(variant),
          .block_mask = {.source = BlockMask::Source::computed},
          .backward = true};
}

/// Every third key of each query, and the first keys for all.
Variant dilatedWithGlobal() {
  return {.name = "dilated", .mask = [](const ScoreIndex &at, VariantViews) -> Value {
            return (at.key < 8) | ((at.query - at.key) % 64 < 3);
          }};
}

TEST(BlockMask, ListsExactlyTheTilesInWhichScoresExist) {
  for (auto [queries, keys] : {std::pair{200, 300}, {33, 700}, {1, 1}, {4500, 40}}) {
    const AttentionShape shape = {.batch = 2, .heads = 3, .kv_heads = 3, .seqlen_q = queries, .seqlen_k = keys};
    checkLists(computed({}), shape, [](int64_t, int64_t) { return true; });
    checkLists(computed({}, Causal::top_left), shape, [](int64_t query, int64_t key) { return key <= query; });
    checkLists(computed(dilatedWithGlobal()), shape,
               [](int64_t query, int64_t key) { return key < 8 || (query - key) % 64 < 3; });
    checkLists(computed(dilatedWithGlobal(), Causal::top_left), shape,
               [](int64_t query, int64_t key) { return key <= query && (key < 8 || (query - key) % 64 < 3); });
  }
}

/// Returns the axes of a problem's lists.
ListAxes axesOf(const AttentionProblem &problem) {
  return resolve(problem, "flash2_forward", machine().cache->target())->config.list_axes;
}

TEST(BlockMask, HasListsOfItsOwnOnlyWhereTheConditionsDiffer) {
  EXPECT_EQ(axesOf(computed(dilatedWithGlobal())), (ListAxes{.batch = false, .heads = false}));
  AttentionProblem prefix = computed(prefixLm(Alignment::top_left));
  EXPECT_EQ(axesOf(prefix), (ListAxes{.batch = true, .heads = false}));
  prefix.block_mask = {.source = BlockMask::Source::given, .per_head = true};
  EXPECT_EQ(axesOf(prefix), (ListAxes{.batch = true, .heads = true}));
  Variant heads{.name = "heads", .mask = [](const ScoreIndex &at, VariantViews) -> Value {
                  return at.key % 4 == cast(i32, at.head) % 4;
                }};
  EXPECT_EQ(axesOf(computed(heads)), (ListAxes{.batch = false, .heads = true}));
}

Case small(const char *variant) {
  return {
      .variant = variant,
      .schedule = {.block_m = 32, .block_n = 32},
      .shape =
          {.batch = 2, .heads = 4, .kv_heads = 2, .seqlen_q = 150, .seqlen_k = 170, .head_dim = 32, .value_dim = 32},
      .block_mask = {.source = BlockMask::Source::computed}};
}

/// Lists depend on the variant's conditions, not on the element type.
TEST(BlockMask, WithEveryVariantAndElementType) {
  for (auto [variant, dtype] : {std::pair{"none", f16},
                                {"window_br", f32},
                                {"prefix_br", f32},
                                {"documents", bf16},
                                {"softcap", f16},
                                {"alibi_br", f32},
                                {"bias", bf16},
                                {"mask", f16}}) {
    Case c = small(variant);
    c.dtype = dtype;
    EXPECT_EQ(runCase(c), "");
  }
}

TEST(BlockMask, IsDeterministicWhereAskedTo) {
  for (const char *variant : {"none", "window_br", "prefix_br"})
    for (BlockMask::Source source : {BlockMask::Source::computed, BlockMask::Source::given}) {
      Case c = small(variant);
      c.dtype = bf16;
      c.deterministic = true;
      c.block_mask = {.source = source, .per_head = true, .block_q = 32, .block_k = 64};
      EXPECT_EQ(runCase(c, nullptr, onGpu() ? 100 : 3), "");
    }
}

TEST(BlockMask, TakesBlocksOfAnySize) {
  bool apart = false;
  for (auto [block_q, block_k] : {std::pair{128, 128}, {64, 32}, {1, 1}, {7, 50}, {300, 16}}) {
    Case c = small("window_br");
    c.block_mask = {.source = BlockMask::Source::given,
                    .per_batch = apart,
                    .per_head = !apart,
                    .block_q = block_q,
                    .block_k = block_k};
    EXPECT_EQ(runCase(c), "");
    apart = !apart;
  }
}

TEST(BlockMask, WithSchedulesThatTheLibraryChooses) {
  for (int64_t head_dim : {64, 128, 256})
    for (BlockMask::Source source : {BlockMask::Source::computed, BlockMask::Source::given}) {
      Case c = small("prefix_br");
      c.dtype = bf16;
      c.schedule = {};
      c.block_mask.source = source;
      c.shape.head_dim = c.shape.value_dim = head_dim;
      EXPECT_EQ(runCase(c), "");
    }
}

TEST(BlockMask, ContainsNanInTilesThatAreNotVisited) {
  Case c = small("window_br");
  c.contain_nonfinite = true;
  EXPECT_EQ(runCase(c), "");
}

/// Returns the results of both passes with lists that the launches make, or that were made before.
std::vector<std::vector<float>> resultsOf(const Case &c, const AttentionPlan &plan, bool before) {
  Tensors t = makeTensors(c);
  const AttentionShape shape = tools::attentionShape(c.shape);
  const std::vector<TensorRef> variant = t.variant.tensorRefs();
  ScratchMemory lists(*plan.listBytes(shape)), making(*plan.listWorkspace(shape));
  if (before) {
    EXPECT_TRUE(plan.makeLists({shape, variant, t.blocks.refs()}, lists.get(), making.get()).ok());
  }
  ScratchMemory forward(*plan.forwardWorkspace(shape)), backward(*plan.backwardWorkspace(shape));
  const BlockMaskTensors blocks = before ? BlockMaskTensors() : t.blocks.refs();
  const Workspace made = before ? lists.get() : Workspace();
  const Status first = plan.forward({.q = t.q.ref(),
                                     .k = t.k.ref(),
                                     .v = t.v.ref(),
                                     .o = t.o.ref(),
                                     .lse = t.lse.ref(),
                                     .variant_tensors = variant,
                                     .block_mask = blocks,
                                     .lists = made},
                                    forward.get());
  EXPECT_TRUE(first.ok()) << first.message();
  const Status second = plan.backward({.q = t.q.ref(),
                                       .k = t.k.ref(),
                                       .v = t.v.ref(),
                                       .o = t.o.ref(),
                                       .lse = t.lse.ref(),
                                       .d_o = t.d_o.ref(),
                                       .dq = t.dq.ref(),
                                       .dk = t.dk.ref(),
                                       .dv = t.dv.ref(),
                                       .variant_tensors = variant,
                                       .block_mask = blocks,
                                       .lists = made},
                                      backward.get());
  EXPECT_TRUE(second.ok()) << second.message();
  EXPECT_TRUE(machine().device->synchronize().ok());
  std::vector<std::vector<float>> results;
  for (TestTensor *output : t.outputs())
    results.push_back(output->numbers());
  return results;
}

TEST(BlockMask, KeepsListsBetweenCalls) {
  for (BlockMask::Source source : {BlockMask::Source::computed, BlockMask::Source::given}) {
    Case c = small("prefix_br");
    c.deterministic = true;
    c.block_mask.source = source;
    const Expected<AttentionPlan> plan = planFor(c);
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(resultsOf(c, *plan, false), resultsOf(c, *plan, true));
  }
}

/// Returns the message of a forward launch.
std::string refusal(BlockMask mask, BlockMaskTensors blocks, Workspace lists = {}) {
  Case c = small("none");
  c.backward = false;
  c.block_mask = mask;
  const Expected<AttentionPlan> plan = planFor(c);
  if (!plan)
    return plan.status().message();
  Tensors t = makeTensors(c);
  return plan
      ->forward({.q = t.q.ref(),
                 .k = t.k.ref(),
                 .v = t.v.ref(),
                 .o = t.o.ref(),
                 .lse = t.lse.ref(),
                 .block_mask = blocks,
                 .lists = lists})
      .message();
}

TEST(BlockMask, RefusesWhatDoesNotFit) {
  const BlockMask given = {.source = BlockMask::Source::given, .block_q = 64, .block_k = 64};
  const BlockMask computedMask = {.source = BlockMask::Source::computed};
  TestTensor counts(DType::i32, {1, 1, 3}, Layout::contiguous, Poison::nan, std::vector<float>(3)),
      indices(DType::i32, {1, 1, 3, 3}, Layout::contiguous, Poison::nan, std::vector<float>(9)),
      short_indices(DType::i32, {1, 1, 2, 3}, Layout::contiguous, Poison::nan, std::vector<float>(6));
  EXPECT_THAT(refusal(given, {}), HasSubstr("argument 'block_mask': kv_num_blocks and kv_indices are missing"));
  EXPECT_THAT(refusal(computedMask, {counts.ref(), indices.ref()}),
              HasSubstr("argument 'block_mask': it is given, but the source of the plan's block mask is not 'given'"));
  EXPECT_THAT(refusal(given, {counts.ref(), indices.ref(), counts.ref()}),
              HasSubstr("one of full_kv_num_blocks and full_kv_indices is missing"));
  EXPECT_THAT(refusal(given, {counts.ref(), short_indices.ref()}),
              HasSubstr("argument 'kv_indices': its size 2 is 2; the plan's block mask needs 3 rows of blocks"));
  EXPECT_THAT(refusal(given, {counts.ref(), indices.ref()}), HasSubstr("argument 'workspace': it has 0 bytes"));
  ScratchMemory little(64);
  EXPECT_THAT(refusal(computedMask, {}, {little.get().data, 64}), HasSubstr("argument 'lists': it has 64 bytes"));
  EXPECT_THAT(refusal({.source = BlockMask::Source::given, .block_q = 0}, {}),
              HasSubstr("argument 'block_mask.block_q': it is 0; it must be from 1 to"));
  AttentionProblem old = computed({});
  old.algorithm = Algorithm::flash1;
  old.backward = false;
  EXPECT_THAT(AttentionPlan::make(old, *machine().cache).status().message(),
              HasSubstr("this algorithm has no block mask; flash2 has one"));
}

} // namespace
} // namespace tegula::testing
