// SPDX-License-Identifier: MIT
// The commands that work on a program of the user's.
#pragma once

#include "bench_options.h"
#include "exploration_options.h"
#include "outcome.h"
#include "program_options.h"

#include <string>
#include <vector>

namespace tegula::tools {

/// The command line of `tegula simt`.
struct SimtCommandOptions {
  ProgramOptions program;
  ExplorationOptions exploration;
  std::string arch = "sm_90a";
  Schedule schedule;
};

/// The command line of `tegula compare`.
struct CompareOptions {
  ProgramOptions program;
  std::string target = "auto";
  std::vector<Schedule> schedules; ///< One, which is compared with the compiler's choice, or two.
};

void addSimtOptions(CLI::App &command, SimtCommandOptions &options);
void addCompareOptions(CLI::App &command, CompareOptions &options);

/// Times a program with given schedules, or with the one that plans have.
Outcome benchProgram(const BenchOptions &options);
/// Runs a program under many orders of lanes, and prints what was found.
Outcome simtCommand(const SimtCommandOptions &options);
/// Runs a program with two schedules on the same inputs, and prints how far the results differ.
Status compareCommand(const CompareOptions &options);

} // namespace tegula::tools
