// SPDX-License-Identifier: MIT
// What a modification of attention costs: beside plain attention over as many blocks.
#pragma once

#include "bench/attention/measure.h"

#include <span>
#include <string_view>

namespace tegula::bench {

/// Keys `begin` to `end - 1`.
struct KeySpan {
  int64_t begin, end;
};

/// A variant with the numbers that it is measured with. tools/bench-peers has the same ones by the same names.
struct MeasuredVariant {
  std::string_view name;
  Variant (*make)(DType dtype);
  /// The keys that queries `first` to `last` see, from the first to the last one.
  KeySpan (*keys)(const AttentionShape &shape, int64_t first, int64_t last);
};

/// softcap (30), alibi, sliding_window (causal, 1024 keys back), prefix_lm (half of the keys), documents (of 2048
/// tokens) and bias (for each head and batch).
std::span<const MeasuredVariant> measuredVariants();
/// Null if none is called so.
const MeasuredVariant *findVariant(std::string_view name);
std::vector<std::string> variantNames();

/// Row::algorithm of plain attention over as many blocks as the variant visits.
inline constexpr std::string_view kUnmodified = "flash2 unmodified";

/// Two rows for each of `variants`, head dimension and length of the grid: forward, flash2; ProblemGrid::schedule is
/// for the variant. As measureGrid otherwise.
std::vector<Row> measureVariants(const Machine &machine, const ProblemGrid &grid, std::span<const std::string> variants,
                                 const std::function<void(const std::string &)> &progress);

} // namespace tegula::bench
