// SPDX-License-Identifier: MIT
// The command line of `tegula tune`.
#pragma once

#include "attention_options.h"

#include <optional>
#include <string>

namespace tegula::tools {

/// The options as the user gave them. An option that is empty follows from the others.
struct TuneOptions {
  AttentionOptions attention; ///< The problem, its sizes and the target.
  double budget = 60;
  std::optional<int> candidates;
  bool again = false;
  bool exhaustive = false;
  std::string json; ///< Files to write; empty means none.
  std::string svg;
};

void addTuneOptions(CLI::App &command, TuneOptions &options);

} // namespace tegula::tools
