// SPDX-License-Identifier: MIT
#include "bench/attention/variants.h"

#include "bench/attention/case_measurement.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tegula::bench {
namespace {

using tools::AttentionCase;

constexpr int64_t kWindow = 1024, kDocument = 2048;

int64_t roundedUp(int64_t length, int64_t unit) { return (length + unit - 1) / unit * unit; }

KeySpan allKeys(const AttentionShape &s, int64_t, int64_t) { return {0, s.seqlen_k}; }

KeySpan windowKeys(const AttentionShape &, int64_t first, int64_t last) {
  return {std::max<int64_t>(first - kWindow, 0), last + 1};
}

KeySpan prefixKeys(const AttentionShape &s, int64_t, int64_t last) { return {0, std::max(last + 1, s.seqlen_k / 2)}; }

KeySpan documentKeys(const AttentionShape &s, int64_t first, int64_t last) {
  return {first / kDocument * kDocument, std::min((last / kDocument + 1) * kDocument, s.seqlen_k)};
}

constexpr MeasuredVariant kVariants[] = {
    {"softcap", [](DType) { return softcap(30); }, allKeys},
    {"alibi", [](DType) { return alibi(Alignment::top_left); }, allKeys},
    {"sliding_window", [](DType) { return slidingWindow(kWindow, 0, Alignment::top_left); }, windowKeys},
    {"prefix_lm", [](DType) { return prefixLm(Alignment::top_left); }, prefixKeys},
    {"documents", [](DType) { return documents(); }, documentKeys},
    {"bias", additiveBias, allKeys},
};

/// Scores of a head that exist.
double scoresOf(const MeasuredVariant &variant, const AttentionShape &s) {
  double scores = 0;
  for (int64_t query = 0; query < s.seqlen_q; ++query) {
    KeySpan keys = variant.keys(s, query, query);
    scores += double(keys.end - keys.begin);
  }
  return scores;
}

/// How many keys a query meets on average where blocks are visited as a whole.
double keysVisited(const MeasuredVariant &variant, const AttentionShape &s, const Schedule &schedule) {
  double visited = 0;
  for (int64_t first = 0; first < s.seqlen_q; first += schedule.block_m) {
    const int64_t rows = std::min<int64_t>(schedule.block_m, s.seqlen_q - first);
    KeySpan keys = variant.keys(s, first, first + rows - 1);
    visited += double(rows) * double(std::min(roundedUp(keys.end - keys.begin, schedule.block_n), s.seqlen_k));
  }
  return visited / double(s.seqlen_q);
}

/// Slopes of Press et al. 2021 (8 heads: 1/2, 1/4, ...); half of the keys as a prefix; documents one after another.
std::vector<float> valuesOf(std::string_view tensor, const std::vector<int64_t> &shape, const AttentionShape &s) {
  std::vector<float> values;
  auto fill = [&](auto value) {
    for (int64_t row = 0; row < (shape.size() > 1 ? shape[0] : 1); ++row)
      for (int64_t n = 0; n < shape.back(); ++n)
        values.push_back(float(value(n)));
  };
  if (tensor == "slopes")
    fill([&](int64_t head) { return std::exp2(-8.0 * double(head + 1) / double(s.heads)); });
  else if (tensor == "prefix_length")
    fill([&](int64_t) { return s.seqlen_k / 2; });
  else if (tensor.ends_with("_begin"))
    fill([](int64_t position) { return position / kDocument * kDocument; });
  else if (tensor.ends_with("_end"))
    fill([&](int64_t position) { return std::min((position / kDocument + 1) * kDocument, s.seqlen_k); });
  return values;
}

double flopsOf(const AttentionCase &attention, double scores) {
  const double heads = double(attention.shape.batch) * double(attention.shape.heads);
  return 2 * heads * scores * (attention.problem.head_dim + attention.problem.value_dim);
}

Row median(std::vector<Row> rows) {
  std::sort(rows.begin(), rows.end(), [](const Row &a, const Row &b) { return a.ms < b.ms; });
  return rows[rows.size() / 2];
}

/// Plain attention of the same queries with as many keys as they meet in the variant's blocks, in whole blocks of its
/// own: `share` of its time is what the variant's blocks would take.
struct Unmodified {
  AttentionCase attention;
  double share = 1;
};

Expected<AttentionRecipe> recipeOf(const Machine &machine, const AttentionCase &attention) {
  return resolve(attention.problem, "flash2_forward", machine.cache.target(), attention.schedule, machine.tuned);
}

/// Of a variant that cannot be resolved, and so not be measured either, the same problem.
Unmodified unmodified(const Machine &machine, const MeasuredVariant &variant, const AttentionCase &modified) {
  Unmodified plain{modified};
  plain.attention.problem.variant = {};
  plain.attention.variant_values = {};
  plain.attention.schedule = {}; // The fastest, whatever the variant is measured with.
  const AttentionShape &shape = modified.shape;
  Expected<AttentionRecipe> recipe = recipeOf(machine, modified);
  if (!recipe)
    return plain;
  const double visited = keysVisited(variant, shape, recipe->schedule);
  plain.attention.problem.expected.seqlen_k = std::llround(visited);
  Expected<AttentionRecipe> plainRecipe = recipeOf(machine, plain.attention);
  if (!plainRecipe)
    return plain;
  const int64_t inBlocks = roundedUp(int64_t(std::ceil(visited)), plainRecipe->schedule.block_n);
  plain.attention.shape.seqlen_k = std::min(inBlocks, shape.seqlen_k);
  plain.share = visited / double(plain.attention.shape.seqlen_k);
  return plain;
}

/// Both in turn, because clock and temperature change; shown beside each other, with the shape of the variant.
std::vector<Row> rowsOf(const Machine &machine, const ProblemGrid &grid, const MeasuredVariant &variant,
                        const AttentionCase &attention) {
  constexpr int rounds = 3;
  AttentionCase modified = attention;
  modified.problem.variant = variant.make(grid.dtype);
  modified.variant_values = [&](std::string_view tensor, const std::vector<int64_t> &shape) {
    return valuesOf(tensor, shape, attention.shape);
  };
  const Unmodified plain = unmodified(machine, variant, modified);
  CaseMeasurement ofModified(machine, modified, grid.seconds / rounds),
      ofPlain(machine, plain.attention, grid.seconds / rounds);
  std::vector<Row> modifiedRows, plainRows;
  for (int round = 0; round < rounds; ++round) {
    modifiedRows.push_back(ofModified.forward(flopsOf(modified, scoresOf(variant, attention.shape))));
    plainRows.push_back(ofPlain.forward(forwardFlops(plain.attention)));
    plainRows.back().ms *= plain.share;
  }
  std::vector<Row> rows = {median(std::move(modifiedRows)), median(std::move(plainRows))};
  rows[1].algorithm = kUnmodified;
  for (Row &row : rows) {
    row.variant = variant.name;
    row.batch = attention.shape.batch;
    row.seqlen = attention.shape.seqlen_q;
    row.gigabytes.reset(); // Counted for plain masks only.
  }
  return rows;
}

} // namespace

