// SPDX-License-Identifier: MIT
// The command line of `tegula bench`.
#pragma once

#include "bench/attention/measure.h"
#include "outcome.h"
#include "program_options.h"

#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tegula::tools {

/// The options as the user gave them. The default of an empty option depends on the target.
struct BenchOptions {
  std::string target = "auto";
  ProgramOptions program; ///< If it has files, they are timed instead of attention.
  std::optional<DType> dtype;
  std::optional<int64_t> tokens, hidden;
  std::vector<int64_t> head_dims, seqlens;
  std::vector<std::string> causals = {"none", "bottom_right"};
  std::vector<std::string> algorithms = {"flash2"};
  std::vector<std::string> passes = {"forward", "backward"};
  std::vector<std::string> variants; ///< Instead of plain attention.
  Schedule schedule;
  double seconds = 0.3;
  bool ladder = false;
  bool decode = false, varlen = false;
  bool no_check = false;
  bool untuned = false;
  bool no_cache = false;
  std::vector<std::string> add; ///< Files with rows measured elsewhere.
  ReportFiles files;
};

void addBenchOptions(CLI::App &command, BenchOptions &options);

/// Returns the element type of all problems on a target.
DType benchDType(const BenchOptions &options, std::string_view target);
/// Returns the problems to measure on a target, with defaults for options that were left out.
bench::ProblemSet problemGrid(const BenchOptions &options, std::string_view target);

} // namespace tegula::tools
