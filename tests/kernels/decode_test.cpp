// SPDX-License-Identifier: MIT
// Tests of decoding against plain loops in 64 bits, with caches full of NaN outside of the sequences.
#include "harness/case.h"
#include "harness/machine.h"
#include "oracle/convert.h"
#include "support/test_device.h"
#include "support/test_tensor.h"
#include "tegula/decode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <random>

namespace tegula::testing {
namespace {

using ::testing::HasSubstr;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

struct Decode {
  DType dtype = f32;
  int64_t heads = 4, kv_heads = 2, queries = 1, capacity = 300;
  int head_dim = 24, value_dim = 16, page = 0;
  bool causal = true, sinks = false;
  int64_t left = kNoBound;
  bool alibi = false, masked = false;
  bool lacks_pages = false; ///< Some pages of sequences have numbers that no page has.
  double cap = 0;
  std::vector<int> lengths = {300, 1, 77, 0, 128};
  Layout layout = Layout::contiguous;
  int64_t spans = 0; ///< 0: as many as the device runs.
  int keys_per_part = 0;
  std::vector<int> begins = {}; ///< Empty: all 0.
  bool page_offsets = false;
  bool page_table_v = false;                ///< Values are in pages of their own.
  CacheLengths counted = CacheLengths::all; ///< The keys that the argument `lengths` counts.
  bool latent = false;
  std::optional<int> prefix = {}; ///< The keys of a prefix, if there is one.
  int64_t prefix_capacity = 150;
  int64_t prefix_parts = 0; ///< 0: as many as the plan chooses.

  int64_t batch() const { return int64_t(lengths.size()); }
  int64_t group() const { return heads / kv_heads; }
  int64_t pagesOfSequence() const { return page != 0 ? (capacity + page - 1) / page : 1; }
  int64_t pagesOfPrefix() const { return page != 0 && prefix ? (prefix_capacity + page - 1) / page : 0; }
  int64_t owners() const { return page != 0 ? batch() * pagesOfSequence() + pagesOfPrefix() + 3 : batch(); }
  int64_t prefixRoom() const { return page != 0 ? pagesOfPrefix() * page : prefix_capacity; }
  /// The keys of the prefix, and those of a sequence without them.
  int64_t before() const { return std::clamp<int64_t>(prefix.value_or(0), 0, prefixRoom()); }
  int64_t own(int64_t b) const { return std::clamp<int64_t>(lengths[size_t(b)], 0, capacity); }
  int64_t keysOfOwner() const { return page != 0 ? page : capacity; }
  int64_t begin(int64_t b) const { return begins.empty() ? 0 : std::max(begins[size_t(b)], 0); }

  DecodeProblem problem() const {
    Variant variant;
    if (left != kNoBound)
      variant = slidingWindow(left, kNoBound, Alignment::bottom_right);
    if (cap != 0)
      variant = combine(variant, softcap(cap));
    if (alibi)
      variant = combine(variant, tegula::alibi(Alignment::bottom_right));
    if (masked)
      variant = combine(variant, Variant{.name = "odd", .mask = [](const ScoreIndex &at, VariantViews) {
                                           return (at.key + at.query + at.head) % 3 != 0;
                                         }});
    return {.dtype = dtype,
            .head_dim = head_dim,
            .value_dim = value_dim,
            .latent = latent,
            .causal = causal,
            .page_size = page,
            .page_offsets = page_offsets,
            .page_table_v = page_table_v,
            .lengths = counted,
            .variant = variant,
            .sinks = sinks,
            .expected_rows = int(group() * queries),
            .begins = !begins.empty(),
            .keys_per_part = keys_per_part,
            .prefix = prefix.has_value()};
  }
};

/// The tensors of a launch. Keys that no sequence has are NaN.
struct DecodeTensors {
  /// Other seeds have other numbers, but the same sequences and pages.
  explicit DecodeTensors(const Decode &d, int seed = 1)
      : pages(pagesOf(d)), table(tableOf(d)),
        q_numbers(oracle::normalNumbers(d.batch() * d.heads * d.queries * d.head_dim, d.dtype, seed)),
        k_numbers(keys(d, false, seed + 1)), v_numbers(d.latent ? firstColumns(d, k_numbers) : keys(d, true, seed + 2)),
        prefix_k_numbers(prefixKeys(d, d.head_dim, seed + 5)),
        prefix_v_numbers(d.latent ? firstColumns(d, prefix_k_numbers) : prefixKeys(d, d.value_dim, seed + 6)),
        slope_numbers(oracle::normalNumbers(d.heads, f32, seed + 3)),
        sink_numbers(oracle::normalNumbers(d.heads, f32, seed + 4)),
        q(d.dtype, {d.batch(), d.heads, d.queries, d.head_dim}, d.layout, Poison::nan, q_numbers),
        k(d.dtype, {d.owners(), d.kv_heads, d.keysOfOwner(), d.head_dim}, d.layout, Poison::nan, k_numbers),
        v(d.dtype, {d.owners(), d.kv_heads, d.keysOfOwner(), d.value_dim}, d.layout, Poison::nan, v_numbers),
        lengths({d.batch()}, Layout::contiguous, Poison::nan, lengthsOf(d)),
        page_table({d.batch(), d.pagesOfSequence()}, Layout::contiguous, Poison::nan, table), rows(rowsOf(d)),
        row_table({rows.back()}, Layout::contiguous, Poison::nan, entriesOf(d, table, rows)),
        page_table_v({d.batch(), d.pagesOfSequence()}, Layout::contiguous, Poison::nan, ofValues(d, table)),
        row_table_v({rows.back()}, Layout::contiguous, Poison::nan, entriesOf(d, ofValues(d, table), rows)),
        page_offsets({d.batch() + 1}, Layout::contiguous, Poison::nan, rows),
        begins({int64_t(d.begins.size())}, Layout::contiguous, Poison::nan, {d.begins.begin(), d.begins.end()}),
        prefix_k(d.dtype, {1, d.kv_heads, d.prefix_capacity, d.head_dim}, d.layout, Poison::nan, prefix_k_numbers),
        prefix_v(d.dtype, {1, d.kv_heads, d.prefix_capacity, d.value_dim}, d.layout, Poison::nan, prefix_v_numbers),
        prefix_lengths({1}, Layout::contiguous, Poison::nan, {d.prefix.value_or(0)}),
        prefix_page_table({1, d.pagesOfPrefix()}, Layout::contiguous, Poison::nan, prefixTableOf(d)),
        slopes(f32, {d.heads}, Layout::contiguous, Poison::nan, slope_numbers),
        sinks(f32, {d.heads}, Layout::contiguous, Poison::nan, sink_numbers),
        o(d.dtype, {d.batch(), d.heads, d.queries, d.value_dim}, d.layout, Poison::nan),
        lse(f32, {d.batch(), d.heads, d.queries}, d.layout, Poison::nan) {}

