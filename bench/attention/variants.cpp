// SPDX-License-Identifier: MIT
#include "bench/attention/variants.h"

#include "bench/attention/case_measurement.h"
#include "workload/named_variants.h"
#include "workload/timing.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tegula::bench {
namespace {

using tools::AttentionCase, tools::NamedVariant;

int64_t roundedUp(int64_t length, int64_t unit) { return (length + unit - 1) / unit * unit; }

/// Scores of a head that exist.
double scoresOf(const NamedVariant &variant, const AttentionShape &s) {
  double scores = 0;
  for (int64_t query = 0; query < s.seqlen_q; ++query) {
    for (const KeyInterval &keys : variant.measured_keys(s, query, query))
      scores += double(keys.end - keys.begin);
  }
  return scores;
}

/// How many keys a query meets on average where blocks are visited as a whole.
double keysVisited(const NamedVariant &variant, const AttentionShape &s, const Schedule &schedule) {
  double visited = 0;
  for (int64_t first = 0; first < s.seqlen_q; first += schedule.block_m) {
    const int64_t rows = std::min<int64_t>(schedule.block_m, s.seqlen_q - first);
    for (const KeyInterval &keys : variant.measured_keys(s, first, first + rows - 1))
      visited += double(rows) * double(std::min(roundedUp(keys.end - keys.begin, schedule.block_n), s.seqlen_k));
  }
  return visited / double(s.seqlen_q);
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

Expected<KernelConfig> configOf(const Machine &machine, const AttentionCase &attention) {
  return resolve(attention.problem, "flash2_forward", machine.cache.target(), attention.schedule, machine.tuned);
}

/// Returns plain attention with as many blocks. If the variant cannot be resolved, and so not be measured either,
/// returns plain attention over all keys.
Unmodified unmodified(const Machine &machine, const NamedVariant &variant, const AttentionCase &modified) {
  Unmodified plain{modified};
  plain.attention.problem.variant = {};
  plain.attention.variant = nullptr;
  plain.attention.variant_values = {};
  plain.attention.schedule = {}; // The fastest, whatever the variant is measured with.
  const AttentionShape &shape = modified.shape;
  Expected<KernelConfig> resolved = configOf(machine, modified);
  if (!resolved)
    return plain;
  const double visited = keysVisited(variant, shape, resolved->schedule);
  plain.attention.problem.expected.seqlen_k = std::llround(visited);
  Expected<KernelConfig> plainResolved = configOf(machine, plain.attention);
  if (!plainResolved)
    return plain;
  const int64_t inBlocks = roundedUp(int64_t(std::ceil(visited)), plainResolved->schedule.block_n);
  plain.attention.shape.seqlen_k = std::min(inBlocks, shape.seqlen_k);
  plain.share = visited / double(plain.attention.shape.seqlen_k);
  return plain;
}

/// A GPU may take more than its power limit for about a second.
double warmUpMs(const Machine &machine) { return machine.device->target().name == "cuda" ? 2000 : 0; }

/// Both in turn, because clock and temperature change; shown beside each other, with the shape of the variant.
std::vector<Row> rowsOf(const Machine &machine, const ProblemSet &grid, const NamedVariant &variant,
                        const AttentionCase &attention) {
  constexpr int rounds = 3;
  AttentionCase modified = attention;
  tools::setMeasuredVariant(modified, variant);
  const Unmodified plain = unmodified(machine, variant, modified);
  CaseMeasurement ofModified(machine, modified, grid.seconds / rounds),
      ofPlain(machine, plain.attention, grid.seconds / rounds);
  std::vector<Row> modifiedRows, plainRows;
  for (tools::Stopwatch watch; watch.milliseconds() < warmUpMs(machine);)
    ofModified.forward(0), ofPlain.forward(0);
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

std::vector<Row> measureVariants(const Machine &machine, const ProblemSet &grid, std::span<const std::string> variants,
                                 const std::function<void(const std::string &)> &progress) {
  ProblemSet plain = grid;
  plain.causals = {Causal::none};
  plain.algorithms = {Algorithm::flash2};
  plain.backward = false;
  std::vector<Row> rows;
  for (const NamedVariant &variant : tools::namedVariants()) {
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
