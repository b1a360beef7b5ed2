// SPDX-License-Identifier: MIT
// From naive to fastest: what each idea and each means of the machine gives, by schedules that anybody can ask for.
#pragma once

#include "bench/attention/measure.h"

namespace tegula::bench {

/// A row for each step that the machine has, on each problem of the grid: forward, with the step's name as
/// Row::algorithm. As measureGrid otherwise.
std::vector<Row> measureLadder(const Machine &machine, const ProblemSet &grid,
                               const std::function<void(const std::string &)> &progress);

/// A Markdown table of TFLOP/s for each group: steps down, lengths across.
std::string toMarkdown(const Report &report);

} // namespace tegula::bench