  /// Returns the argument `lengths`.
  static std::vector<int32_t> lengthsOf(const Decode &d) {
    const std::vector<int32_t> rows = rowsOf(d);
    std::vector<int32_t> lengths(d.lengths.begin(), d.lengths.end());
    for (size_t b = 0; b < lengths.size(); ++b)
      lengths[b] -= d.counted == CacheLengths::before      ? int32_t(d.queries)
                    : d.counted == CacheLengths::last_key  ? 1
                    : d.counted == CacheLengths::last_page ? (rows[b + 1] - rows[b] - 1) * d.page
                                                           : 0;
    return lengths;
  }

  /// Pages in a random order.
  static std::vector<int32_t> pagesOf(const Decode &d) {
    std::vector<int32_t> pages(size_t(d.owners()));
    std::iota(pages.begin(), pages.end(), 0);
    if (d.page != 0)
      std::shuffle(pages.begin(), pages.end(), std::mt19937(7));
    return pages;
  }

  /// Returns the pages of the prefix, and -1 after the last one.
  std::vector<int32_t> prefixTableOf(const Decode &d) const {
    std::vector<int32_t> row;
    for (int64_t p = 0; p < d.pagesOfPrefix(); ++p)
      row.push_back(p * d.page < d.before() ? pages[size_t(d.batch() * d.pagesOfSequence() + p)] : -1);
    return row;
  }

  /// Returns the pages of sequences, and -1 after the last one of a sequence.
  std::vector<int32_t> tableOf(const Decode &d) const {
    std::vector<int32_t> table;
    for (int64_t b = 0; b < d.batch(); ++b)
      for (int64_t p = 0; p < d.pagesOfSequence(); ++p) {
        const bool exists = d.page == 0 || p * d.page < d.lengths[size_t(b)];
        const int32_t beyond = p % 2 == 0 ? -7 : 1 << 30;
        const bool lacks = exists && d.lacks_pages && p % 3 != 1;
        table.push_back(lacks ? beyond : exists ? pages[size_t(b * d.pagesOfSequence() + p)] : -1);
      }
    return table;
  }

  /// Returns the table of values that have pages of their own.
  static std::vector<int32_t> ofValues(const Decode &d, std::vector<int32_t> table) {
    for (int32_t &page : table)
      page = pageOfValues(d, page);
    return table;
  }
  /// Returns the page of the values that belong to a page of keys.
  static int32_t pageOfValues(const Decode &d, int64_t page) { return int32_t(d.owners() - 1 - page); }

  /// Returns where the rows of a table without gaps begin: those of odd sequences have an entry more than they need.
  static std::vector<int32_t> rowsOf(const Decode &d) {
    std::vector<int32_t> rows = {0};
    for (int64_t b = 0; b < d.batch(); ++b) {
      const int64_t keys = std::clamp<int64_t>(d.lengths[size_t(b)], 0, d.capacity), page = std::max(d.page, 1);
      rows.push_back(rows.back() + int32_t(std::min((keys + page - 1) / page + b % 2, d.pagesOfSequence())));
    }
    return rows;
  }

  static std::vector<int32_t> entriesOf(const Decode &d, const std::vector<int32_t> &table,
                                        const std::vector<int32_t> &rows) {
    std::vector<int32_t> entries;
    for (int64_t b = 0; b < d.batch(); ++b)
      std::copy_n(table.begin() + b * d.pagesOfSequence(), rows[size_t(b) + 1] - rows[size_t(b)],
                  std::back_inserter(entries));
    return entries;
  }

  /// Returns where a key or value of a sequence begins in an array of owners (batch entries or pages); -1 if it has no
  /// page.
  int64_t placeOf(const Decode &d, bool value, int64_t b, int64_t head, int64_t key, int64_t columns) const {
    if (d.page == 0)
      return ((b * d.kv_heads + head) * d.capacity + key) * columns;
    const int64_t page = table[size_t(b * d.pagesOfSequence() + key / d.page)];
    return placeInPage(d, value && d.page_table_v ? pageOfValues(d, page) : page, head, key, columns);
  }
  int64_t placeInPage(const Decode &d, int64_t page, int64_t head, int64_t key, int64_t columns) const {
    return page >= 0 && page < d.owners() ? ((page * d.kv_heads + head) * d.page + key % d.page) * columns : -1;
  }
  /// Returns the same for a key of the prefix.
  int64_t placeInPrefix(const Decode &d, int64_t head, int64_t key, int64_t columns) const {
    if (d.page == 0)
      return (head * d.prefix_capacity + key) * columns;
    const int64_t page = d.batch() * d.pagesOfSequence() + key / d.page;
    return placeInPage(d, pages[size_t(page)], head, key, columns);
  }

  /// Returns a key or value of a sequence, counted from the first one of the prefix; null if it has no page.
  const float *keyOf(const Decode &d, bool value, int64_t b, int64_t head, int64_t key) const {
    const int64_t columns = value ? d.value_dim : d.head_dim;
    const bool inPrefix = key < d.before();
    const int64_t place =
        inPrefix ? placeInPrefix(d, head, key, columns) : placeOf(d, value, b, head, key - d.before(), columns);
    const std::vector<float> &numbers =
        inPrefix && d.page == 0 ? (value ? prefix_v_numbers : prefix_k_numbers) : (value ? v_numbers : k_numbers);
    return place < 0 ? nullptr : &numbers[size_t(place)];
  }