std::span<const MeasuredVariant> measuredVariants() { return kVariants; }

const MeasuredVariant *findVariant(std::string_view name) {
  auto found = std::find_if(std::begin(kVariants), std::end(kVariants), [&](auto &v) { return v.name == name; });
  return found == std::end(kVariants) ? nullptr : found;
}

std::vector<std::string> variantNames() {
  std::vector<std::string> names;
  for (const MeasuredVariant &variant : kVariants)
    names.emplace_back(variant.name);
  return names;
}

std::vector<Row> measureVariants(const Machine &machine, const ProblemGrid &grid, std::span<const std::string> variants,
                                 const std::function<void(const std::string &)> &progress) {
  ProblemGrid plain = grid;
  plain.causals = {Causal::none};
  plain.algorithms = {Algorithm::flash2};
  plain.backward = false;
  std::vector<Row> rows;
  for (const MeasuredVariant &variant : kVariants) {
    if (std::find(variants.begin(), variants.end(), variant.name) == variants.end())
      continue;
    forEachCase(plain, grid.tokens, grid.seqlens, [&](const AttentionCase &attention) {
      progress(fmt::format("{} D={} N={}", variant.name, attention.problem.head_dim, attention.shape.seqlen_q));
      for (Row &row : rowsOf(machine, grid, variant, attention))
        rows.push_back(std::move(row));
    });
  }
  return rows;
}

} // namespace tegula::bench
