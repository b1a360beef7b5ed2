// SPDX-License-Identifier: MIT
// What a modification of attention costs: beside plain attention over as many blocks.
#pragma once

#include "bench/attention/measure.h"

#include <span>
#include <string_view>

namespace tegula::bench {

/// Row::algorithm of plain attention over as many blocks as the variant visits.
inline constexpr std::string_view kUnmodified = "flash2 unmodified";

/// Two rows for each of `variants`, head dimension and length of the grid: forward, flash2; ProblemSet::schedule is
/// for the variant. As measureGrid otherwise.
std::vector<Row> measureVariants(const Machine &machine, const ProblemSet &grid, std::span<const std::string> variants,
                                 const std::function<void(const std::string &)> &progress);

} // namespace tegula::bench