  std::vector<float> keys(const Decode &d, bool values, int seed) const {
    const int64_t columns = values ? d.value_dim : d.head_dim;
    const std::vector<float> random =
        oracle::normalNumbers(d.owners() * d.kv_heads * d.keysOfOwner() * columns, d.dtype, seed);
    std::vector<float> numbers(random.size(), nan);
    for (int64_t b = 0; b < d.batch(); ++b)
      for (int64_t key = d.begin(b); key < std::min<int64_t>(d.lengths[size_t(b)], d.capacity); ++key)
        for (int64_t h = 0; h < d.kv_heads; ++h)
          if (const int64_t at = placeOf(d, values, b, h, key, columns); at >= 0)
            std::copy_n(random.begin() + at, columns, numbers.begin() + at);
    for (int64_t key = 0; key < d.before() && d.page != 0; ++key)
      for (int64_t h = 0; h < d.kv_heads; ++h) {
        const int64_t at = placeInPrefix(d, h, key, columns);
        std::copy_n(random.begin() + at, columns, numbers.begin() + at);
      }
    return numbers;
  }

  /// Returns the keys or values of a prefix without pages.
  static std::vector<float> prefixKeys(const Decode &d, int64_t columns, int seed) {
    std::vector<float> numbers = oracle::normalNumbers(d.kv_heads * d.prefix_capacity * columns, d.dtype, seed);
    for (int64_t h = 0; h < d.kv_heads; ++h)
      std::fill(numbers.begin() + (h * d.prefix_capacity + std::min(d.before(), d.prefix_capacity)) * columns,
                numbers.begin() + (h + 1) * d.prefix_capacity * columns, nan);
    return numbers;
  }

  static std::vector<float> firstColumns(const Decode &d, const std::vector<float> &k) {
    std::vector<float> v;
    for (auto row = k.begin(); row != k.end(); row += d.head_dim)
      v.insert(v.end(), row, row + d.value_dim);
    return v;
  }

