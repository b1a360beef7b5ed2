// SPDX-License-Identifier: MIT
// The command line of `tegula compile`.
#pragma once

#include "tegula/schedule.h"

#include <string>

namespace CLI {
class App;
}

namespace tegula::tools {

struct CompileOptions {
  std::string program; ///< A file's name, or "-".
  std::string target = "cpu";
  std::string emit;   ///< A phase, or "object".
  std::string output; ///< A file's name; empty means standard output.
  Schedule schedule;
};

void addCompileOptions(CLI::App &command, CompileOptions &options);

} // namespace tegula::tools
