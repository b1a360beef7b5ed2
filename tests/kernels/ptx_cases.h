// SPDX-License-Identifier: MIT
// The programs whose PTX tegula_shipped_ptx writes.
#pragma once

#include "tegula/artifact.h"
#include "tegula/program.h"

#include <string>
#include <vector>

namespace tegula::testing {

struct PtxCase {
  std::string name; ///< Differs from case to case.
  Target target;
  Expected<Program> program;
  Schedule schedule;
};

/// Returns the rows of schedules.json, as far as a problem gets them: on each architecture, for each program.
std::vector<PtxCase> shippedCases();

/// Returns the programs of problems with each option and each variant, of decoding and of packed sequences.
std::vector<PtxCase> optionCases();

/// Returns programs that are not attention, and get warp roles.
std::vector<PtxCase> userCases();

} // namespace tegula::testing