  std::vector<int32_t> pages, table;
  std::vector<float> q_numbers, k_numbers, v_numbers, prefix_k_numbers, prefix_v_numbers, slope_numbers, sink_numbers;
  TestTensor q, k, v, lengths, page_table;
  std::vector<int32_t> rows;
  TestTensor row_table, page_table_v, row_table_v, page_offsets, begins, prefix_k, prefix_v, prefix_lengths,
      prefix_page_table, slopes, sinks, o, lse;
};

/// Returns the score of a key, -infinity if there is none.
double scoreOf(const Decode &d, const DecodeTensors &t, int64_t b, int64_t h, int64_t i, int64_t key, int64_t length) {
  const int64_t diagonal = length - d.queries + i;
  const bool seen = (!d.causal || key <= diagonal) && (d.left == kNoBound || key >= diagonal - d.left) &&
                    (!d.masked || (key + i + h) % 3 != 0) && (key < d.before() || key - d.before() >= d.begin(b));
  if (!seen)
    return -infinity;
  const float *q = &t.q_numbers[size_t(((b * d.heads + h) * d.queries + i) * d.head_dim)];
  double score = 0; // Of a page that does not exist, whose keys are zeros.
  if (const float *k = t.keyOf(d, false, b, h / d.group(), key))
    score = std::inner_product(q, q + d.head_dim, k, 0.0) / std::sqrt(double(d.head_dim));
  if (d.cap != 0)
    score = d.cap * std::tanh(score / d.cap);
  return d.alibi ? score - t.slope_numbers[size_t(h)] * std::abs(double(diagonal - key)) : score;
}

/// Compares the results of a launch with the definition. P, v and o are rounded to the element type.
void expectRight(const Decode &d, const DecodeTensors &t) {
  const std::vector<float> o = t.o.numbers(), lse = t.lse.numbers();
  for (int64_t row = 0; row < d.batch() * d.heads * d.queries; ++row) {
    const int64_t b = row / d.queries / d.heads, h = row / d.queries % d.heads, i = row % d.queries;
    const int64_t length = d.before() + d.own(b);
    std::vector<double> scores;
    double largest = d.sinks ? t.sink_numbers[size_t(h)] : -infinity, size = 4; // That of the largest finite score.
    for (int64_t key = 0; key < length; ++key) {
      largest = std::max(largest, scores.emplace_back(scoreOf(d, t, b, h, i, key, length)));
      size = std::max(size, scores.back() == -infinity ? 0 : std::abs(scores.back()));
    }
    const double rounding = 0x1p-22 * size + (d.dtype == f32 ? 0 : oracle::unitRoundoff(d.dtype));
    const double origin = largest == -infinity ? 0 : largest;
    double sum = d.sinks ? std::exp(t.sink_numbers[size_t(h)] - origin) : 0;
    std::vector<double> expected(size_t(d.value_dim)), sizes(size_t(d.value_dim));
    for (int64_t key = 0; key < length; ++key) {
      const double p = std::exp(scores[size_t(key)] - origin);
      const float *v = t.keyOf(d, true, b, h / d.group(), key);
      sum += p;
      for (int64_t c = 0; c < d.value_dim && p != 0 && v != nullptr; ++c) {
        expected[size_t(c)] += p * v[c];
        sizes[size_t(c)] += p * std::abs(v[c]);
      }
    }
    if (sum == 0)
      ASSERT_EQ(lse[size_t(row)], -infinity) << "row " << row;
    else
      ASSERT_NEAR(lse[size_t(row)], origin + std::log(sum), 0x1p-21 * size) << "row " << row;
    for (int64_t c = 0; c < d.value_dim; ++c)
      ASSERT_NEAR(o[size_t(row * d.value_dim + c)], sum == 0 ? 0 : expected[size_t(c)] / sum,
                  rounding * (1 + 2 * sizes[size_t(c)] / std::max(sum, 1e-300)))
          << "row " << row << " of batch " << b << ", head " << h << ", query " << i << ", column " << c;
  }
  EXPECT_TRUE(t.o.surroundingsIntact() && t.lse.surroundingsIntact());
}

std::vector<NamedArgument> argumentsOf(const Decode &d, const DecodeTensors &t) {
  std::vector<NamedArgument> arguments = {{"q", t.q.ref()},
                                          {"k", t.k.ref()},
                                          {"v", t.v.ref()},
                                          {"lengths", t.lengths.ref()},
                                          {"o", t.o.ref()},
                                          {"lse", t.lse.ref()},
                                          {"scale", float(1 / std::sqrt(double(d.head_dim)))}};
  if (d.page != 0)
    arguments.push_back({"page_table", d.page_offsets ? t.row_table.ref() : t.page_table.ref()});
  if (d.page_table_v)
    arguments.push_back({"page_table_v", d.page_offsets ? t.row_table_v.ref() : t.page_table_v.ref()});
  if (d.page_offsets)
    arguments.push_back({"page_offsets", t.page_offsets.ref()});
  if (!d.begins.empty())
    arguments.push_back({"begins", t.begins.ref()});
  if (d.prefix && d.page != 0)
    arguments.push_back({"prefix_page_table", t.prefix_page_table.ref()});
  if (d.prefix)
    arguments.insert(
        arguments.end(),
        {{"prefix_lengths", t.prefix_lengths.ref()}, {"prefix_k", t.prefix_k.ref()}, {"prefix_v", t.prefix_v.ref()}});
  if (d.alibi)
    arguments.push_back({"slopes", t.slopes.ref()});
  if (d.sinks)
    arguments.push_back({"sinks", t.sinks.ref()});
  return arguments;
}

/// Returns the arguments in the order of a plan.
std::vector<Argument> inOrder(const Plan &plan, const std::vector<NamedArgument> &named, int64_t spans,
                              int64_t prefix_parts = 0) {
  std::vector<Argument> arguments;
  for (const Parameter &parameter : plan.arguments())
    arguments.push_back(std::ranges::find(named, parameter.name, &NamedArgument::name)->value);
  if (spans != 0)
    arguments.emplace_back(spans);
  if (prefix_parts != 0)
    arguments.emplace_back(prefix_parts);
  return arguments;
}

Plan planOf(const Decode &d) {
  const Expected<PlanSpec> spec = decodeAttention(d.problem(), machine().cache->target());
  require(spec.status());
  return valueOf(Plan::make(*spec, *machine().cache));
}

Sizes sizesOf(const Decode &d, const DecodeTensors &t) {
  Sizes sizes = {{"batch", d.batch()}, {"heads", d.heads}, {"kv_heads", d.kv_heads}, {"seqlen_q", d.queries}};
  if (d.spans != 0)
    sizes.push_back({"num_spans", d.spans});
  if (d.prefix_parts != 0)
    sizes.push_back({"num_prefix_parts", d.prefix_parts});
  if (d.prefix)
    sizes.push_back(d.page != 0 ? NamedSize{"pages_of_prefix", d.pagesOfPrefix()}
                                : NamedSize{"prefix_keys", d.prefix_capacity});
  if (d.keys_per_part != 0)
    sizes.push_back(d.page_offsets ? NamedSize{"table_entries", t.rows.back()}
                    : d.page != 0  ? NamedSize{"pages_of_sequence", d.pagesOfSequence()}
                                   : NamedSize{"seqlen_k", d.capacity});
  return sizes;
}

void run(const Decode &d, const DecodeTensors &t) {
  const Plan plan = planOf(d);
  ScratchMemory workspace(valueOf(plan.workspaceBytes(sizesOf(d, t))));
  require(plan.launch(inOrder(plan, argumentsOf(d, t), d.spans, d.prefix_parts), workspace.get()));
  require(machine().device->synchronize());
}

void runAndExpect(const Decode &d) {
  const DecodeTensors tensors(d);
  run(d, tensors);
  expectRight(d, tensors);
}

/// Returns sequences of up to 70 keys, many of which are empty.
std::vector<int> manyLengths() {
  std::mt19937 random(1);
  std::vector<int> lengths;
  for (int n = 0; n < 300; ++n)
    lengths.push_back(int(random() % 3 == 0 ? 0 : random() % 71));
  return lengths;
}

TEST(Decode, ElementTypesAndLayouts) {
  for (DType dtype : {f32, f16, bf16})
    runAndExpect({.dtype = dtype});
  for (Layout layout : {Layout::padded, Layout::scattered, Layout::reversed})
    runAndExpect({.dtype = bf16, .layout = layout});
}

TEST(Decode, AnyNumberOfSpans) {
  for (int64_t spans : {1, 2, 3, 7, 40, 64, 65, 300}) // With 40, runs have few parts on average, and one has ten.
    runAndExpect({.spans = spans});
}

TEST(Decode, SeveralQueries) {
  for (int64_t queries : {2, 5, 16})
    for (bool causal : {true, false})
      runAndExpect({.queries = queries, .causal = causal, .spans = 5});
}

TEST(Decode, MoreRowsThanATile) { runAndExpect({.dtype = bf16, .heads = 20, .kv_heads = 1, .queries = 7, .spans = 4}); }

TEST(Decode, ManyRowsOfAnyHeadDimension) { // The default schedule fits.
  for (int dim : {64, 128, 192, 256})
    runAndExpect({.dtype = bf16, .heads = 34, .kv_heads = 1, .head_dim = dim, .value_dim = dim, .lengths = {70, 3}});
}

TEST(Decode, Pages) {
  for (int page : {16, 32, 64, 128})
    runAndExpect({.dtype = bf16, .page = page, .spans = 6});
  runAndExpect({.queries = 3, .page = 16, .layout = Layout::scattered});
}

TEST(Decode, PagesOfAMultipleOf16Keys) {
  for (DType dtype : {f32, bf16})
    for (int page : {48, 96, 160})
      runAndExpect({.dtype = dtype, .queries = 2, .page = page, .spans = 6});
  runAndExpect({.dtype = bf16, .heads = 64, .page = 192, .keys_per_part = 64, .page_offsets = true});
  runAndExpect({.dtype = bf16, .head_dim = 64, .value_dim = 48, .page = 80, .latent = true});
  runAndExpect({.dtype = bf16, .heads = 64, .kv_heads = 1, .page = 48, .prefix = 130});
}

/// A tile of keys lies in several pages.
TEST(Decode, PagesThatNoTileDivides) {
  for (int page : {1, 2, 4, 8, 24}) {
    for (DType dtype : {f32, bf16})
      runAndExpect({.dtype = dtype, .queries = 2, .page = page, .spans = 6});
    runAndExpect({.dtype = bf16, .heads = 64, .head_dim = 64, .value_dim = 64, .page = page, .lengths = {300, 1, 77}});
    runAndExpect({.page = page, .left = 70, .alibi = true, .layout = Layout::scattered, .spans = 5});
    runAndExpect({.dtype = bf16, .queries = 2, .page = page, .sinks = true, .keys_per_part = 256});
    runAndExpect({.heads = 2, .kv_heads = 1, .capacity = 70, .page = page, .lengths = manyLengths()});
  }
}

TEST(Decode, TablesOfPagesThatNoTileDivides) {
  for (int page : {1, 4, 8, 24}) {
    runAndExpect({.queries = 2,
                  .page = page,
                  .sinks = true,
                  .left = 40,
                  .lacks_pages = true,
                  .begins = {3, 0, 50, 0, 128},
                  .page_offsets = true});
    runAndExpect({.page = page, .keys_per_part = 256, .page_offsets = true});
    for (bool page_offsets : {false, true})
      runAndExpect({.dtype = bf16,
                    .page = page,
                    .lacks_pages = true,
                    .spans = 6,
                    .page_offsets = page_offsets,
                    .page_table_v = true});
    for (CacheLengths counted : {CacheLengths::before, CacheLengths::last_key, CacheLengths::last_page})
      runAndExpect({.queries = 3, .page = page, .spans = 6, .page_offsets = true, .counted = counted});
  }
}

TEST(Decode, LatentAndPrefixInPagesThatNoTileDivides) {
  for (int page : {1, 2, 8, 24}) {
    runAndExpect({.dtype = bf16,
                  .heads = 16,
                  .kv_heads = 1,
                  .head_dim = 192,
                  .value_dim = 128,
                  .page = page,
                  .lacks_pages = page == 2,
                  .latent = true});
    runAndExpect({.dtype = bf16, .queries = 2, .page = page, .page_offsets = true, .prefix = 130});
    runAndExpect({.dtype = bf16, .heads = 64, .kv_heads = 1, .page = page, .prefix = 130});
    runAndExpect({.head_dim = 40, .value_dim = 24, .page = page, .latent = true, .prefix = 70});
  }
}

TEST(Decode, PageTablesWithoutGaps) {
  for (int page : {16, 64})
    runAndExpect({.dtype = bf16, .page = page, .spans = 6, .page_offsets = true});
  runAndExpect({.queries = 2,
                .page = 32,
                .sinks = true,
                .left = 40,
                .lacks_pages = true,
                .begins = {3, 0, 50, 0, 128},
                .page_offsets = true});
  runAndExpect({.page = 16, .keys_per_part = 32, .page_offsets = true});
  runAndExpect({.heads = 2, .kv_heads = 1, .capacity = 70, .page = 16, .lengths = manyLengths(), .page_offsets = true});
}

TEST(Decode, ValuesInPagesOfTheirOwn) {
  for (bool page_offsets : {false, true})
    for (DType dtype : {f32, bf16})
      runAndExpect({.dtype = dtype, .page = 16, .spans = 6, .page_offsets = page_offsets, .page_table_v = true});
  runAndExpect({.queries = 2, .page = 32, .lacks_pages = true, .page_table_v = true});
  runAndExpect({.heads = 2, .kv_heads = 1, .capacity = 70, .page = 16, .lengths = manyLengths(), .page_table_v = true});
}

TEST(Decode, WhatLengthsCount) {
  for (CacheLengths counted : {CacheLengths::before, CacheLengths::last_key})
    for (int page : {0, 16})
      runAndExpect({.queries = 3, .page = page, .spans = 6, .counted = counted});
  runAndExpect({.dtype = bf16, .page = 16, .page_offsets = true, .counted = CacheLengths::last_page});
  runAndExpect({.queries = 2, .lengths = {40, 3, 0}, .counted = CacheLengths::before, .prefix = 90});
  runAndExpect(
      {.heads = 2, .kv_heads = 1, .capacity = 70, .lengths = manyLengths(), .counted = CacheLengths::last_key});
  runAndExpect({.lengths = {std::numeric_limits<int>::max(), 5 - (1 << 30)}, .counted = CacheLengths::last_key});
}

TEST(Decode, OffsetsThatNoTableHasAreClipped) {
  const Decode d{.page = 16, .lengths = {40, 40, 40, 40}, .spans = 3, .page_offsets = true};
  DecodeTensors t(d);
  // The last sequence begins where its table ends, and the others have too few entries.
  t.page_offsets = TestTensor({5}, Layout::contiguous, Poison::nan, {-7, 1, 0, 1 << 30, -1});
  run(d, t);
  EXPECT_TRUE(t.o.surroundingsIntact() && t.lse.surroundingsIntact());
  const std::vector<float> lse = t.lse.numbers();
  for (int64_t h = 0; h < d.heads; ++h) {
    EXPECT_NE(lse[size_t(h)], -infinity);
    EXPECT_EQ(lse[size_t(d.heads + h)], -infinity);
    EXPECT_EQ(lse[size_t(3 * d.heads + h)], -infinity);
  }
}

TEST(Decode, PagesThatDoNotExistAreZeros) {
  for (DType dtype : {f32, bf16})
    runAndExpect({.dtype = dtype, .queries = 2, .page = 32, .lacks_pages = true, .spans = 6});
}

TEST(Decode, Variants) {
  runAndExpect({.queries = 3, .left = 20, .spans = 5});
  runAndExpect({.queries = 2, .page = 16, .left = 70, .spans = 5});
  runAndExpect({.sinks = true});
  runAndExpect({.queries = 2, .alibi = true, .cap = 2.5, .spans = 4});
  runAndExpect({.queries = 2, .masked = true, .spans = 4});
}

TEST(Decode, Begins) {
  const std::vector<int> begins = {299, 0, 20, 5, 128};
  runAndExpect({.spans = 5, .begins = begins});
  runAndExpect({.dtype = bf16, .queries = 3, .page = 16, .left = 30, .begins = {-4, 1, 76, 1 << 30, 64}});
  runAndExpect({.queries = 2, .sinks = true, .alibi = true, .keys_per_part = 256, .begins = begins});
}

TEST(Decode, PartsOfAFixedNumberOfKeys) {
  for (int page : {0, 16})
    runAndExpect({.dtype = bf16, .queries = 2, .page = page, .sinks = true, .keys_per_part = page != 0 ? 32 : 256});
  runAndExpect({.left = 20, .spans = 3, .keys_per_part = 256});

  // The sequence alone has the bits that it has among others.
  Decode many{.capacity = 900, .lengths = {900, 700, 3, 0, 850}, .keys_per_part = 256}, one = many;
  one.lengths = {900};
  const DecodeTensors all(many), alone(one);
  run(many, all);
  run(one, alone);
  const std::vector<float> of_one = alone.o.numbers();
  const std::vector<float> of_all = all.o.numbers();
  EXPECT_TRUE(std::equal(of_one.begin(), of_one.end(), of_all.begin()));
}

TEST(Decode, ManySequences) {
  runAndExpect({.heads = 2, .kv_heads = 1, .capacity = 1100, .lengths = manyLengths(), .spans = 9});
}

TEST(Decode, ManyShortSequencesAreNotCut) {
  const std::vector<int> lengths = manyLengths();
  runAndExpect({.dtype = bf16, .heads = 2, .kv_heads = 1, .capacity = 70, .lengths = lengths});
  runAndExpect({.heads = 6,
                .kv_heads = 2,
                .queries = 3,
                .capacity = 80,
                .page = 16,
                .sinks = true,
                .left = 20,
                .lengths = lengths});
  Decode d{.heads = 2,
           .kv_heads = 1,
           .queries = 2,
           .capacity = 70,
           .alibi = true,
           .masked = true,
           .cap = 2.5,
           .lengths = lengths,
           .layout = Layout::scattered};
  for (const int length : lengths)
    d.begins.push_back(length / 3);
  runAndExpect(d);
}

TEST(Decode, LengthsBeyondTheCacheAreThoseOfTheCache) {
  runAndExpect({.lengths = {1 << 30, -5, 301}, .spans = 3});
  runAndExpect({.lengths = {0, 0}, .spans = 3});
}

TEST(Decode, HeadsOfAnySize) {
  for (auto [head_dim, value_dim] : {std::pair{1, 3}, {37, 37}, {100, 62}})
    for (DType dtype : {f32, bf16})
      runAndExpect({.dtype = dtype, .head_dim = head_dim, .value_dim = value_dim, .page = 16, .spans = 5});
}

TEST(Decode, WideHeads) { // Those of multi-head latent attention.
  for (int64_t heads : {16, 40})
    runAndExpect({.dtype = bf16, .heads = heads, .kv_heads = 1, .head_dim = 576, .value_dim = 512, .spans = 5});
  runAndExpect({.heads = 3,
                .kv_heads = 1,
                .queries = 2,
                .capacity = 100,
                .head_dim = 320,
                .value_dim = 272,
                .page = 16,
                .lengths = {100, 33}});
}

TEST(DecodePrefix, ElementTypesAndLayouts) {
  for (DType dtype : {f32, f16, bf16})
    runAndExpect({.dtype = dtype, .prefix = 140});
  for (Layout layout : {Layout::padded, Layout::scattered, Layout::reversed})
    runAndExpect({.dtype = bf16, .layout = layout, .prefix = 150});
}

TEST(DecodePrefix, AnyNumberOfKeysAndParts) {
  for (int keys : {0, 1, 16, 63, 64, 149, 150, 151, 1 << 30, -3})
    runAndExpect({.lengths = {30, 1, 0, 64}, .prefix = keys});
  for (int64_t parts : {1, 2, 3, 7})
    runAndExpect({.dtype = bf16, .lengths = {30, 1, 0, 64}, .spans = 3, .prefix = 150, .prefix_parts = parts});
}

TEST(DecodePrefix, SequencesWithoutOwnKeys) {
  runAndExpect({.lengths = {0, 0, 0}, .prefix = 100});
  runAndExpect({.lengths = {0, 0, 0}, .prefix = 0});
  runAndExpect({.queries = 5, .sinks = true, .lengths = {0, 2, 9}, .prefix = 3});
}

TEST(DecodePrefix, SeveralQueries) { // Of sequences with fewer own keys some have their diagonal in the prefix.
  for (int64_t queries : {2, 5, 16})
    for (bool causal : {true, false})
      runAndExpect({.queries = queries, .causal = causal, .lengths = {40, 1, 7, 0, 12}, .prefix = 90});
}

TEST(DecodePrefix, MoreRowsThanATile) {
  runAndExpect({.dtype = bf16,
                .heads = 20,
                .kv_heads = 1,
                .queries = 3,
                .capacity = 40,
                .lengths = {40, 3, 0, 9},
                .prefix = 150});
  runAndExpect({.dtype = bf16, .heads = 2, .kv_heads = 1, .capacity = 70, .lengths = manyLengths(), .prefix = 150});
}

TEST(DecodePrefix, Pages) {
  for (int page : {16, 64})
    for (bool page_offsets : {false, true})
      runAndExpect({.dtype = bf16, .queries = 2, .page = page, .page_offsets = page_offsets, .prefix = 130});
}

TEST(DecodePrefix, Variants) {
  for (int64_t left : {10, 100}) // The window of some sequences ends within the prefix, that of others before it.
    for (int keys_per_part : {0, 256})
      runAndExpect(
          {.queries = 3, .left = left, .lengths = {300, 1, 77, 0, 128}, .keys_per_part = keys_per_part, .prefix = 150});
  runAndExpect({.sinks = true, .prefix = 64});
  runAndExpect({.queries = 2, .alibi = true, .cap = 2.5, .prefix = 90});
  runAndExpect({.dtype = bf16, .queries = 2, .masked = true, .prefix = 90});
  runAndExpect({.queries = 2, .page = 16, .alibi = true, .masked = true, .begins = {3, 0, 50, 0, 128}, .prefix = 90});
}

TEST(DecodePrefix, HeadsOfAnySize) {
  for (auto [head_dim, value_dim] : {std::pair{1, 3}, {128, 128}, {100, 62}, {200, 256}})
    runAndExpect({.dtype = bf16, .head_dim = head_dim, .value_dim = value_dim, .lengths = {40, 3}, .prefix = 150});
  runAndExpect({.dtype = bf16,
                .heads = 16,
                .kv_heads = 1,
                .capacity = 40,
                .head_dim = 576,
                .value_dim = 512,
                .lengths = {40, 3},
                .prefix = 50,
                .prefix_capacity = 64});
}

TEST(DecodePrefix, Latent) {
  for (int page : {0, 16})
    runAndExpect({.dtype = bf16,
                  .heads = 16,
                  .kv_heads = 1,
                  .capacity = 40,
                  .head_dim = 192,
                  .value_dim = 128,
                  .page = page,
                  .lengths = {40, 3, 0},
                  .latent = true,
                  .prefix = 70});
}

TEST(DecodePrefix, PartsOfAFixedNumberOfKeys) {
  // A sequence alone has the bits that it has among others.
  Decode many{
      .capacity = 700, .lengths = {700, 3, 0, 650}, .keys_per_part = 256, .prefix = 600, .prefix_capacity = 600},
      one = many;
  one.lengths = {700};
  const DecodeTensors all(many), alone(one);
  run(many, all);
  run(one, alone);
  expectRight(many, all);
  const std::vector<float> of_one = alone.o.numbers(), of_all = all.o.numbers();
  EXPECT_TRUE(std::equal(of_one.begin(), of_one.end(), of_all.begin()));
}

/// A captured launch may be replayed with other lengths: neither the plan nor its workspace depends on them.
TEST(DecodePrefix, LengthsMayChange) {
  Decode d{.dtype = bf16, .queries = 2, .page = 16, .prefix = 150};
  const Plan plan = planOf(d);
  ScratchMemory workspace(valueOf(plan.workspaceBytes(sizesOf(d, DecodeTensors(d)))));
  for (const auto &[lengths, prefix] :
       {std::pair{d.lengths, 150}, {std::vector<int>{0, 5, 300, 16, 0}, 17}, {std::vector<int>{1, 1, 1, 1, 1}, 0}}) {
    d.lengths = lengths;
    d.prefix = prefix;
    const DecodeTensors tensors(d);
    require(plan.launch(inOrder(plan, argumentsOf(d, tensors), 0), workspace.get()));
    require(machine().device->synchronize());
    expectRight(d, tensors);
  }
}

/// Layers have queries, keys and values of their own, and one preparation.
TEST(Decode, LayersShareAPreparation) {
  const std::vector<int> other = {5, 300, 16, 0, 299};
  for (const Decode &all :
       {Decode{.dtype = bf16, .queries = 3, .left = 100}, Decode{.page = 16, .page_offsets = true},
        Decode{.spans = 3, .begins = {3, 0, 70, 0, 128}}, Decode{.keys_per_part = 256},
        Decode{.page = 32, .page_table_v = true, .counted = CacheLengths::last_key},
        Decode{.dtype = bf16, .page = 16, .prefix = 140}, Decode{.spans = 4, .prefix = 70, .prefix_parts = 3},
        Decode{.dtype = bf16, .kv_heads = 1, .head_dim = 32, .latent = true},
        Decode{.kv_heads = 4, .capacity = 64, .lengths = std::vector<int>(64, 40)}}) {
    const Plan plan = planOf(all);
    for (const std::vector<int> &lengths : {all.lengths, other}) {
      Decode d = all;
      if (d.batch() == int64_t(other.size()))
        d.lengths = lengths;
      const DecodeTensors first(d, 1), second(d, 11);
      const int64_t bytes = valueOf(plan.workspaceBytes(sizesOf(d, first))),
                    prepared_bytes = valueOf(plan.preparedBytes(sizesOf(d, first)));
      ScratchMemory prepared(prepared_bytes), workspace(bytes), rest(bytes - prepared_bytes);
      std::vector<Argument> few = inOrder(plan, argumentsOf(d, first), 0);
      few.erase(few.begin() + std::ptrdiff_t(plan.preparedArguments()), few.end());
      for (const int64_t choice : {d.spans, d.prefix_parts})
        if (choice != 0)
          few.emplace_back(choice);
      require(plan.prepare(few, prepared.get()));
      for (const DecodeTensors *layer : {&first, &second}) {
        const std::vector<Argument> arguments = inOrder(plan, argumentsOf(d, *layer), d.spans, d.prefix_parts);
        require(plan.launch(arguments, workspace.get()));
        const auto o = layer->o.bits(), lse = layer->lse.bits();
        require(plan.launch(arguments, rest.get(), {}, prepared.get()));
        EXPECT_TRUE(layer->o.bits() == o && layer->lse.bits() == lse);
        expectRight(d, *layer);
      }
    }
  }
}

/// The executor reports accesses outside of tensors.
TEST(Decode, WhatIsPreparedForOthersLeadsNowhereElse) {
  for (const Decode &all : {Decode{.heads = 32}, Decode{.page = 16, .page_offsets = true}, Decode{.spans = 3},
                            Decode{.dtype = bf16, .page = 16, .prefix = 140}}) {
    Decode other = all;
    other.lengths = {5, 300, 16, 0};
    const Plan plan = planOf(all);
    const DecodeTensors tensors(all), others(other);
    ScratchMemory prepared(valueOf(plan.preparedBytes(sizesOf(all, tensors)))),
        workspace(valueOf(plan.workspaceBytes(sizesOf(all, tensors))));
    std::vector<Argument> few = inOrder(plan, argumentsOf(other, others), 0);
    few.erase(few.begin() + std::ptrdiff_t(plan.preparedArguments()), few.end());
    if (all.spans != 0)
      few.emplace_back(all.spans);
    require(plan.prepare(few, prepared.get()));
    require(plan.launch(inOrder(plan, argumentsOf(all, tensors), all.spans), workspace.get(), {}, prepared.get()));
    require(machine().device->synchronize());
    EXPECT_TRUE(tensors.o.surroundingsIntact() && tensors.lse.surroundingsIntact());
  }
}

/// Sequences do not each read the prefix: its keys are read once by each tile of rows.
TEST(DecodePrefix, ATileHasTheRowsOfManySequences) {
  const Expected<PlanSpec> spec =
      decodeAttention({.head_dim = 128, .value_dim = 128, .expected_rows = 4, .prefix = true}, {"cuda", "sm_90a", ""});
  require(spec.status());
  const auto kernel = std::ranges::find(spec->kernels(), "decode_prefix", &KernelSpec::name);
  ASSERT_NE(kernel, spec->kernels().end());
  const Sizes sizes = {{"batch", 64},   {"heads", 32},           {"kv_heads", 8},
                       {"seqlen_q", 1}, {"num_prefix_parts", 5}, {"prefix_keys", 8192}};
  const auto along = [&](int axis) { return valueOf(evaluate(kernel->gridSizes()[size_t(axis)], sizes)); };
  EXPECT_EQ(along(0), 5);
  EXPECT_EQ(along(1), 2); // Tiles of 128 rows: each has four rows of 32 sequences.
  EXPECT_EQ(along(2), 8);
}

/// v is the first columns of k. Keys that no sequence has are NaN, and so would be its values.
TEST(Decode, Latent) {
  const Decode shape{.dtype = bf16,
                     .heads = 16,
                     .kv_heads = 1,
                     .head_dim = 576,
                     .value_dim = 512,
                     .lengths = {300, 1, 77, 0, 64},
                     .latent = true};
  for (Layout layout : {Layout::contiguous, Layout::padded, Layout::scattered}) {
    Decode d = shape;
    d.layout = layout;
    d.spans = 3;
    runAndExpect(d);
  }
  for (int page : {16, 64, 128}) {
    Decode d = shape;
    d.heads = 70;
    d.page = page;
    d.lacks_pages = page == 64;
    d.sinks = true;
    runAndExpect(d);
  }
  Decode several = shape;
  several.dtype = f16;
  several.queries = 3;
  several.spans = 40;
  several.left = 70;
  runAndExpect(several);
  Decode steep = shape; // The maximum of each row rises with the last keys, which one warpgroup has.
  steep.heads = 40;
  steep.alibi = true;
  steep.lengths = {130, 257};
  runAndExpect(steep);
}

TEST(Decode, LatentOfAnyKind) {
  const Decode shape{.heads = 6, .kv_heads = 2, .head_dim = 40, .value_dim = 24, .latent = true};
  for (DType dtype : {f32, bf16}) {
    Decode d = shape;
    d.dtype = dtype;
    runAndExpect(d);
    d.begins = {5, 0, 70, 0, 128};
    runAndExpect(d);
  }
  Decode many = shape;
  many.dtype = bf16;
  many.head_dim = 192;
  many.value_dim = 128;
  many.capacity = 70;
  many.lengths = manyLengths();
  runAndExpect(many);
}

TEST(Decode, SaysWhatIsWrong) {
  const Target &target = machine().cache->target();
  const auto message = [&](DecodeProblem problem) { return decodeAttention(problem, target).status().message(); };
  EXPECT_THAT(message({.head_dim = 0, .value_dim = 8}), HasSubstr("argument 'head_dim': it is 0"));
  EXPECT_THAT(message({.head_dim = 584, .value_dim = 8}),
              HasSubstr("argument 'head_dim': it is 584; it must be from 1 to 576"));
  EXPECT_THAT(message({.head_dim = 8, .value_dim = 8, .page_offsets = true}),
              HasSubstr("argument 'page_offsets': it is set, but page_size is 0; only a problem with pages has a page "
                        "table"));
  EXPECT_THAT(message({.head_dim = 8, .value_dim = 8, .lengths = CacheLengths::last_page}),
              HasSubstr("argument 'lengths': they are those of last pages, but page_offsets is not set"));
  EXPECT_THAT(message({.head_dim = 8, .value_dim = 8, .page_table_v = true}),
              HasSubstr("argument 'page_table_v': it is set, but page_size is 0"));
  EXPECT_THAT(
      message({.head_dim = 8, .value_dim = 8, .latent = true, .page_size = 16, .page_table_v = true}),
      HasSubstr("argument 'page_table_v': it is set with latent, which has no argument v; then v has the pages of k"));
  EXPECT_THAT(message({.head_dim = 8, .value_dim = 8, .page_size = 16, .page_table_v = true, .prefix = true}),
              HasSubstr("argument 'page_table_v': it is set with prefix; then v has the pages of k"));
  EXPECT_THAT(message({.head_dim = 8, .value_dim = 520}),
              HasSubstr("argument 'value_dim': it is 520; it must be from 1 to 512"));
  EXPECT_THAT(message({.head_dim = 8, .value_dim = 16, .latent = true}),
              HasSubstr("argument 'value_dim': it is 16; with latent it must be at most head_dim, 8"));
  EXPECT_THAT(message({.head_dim = 8, .value_dim = 8, .page_size = -1}),
              HasSubstr("argument 'page_size': it is -1; it must be at least 0"));
  EXPECT_THAT(message({.head_dim = 8, .value_dim = 8, .page_size = 8, .keys_per_part = 8}),
              HasSubstr("argument 'keys_per_part': it is 8; it must be 0 or a multiple of 256"));
  EXPECT_THAT(message({.head_dim = 8, .value_dim = 8, .keys_per_part = 100}),
              HasSubstr("argument 'keys_per_part': it is 100; it must be 0 or a multiple of 256"));
  EXPECT_THAT(message({.head_dim = 8, .value_dim = 8, .variant = prefixLm(Alignment::bottom_right)}),
              HasSubstr("has a range, which decoding does not have; it has bands, a score and a mask"));
  EXPECT_THAT(
      message({.head_dim = 8, .value_dim = 8, .causal = false, .variant = slidingWindow(3, 0, Alignment::top_left)}),
      HasSubstr("counts from top_left; decoding counts from bottom_right"));
  const Decode odd{.heads = 5};
  const DecodeTensors tensors(odd);
  const Plan plan = planOf(odd);
  ScratchMemory workspace(1 << 20);
  EXPECT_THAT(plan.launch(inOrder(plan, argumentsOf(odd, tensors), 0), workspace.get()).message(),
              HasSubstr("the heads of k must divide those of q"));
  const Decode paged{.heads = 32, .kv_heads = 32, .page = 16};
  const DecodeTensors pages(paged);
  std::vector<NamedArgument> arguments = argumentsOf(paged, pages);
  TensorRef table = pages.page_table.ref();
  const auto refusal = [&](int64_t columns) {
    table.shape[1] = columns;
    std::ranges::find(arguments, "page_table", &NamedArgument::name)->value = table;
    const Plan plan = planOf(paged);
    return plan.launch(inOrder(plan, arguments, 0), workspace.get()).message();
  };
  EXPECT_THAT(refusal(int64_t(1) << 27), HasSubstr("a sequence has room for more than 2^30 - 1024 keys"));
  EXPECT_THAT(refusal((int64_t(1) << 26) - 64),
              HasSubstr("all sequences together have room for more than 2^30 blocks"));
  const Decode shared{.prefix = 10};
  const DecodeTensors of_shared(shared);
  arguments = argumentsOf(shared, of_shared);
  for (const auto &[name, tensor] :
       {std::pair{"prefix_k", of_shared.prefix_k.ref()}, {"prefix_v", of_shared.prefix_v.ref()}}) {
    TensorRef large = tensor;
    large.shape[2] = 1 << 30;
    std::ranges::find(arguments, name, &NamedArgument::name)->value = large;
  }
  const Plan sharing = planOf(shared);
  EXPECT_THAT(sharing.launch(inOrder(sharing, arguments, 0), workspace.get()).message(),
              HasSubstr("a sequence has room for more than 2^30 - 1024 keys"));
}

} // namespace
} // namespace tegula::testing
