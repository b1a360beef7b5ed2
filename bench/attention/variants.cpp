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

double allScores(const AttentionShape &s) { return double(s.seqlen_q) * double(s.seqlen_k); }

/// A triangle at the start of the sequence, then `kWindow + 1` keys for each query.
double windowScores(const AttentionShape &s) {
  const double left = double(std::min(s.seqlen_q - 1, kWindow));
  return double(s.seqlen_q) * (left + 1) - left * (left + 1) / 2;
}

double prefixScores(const AttentionShape &s) {
  const double prefix = double(s.seqlen_k / 2), rest = double(s.seqlen_q) - prefix;
  return double(s.seqlen_q) * prefix + rest * (rest + 1) / 2;
}

double documentScores(const AttentionShape &s) { return double(s.seqlen_q) * double(std::min(s.seqlen_k, kDocument)); }

AttentionShape same(const AttentionShape &s) { return s; }

/// The same queries, and so many keys that `scores` of them exist.
template <double (*scores)(const AttentionShape &)> AttentionShape fewerKeys(const AttentionShape &s) {
  AttentionShape plain = s;
  plain.seqlen_k = std::llround(scores(s) / double(s.seqlen_q));
  return plain;
}

AttentionShape aBatchOfDocuments(const AttentionShape &s) {
  AttentionShape plain = s;
  plain.seqlen_q = plain.seqlen_k = std::min(s.seqlen_q, kDocument);
  plain.batch = s.batch * s.seqlen_q / plain.seqlen_q;
  return plain;
}

constexpr MeasuredVariant kVariants[] = {
    {"softcap", [](DType) { return softcap(30); }, allScores, same},
    {"alibi", [](DType) { return alibi(Alignment::top_left); }, allScores, same},
    {"sliding_window", [](DType) { return slidingWindow(kWindow, 0, Alignment::top_left); }, windowScores,
     fewerKeys<windowScores>},
    {"prefix_lm", [](DType) { return prefixLm(Alignment::top_left); }, prefixScores, fewerKeys<prefixScores>},
    {"documents", [](DType) { return documents(); }, documentScores, aBatchOfDocuments},
    {"bias", additiveBias, allScores, same},
};

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
  else if (tensor.ends_with("_document"))
    fill([](int64_t position) { return position / kDocument; });
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

/// Both in turn, because clock and temperature change; shown beside each other, with the shape of the variant.
std::vector<Row> rowsOf(const Machine &machine, const ProblemGrid &grid, const MeasuredVariant &variant,
                        const AttentionCase &attention) {
  constexpr int rounds = 3;
  AttentionCase modified = attention, plain = attention;
  modified.problem.variant = variant.make(grid.dtype);
  modified.variant_values = [&](std::string_view tensor, const std::vector<int64_t> &shape) {
    return valuesOf(tensor, shape, attention.shape);
  };
  plain.shape = plain.problem.expected = variant.plain(attention.shape);
  plain.schedule = {}; // The fastest, whatever the variant is measured with.
  CaseMeasurement ofModified(machine, modified, grid.seconds / rounds), ofPlain(machine, plain, grid.seconds / rounds);
  std::vector<Row> modifiedRows, plainRows;
  for (int round = 0; round < rounds; ++round) {
    modifiedRows.push_back(ofModified.forward(flopsOf(modified, variant.scores(attention.shape))));
    plainRows.push_back(ofPlain.forward(forwardFlops(plain)));
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
