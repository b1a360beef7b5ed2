// SPDX-License-Identifier: MIT
// Measures one problem.
#pragma once

#include "bench/attention/measure.h"
#include "workload/attention_run.h"

namespace tegula::bench {

/// Calls visit(case) for every problem of `grid`, with batches and heads from `tokens` and ProblemSet::hidden.
void forEachCase(const ProblemSet &grid, int64_t tokens, const std::vector<int64_t> &seqlens,
                 const std::function<void(const tools::AttentionCase &)> &visit);

/// Rows of one problem; they have an error instead of figures where something fails.
class CaseMeasurement {
public:
  /// Compiles and fills tensors. Each row takes `seconds`.
  CaseMeasurement(const Machine &machine, const tools::AttentionCase &attention, double seconds);

  Row forward(double flops);
  Row backward(double flops); ///< Runs the forward pass first, which writes what the backward pass reads.

private:
  Row measured(const char *pass, const std::function<Status()> &work, double flops,
               double (*traffic)(const tools::AttentionCase &, const AttentionPlan &)) const;

  tools::AttentionCase attention_;
  double seconds_;
  Expected<tools::AttentionRun> run_;
};

} // namespace tegula::bench
