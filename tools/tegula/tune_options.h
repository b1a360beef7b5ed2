// SPDX-License-Identifier: MIT
// The command line of `tegula tune`.
#pragma once

#include "attention_options.h"
#include "outcome.h"
#include "program_options.h"

#include <optional>
#include <string>
#include <vector>

namespace tegula::tools {

/// The options as the user gave them. An option that is empty follows from the others.
struct TuneOptions {
  AttentionOptions attention; ///< The problem, its sizes and the target.
  ProgramOptions program;     ///< If it has files, they are tuned instead of attention.
  double budget = 60;
  std::optional<int> candidates;
  bool again = false;
  bool exhaustive = false;
  std::vector<Schedule> schedules; ///< If not empty, only these are timed.
  int rounds = 5;
  double seconds = 0.1; ///< The time of each of them in a round.
  ReportFiles files;
};

void addTuneOptions(CLI::App &command, TuneOptions &options);

} // namespace tegula::tools
