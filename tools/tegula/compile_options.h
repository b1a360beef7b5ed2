// SPDX-License-Identifier: MIT
// The command line of `tegula compile`.
#pragma once

#include "kernel_options.h"
#include "tegula/artifact.h"
#include "tegula/schedule.h"

#include <string>
#include <vector>

namespace tegula::tools {

struct CompileOptions {
  std::string program;       ///< A file's name, "-", or empty if there is a kernel.
  std::string kernel;        ///< One of attentionPrograms(), or empty.
  KernelOptions choice;      ///< The values for which the kernel is specialised.
  std::string variant_text;  ///< A file's name, "-", or empty.
  bool lse_gradient = false; ///< As in AttentionProblem.
  std::string target = "cpu";
  std::string arch;   ///< Empty means this machine's.
  std::string emit;   ///< A phase, or "object", "cubin", "report" or "order".
  std::string bundle; ///< A directory, or empty if there is a phase.
  std::string output; ///< A file's name; empty means standard output.
  Schedule schedule;
  DebugOptions debug;
};

void addCompileOptions(CLI::App &command, CompileOptions &options);

/// Refuses options that contradict each other.
Status checkOptions(const CompileOptions &options);

} // namespace tegula::tools
