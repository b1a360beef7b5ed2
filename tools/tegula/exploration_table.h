// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/exploration.h"

#include <string>

namespace tegula::tools {

/// Returns the findings, the mutants that were not found out, and the traffic.
std::string toTable(const Exploration &exploration);

} // namespace tegula::tools
