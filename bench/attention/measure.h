// SPDX-License-Identifier: MIT
// Runs attention over a grid of problems.
#pragma once

#include "bench/attention/report.h"
#include "tegula/attention.h"
#include "tegula/kernel_cache.h"

#include <functional>
#include <memory>

namespace tegula::bench {

/// Which problems: batches of `tokens` tokens, and heads that make up `hidden` numbers, as in section 4.1 of Dao 2023.
struct ProblemSet {
  DType dtype = bf16;
  int64_t tokens = 16384;
  int64_t hidden = 2048;
  std::vector<int64_t> head_dims = {}, seqlens = {};
  std::vector<Causal> causals = {};
  std::vector<Algorithm> algorithms = {};
  bool forward = true, backward = true; ///< Only flash2 has a backward pass.
  Schedule schedule = {};               ///< The library chooses fields that are 0.
  double seconds = 0.3;                 ///< For each row.
};

/// The device, kernels and schedules that the measurements use.
struct Machine {
  std::shared_ptr<Device> device;
  KernelCache &cache;
  const TunedConfigurations *tuned = nullptr; ///< As in AttentionPlan::make.
};

/// Compares each kernel of the grid with double precision at a small size. The error internal names the problem whose
/// error is too large.
Status checkGrid(const Machine &machine, const ProblemSet &grid);

/// The rows of the grid; problems that fail, or do not fit into memory, have an error instead of figures. `progress` is
/// told what is about to run.
std::vector<Row> measureGrid(const Machine &machine, const ProblemSet &grid,
                             const std::function<void(const std::string &)> &progress);

/// The matrix product and the copy, of sizes for a GPU or for a few cores. What the machine lacks is left out.
std::vector<MachineLimit> measureCeilings(const Machine &machine, DType dtype);

} // namespace tegula::bench
