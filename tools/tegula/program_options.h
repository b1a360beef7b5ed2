// SPDX-License-Identifier: MIT
// Options that describe a program of the user's: its arguments, its sizes and its grid.
#pragma once

#include "tegula/plan_tuner.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace tegula::tools {

/// The options as the user gave them.
struct ProgramOptions {
  std::vector<std::string> files; ///< Texts of one kernel, recorded with different tunables.
  std::vector<std::string> arguments;
  std::vector<std::string> grids; ///< One for all files, or one for each.
  std::vector<std::string> sizes;
  std::optional<double> tolerance;
  std::string row_gaps; ///< The value of --row-gaps; empty for commands without it.
  uint64_t seed = 0;
};

/// Adds PROGRAM and its options. If it is `required`, the command has no other use.
void addProgramOptions(CLI::App &command, ProgramOptions &options, bool required);

/// Adds --row-gaps, for commands whose results belong to no tuned schedule.
void addRowGaps(CLI::App &command, ProgramOptions &options);

/// Returns the task: a plan of one kernel, with the inputs of the options. Several files are its named programs.
/// `schedule` is the one without tuning. Compiles the programs to know their parameters. Errors begin with the name of
/// the option.
Expected<PlanTask> planTask(const ProgramOptions &options, const Schedule &schedule, Compiler &compiler);

} // namespace tegula::tools
