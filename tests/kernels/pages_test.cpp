// SPDX-License-Identifier: MIT
// Tests of attention of packed sequences whose keys lie in pages. All that is no key of a sequence is NaN.
#include "harness/machine.h"
#include "oracle/inputs.h"
#include "oracle/oracle.h"
#include "support/test_device.h"
#include "support/test_tensor.h"
#include "tegula/packed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace tegula::testing {
namespace {

using ::testing::HasSubstr;

struct PagesCase {
  DType dtype = f32;
  int page_size = 16;
  int head_dim = 24, value_dim = 16;
  int left = -1, right = -1;
  std::vector<int> of_q = {20, 1, 0, 5, 37}, of_k = {33, 40, 7, 0, 50};
  double cap = 0;
  bool sinks = false, page_offsets = false;
  bool listed = true;  ///< The blocks of queries are listed.
  bool shared = false; ///< The first page of sequence 1 is that of sequence 0.
  int unused = 3;      ///< Queries, and entries of pages, after the last sequence.
  Layout layout = Layout::contiguous;
  Schedule schedule = {};
  int64_t heads = 4, kv_heads = 2;

  int64_t sequences() const { return int64_t(of_q.size()); }
  int64_t queries() const { return std::accumulate(of_q.begin(), of_q.end(), unused); }
  int64_t keys() const { return std::accumulate(of_k.begin(), of_k.end(), 0); }
  int64_t room() const { return (*std::ranges::max_element(of_k) + page_size - 1) / page_size + 1; }
  int64_t pages() const { return sequences() * room() + 2; }
  AttentionProblem problem() const {
    Variant variant = listed ? packedQueries() : keyIntervals();
    if (cap != 0)
      variant = combine(variant, softcap(cap));
    return {.dtype = dtype,
            .head_dim = head_dim,
            .value_dim = value_dim,
            .variant = variant,
            .sinks = sinks,
            .page_size = page_size};
  }
  oracle::Shape shape() const {
    return {.heads = heads,
            .kv_heads = kv_heads,
            .seqlen_q = queries(),
            .seqlen_k = keys(),
            .head_dim = head_dim,
            .value_dim = value_dim};
  }
};

std::vector<int32_t> offsetsOf(const std::vector<int> &lengths) {
  std::vector<int32_t> offsets = {0};
  for (const int length : lengths)
    offsets.push_back(offsets.back() + length);
  return offsets;
}

/// The keys that queries see, as the oracle counts them: one sequence after another.
oracle::Rules rulesOf(const PagesCase &c, const std::vector<float> &sinks) {
  oracle::Rules rules;
  rules.visible.push_back([c, q = offsetsOf(c.of_q), k = offsetsOf(c.of_k)](const oracle::Position &at) {
    const auto sequence = size_t(std::ranges::upper_bound(q, int32_t(at.query)) - q.begin()) - 1;
    if (sequence >= c.of_q.size() || at.key < k[sequence] || at.key >= k[sequence + 1])
      return false;
    const int64_t distance = (at.key - k[sequence + 1]) - (at.query - q[sequence + 1]);
    return (c.left < 0 || distance >= -c.left) && (c.right < 0 || distance <= c.right);
  });
  if (c.cap != 0)
    oracle::addSoftcap(rules, c.cap, c.dtype);
  if (c.sinks)
    rules.sinks = sinks;
  return rules;
}

/// Pages in a random order, those of each sequence in a row. Entries without keys name no page.
std::vector<int32_t> tableOf(const PagesCase &c) {
  std::vector<int32_t> pages(size_t(c.pages())), table(size_t(c.sequences() * c.room()), -1);
  std::iota(pages.begin(), pages.end(), 0);
  std::shuffle(pages.begin(), pages.end(), std::mt19937(7));
  for (int64_t b = 0; b < c.sequences(); ++b)
    for (int64_t i = 0; i * c.page_size < c.of_k[size_t(b)]; ++i)
      table[size_t(b * c.room() + i)] = pages[size_t(b * c.room() + i)];
  if (c.shared)
    table[size_t(c.room())] = table[0];
  return table;
}

/// Calls `visit(sequence, key, row of the table, row of its page)` for all keys, counted through all sequences.
template <class Visit> void forEachKey(const PagesCase &c, const Visit &visit) {
  int64_t key = 0;
  for (int64_t b = 0; b < c.sequences(); ++b)
    for (int64_t i = 0; i < c.of_k[size_t(b)]; ++i)
      visit(b, key++, b * c.room() + i / c.page_size, i % c.page_size);
}

/// Returns the pool [pages, kv_heads, page_size, dim] of keys [kv_heads, keys, dim], and NaN elsewhere. Keys in a
/// shared page become equal.
std::vector<float> poolOf(const PagesCase &c, std::vector<float> &x, int dim) {
  const std::vector<int32_t> table = tableOf(c);
  std::vector<float> pool(size_t(c.pages() * c.kv_heads * c.page_size * dim), std::numeric_limits<float>::quiet_NaN());
  for (int64_t head = 0; head < c.kv_heads; ++head)
    forEachKey(c, [&](int64_t b, int64_t key, int64_t entry, int64_t row) {
      float *here = &x[size_t((head * c.keys() + key) * dim)];
      float *there = &pool[size_t(((table[size_t(entry)] * c.kv_heads + head) * c.page_size + row) * dim)];
      if (c.shared && b == 1 && row < c.of_k[0] && entry == c.room())
        std::copy_n(there, dim, here);
      else
        std::copy_n(here, dim, there);
    });
  return pool;
}

TestTensor numbers(const std::vector<int32_t> &of) {
  return {{int64_t(of.size())}, Layout::contiguous, Poison::nan, of};
}

/// The tables of sequences one after another, without entries that have no keys.
struct Rows {
  std::vector<int32_t> table, offsets = {0};
};
Rows rowsOf(const PagesCase &c) {
  Rows rows;
  const std::vector<int32_t> table = tableOf(c);
  for (int64_t b = 0; b < c.sequences(); ++b) {
    const int64_t count = (c.of_k[size_t(b)] + c.page_size - 1) / c.page_size;
    rows.table.insert(rows.table.end(), table.begin() + b * c.room(), table.begin() + b * c.room() + count);
    rows.offsets.push_back(int32_t(rows.table.size()));
  }
  return rows;
}

/// The results of packedPages().
struct Packed {
  TestTensor begin, end, pages, page_lengths;
};

Packed packedOf(const PagesCase &c) {
  const int64_t entries = int64_t(rowsOf(c).table.size()) + c.unused;
  const auto written = [](int64_t count) { return numbers(std::vector<int32_t>(size_t(count), 0x5a5a5a5a)); };
  Packed packed = {written(c.queries()), written(c.queries()), written(entries), written(entries)};
  const Rows rows = rowsOf(c);
  const TestTensor lengths = numbers({c.of_k.begin(), c.of_k.end()}), offsets_q = numbers(offsetsOf(c.of_q)),
                   row_table = numbers(rows.table), row_offsets = numbers(rows.offsets),
                   table({c.sequences(), c.room()}, Layout::contiguous, Poison::nan, tableOf(c));
  const Expected<PlanSpec> spec = packedPages({.page_size = c.page_size, .page_offsets = c.page_offsets});
  require(spec.status());
  const Plan plan = valueOf(Plan::make(*spec, *machine().cache));
  const ScratchMemory workspace(valueOf(plan.workspaceBytes({{"sequences", c.sequences()}})));
  std::vector<Argument> arguments = {lengths.ref(), c.page_offsets ? row_table.ref() : table.ref()};
  if (c.page_offsets)
    arguments.emplace_back(row_offsets.ref());
  arguments.insert(arguments.end(), {offsets_q.ref(), int32_t(c.left), int32_t(c.right), packed.begin.ref(),
                                     packed.end.ref(), packed.pages.ref(), packed.page_lengths.ref()});
  require(plan.launch(arguments, workspace.get()));
  require(machine().device->synchronize());
  return packed;
}

void expectRight(const std::vector<float> &found, const std::vector<double> &exact, const std::vector<double> &plain,
                 DType dtype) {
  oracle::Error error = oracle::measure(found, exact, dtype);
  error.plain = oracle::plainError(plain, exact);
  EXPECT_LE(error.ratio(), 2);
}

void run(const PagesCase &c) {
  SCOPED_TRACE(::testing::Message() << toString(c.dtype) << ", pages of " << c.page_size << ", " << c.head_dim
                                    << " columns, window " << c.left << ", " << c.right);
  const auto normal = [&](int64_t count, uint64_t seed) { return oracle::normalNumbers(count, c.dtype, seed); };
  oracle::Inputs inputs = {normal(c.shape().sizeQ(), 1), normal(c.shape().sizeK(), 2), normal(c.shape().sizeV(), 3)};
  const std::vector<float> of_k = poolOf(c, inputs.k, c.head_dim), of_v = poolOf(c, inputs.v, c.value_dim),
                           of_sinks = oracle::normalNumbers(c.heads, f32, 4);
  const TestTensor q(c.dtype, {1, c.heads, c.queries(), c.head_dim}, c.layout, Poison::nan, inputs.q),
      k(c.dtype, {c.pages(), c.kv_heads, c.page_size, c.head_dim}, c.layout, Poison::nan, of_k),
      v(c.dtype, {c.pages(), c.kv_heads, c.page_size, c.value_dim}, c.layout, Poison::nan, of_v),
      o(c.dtype, {1, c.heads, c.queries(), c.value_dim}, c.layout, Poison::nan),
      lse(f32, {1, c.heads, c.queries()}, Layout::contiguous, Poison::nan),
      sinks(f32, {c.heads}, Layout::contiguous, Poison::nan, of_sinks);
  const Packed packed = packedOf(c);
  const Expected<AttentionPlan> plan = AttentionPlan::make(c.problem(), *machine().cache, c.schedule);
  require(plan.status());
  const AttentionShape shape = {1, c.heads, c.kv_heads, c.queries(), 0};
  const ScratchMemory workspace(valueOf(plan->forwardWorkspace(shape)));
  const auto rowOf = [](const TestTensor &tensor) {
    const TensorRef ref = tensor.ref();
    TensorRef row = ref;
    row.rank = 2;
    row.shape[0] = 1, row.shape[1] = ref.shape[0];
    row.strides[0] = ref.shape[0], row.strides[1] = ref.strides[0];
    return row;
  };
  const TestTensor offsets = numbers(offsetsOf(c.of_q));
  const TensorRef of_queries[] = {rowOf(packed.begin), rowOf(packed.end), offsets.ref()};
  AttentionForward call = {.q = q.ref(),
                           .k = k.ref(),
                           .v = v.ref(),
                           .o = o.ref(),
                           .lse = lse.ref(),
                           .scale = 0.3f,
                           .variant_tensors = std::span(of_queries).first(c.listed ? 3 : 2),
                           .page_table = packed.pages.ref(),
                           .page_lengths = packed.page_lengths.ref()};
  if (c.sinks)
    call.sinks = sinks.ref();
  require(plan->forward(call, workspace.get()));
  require(machine().device->synchronize());
  EXPECT_TRUE(o.surroundingsIntact() && lse.surroundingsIntact());
  const oracle::Rules rules = rulesOf(c, of_sinks);
  const oracle::Outputs exact = oracle::forward(c.shape(), rules, 0.3f, inputs),
                        plain = oracle::plainForward(c.shape(), rules, 0.3f, inputs, c.dtype);
  expectRight(o.numbers(), exact.o, plain.o, c.dtype);
  expectRight(lse.numbers(), exact.lse, plain.lse, f32);
}

TEST(PackedPages, PageSizes) {
  for (const int page_size : {1, 7, 16, 48, 64, 256})
    for (const DType dtype : {f32, bf16})
      run({.dtype = dtype, .page_size = page_size, .right = 0});
}

TEST(PackedPages, WindowsAndCausalMasks) {
  for (const auto &[left, right] : {std::pair(-1, -1), {4, 0}, {7, 3}, {-1, 2}, {0, -1}})
    run({.dtype = bf16, .left = left, .right = right});
}

/// The tiles of plans for a GPU: a page is a part of a tile, or has several tiles.
TEST(PackedPages, HeadDimensions) {
  for (const int head_dim : {64, 128, 256})
    for (const int page_size : {16, 256})
      run({.dtype = bf16, .page_size = page_size, .head_dim = head_dim, .value_dim = head_dim, .right = 0});
}

TEST(PackedPages, HeadsBetweenRows) {
  for (const Layout layout : {Layout::permuted, Layout::padded, Layout::scattered})
    run({.dtype = f16, .head_dim = 64, .value_dim = 64, .right = 0, .layout = layout});
}

TEST(PackedPages, BlocksOfLongAndShortSequences) {
  const std::vector<int> of_q = {3, 300, 40, 0, 129, 5, 9}, of_k = {70, 310, 90, 12, 129, 400, 9};
  for (const bool listed : {true, false})
    for (const int page_size : {16, 64})
      run({.dtype = bf16,
           .page_size = page_size,
           .head_dim = 64,
           .value_dim = 64,
           .right = 0,
           .of_q = of_q,
           .of_k = of_k,
           .listed = listed});
}

TEST(PackedPages, SharedPages) {
  for (const DType dtype : {f32, bf16})
    run({.dtype = dtype, .shared = true});
}

TEST(PackedPages, SoftcapAndSinks) { run({.dtype = bf16, .right = 0, .cap = 2, .sinks = true}); }

TEST(PackedPages, OneTableOfAllSequences) {
  for (const int page_size : {8, 64})
    run({.page_size = page_size, .right = 0, .page_offsets = true});
}

TEST(PackedPages, ManySequencesOfFewQueries) {
  PagesCase c{.dtype = bf16, .head_dim = 64, .value_dim = 64, .right = 0, .of_q = {}, .of_k = {}};
  std::mt19937 random(1);
  for (int n = 0; n < 140; ++n) {
    c.of_q.push_back(int(random() % 3));
    c.of_k.push_back(int(random() % 4 == 0 ? 0 : random() % 40));
  }
  run(c);
}

Status statusOf(AttentionProblem problem) {
  problem.page_size = 16;
  return AttentionPlan::make(problem, *machine().cache).status();
}

TEST(PackedPages, ProblemsThatReadNoPages) {
  const AttentionProblem problem{.dtype = f32, .head_dim = 16, .value_dim = 16};
  AttentionProblem backward = problem, blocks = problem, scores = problem, standard = problem, product = problem;
  backward.backward = true;
  blocks.block_mask.source = BlockMask::Source::computed;
  scores.scores_output = ScoresOutput::scores;
  standard.algorithm = Algorithm::standard;
  product.variant = addedProduct(f32, 16);
  for (const auto &[wrong, part] : {std::pair(backward, "a backward pass"),
                                    {blocks, "a block mask"},
                                    {scores, "scores_output"},
                                    {standard, "an algorithm other than flash2"},
                                    {product, "a product"}}) {
    const Status status = statusOf(wrong);
    EXPECT_EQ(status.code(), ErrorCode::unsupported);
    EXPECT_THAT(status.message(), HasSubstr("page_size is 16 and the problem has " + std::string(part)));
  }
  AttentionProblem negative = problem;
  negative.page_size = -1;
  EXPECT_THAT(AttentionPlan::make(negative, *machine().cache).status().message(),
              HasSubstr("argument 'page_size': it is -1; it must be 0, or from 1"));
  EXPECT_THAT(packedPages({}).status().message(), HasSubstr("argument 'page_size': it is 0; it must be from 1"));
}

TEST(PackedPages, CallsThatDoNotFit) {
  const PagesCase c{.page_size = 16, .listed = false};
  const Expected<AttentionPlan> plan = AttentionPlan::make(c.problem(), *machine().cache);
  require(plan.status());
  const TestTensor q(f32, {1, 4, 8, 24}, Layout::contiguous, Poison::nan),
      k(f32, {3, 2, 16, 24}, Layout::contiguous, Poison::nan), v(f32, {3, 2, 16, 16}, Layout::contiguous, Poison::nan),
      o(f32, {1, 4, 8, 16}, Layout::contiguous, Poison::nan), lse(f32, {1, 4, 8}, Layout::contiguous, Poison::nan),
      small(f32, {3, 2, 8, 24}, Layout::contiguous, Poison::nan),
      fewer(f32, {2, 2, 16, 16}, Layout::contiguous, Poison::nan),
      table = numbers({0, 1}), short_table = numbers({0}),
      bounds({1, 8}, Layout::contiguous, Poison::nan, std::vector<int32_t>(8));
  const TensorRef intervals[] = {bounds.ref(), bounds.ref()};
  const AttentionForward right = {.q = q.ref(),
                                  .k = k.ref(),
                                  .v = v.ref(),
                                  .o = o.ref(),
                                  .lse = lse.ref(),
                                  .variant_tensors = intervals,
                                  .page_table = table.ref(),
                                  .page_lengths = table.ref()};
  EXPECT_TRUE(plan->forward(right).ok());
  const auto expectRefused = [&](AttentionForward call, const char *message) {
    const Status status = plan->forward(call);
    EXPECT_EQ(status.code(), ErrorCode::invalid_argument);
    EXPECT_THAT(status.message(), HasSubstr(message));
  };
  AttentionForward call = right;
  call.k = small.ref();
  expectRefused(call,
                "argument 'k': its size 2 is 8; it must be [pages, kv_heads, page_size, columns] with page_size = 16");
  call = right;
  call.v = fewer.ref();
  expectRefused(call, "argument 'v': it has 2 pages; k has 3");
  call = right;
  call.page_lengths = short_table.ref();
  expectRefused(call, "argument 'page_lengths': it has 1 numbers; page_table has 2 entries");
  call = right;
  call.page_table = {};
  expectRefused(call, "page_table");
}

} // namespace
} // namespace tegula::testing
