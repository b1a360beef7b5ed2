// SPDX-License-Identifier: MIT
// Words that tables and pictures of tunings have in common.
#pragma once

#include "tegula/search.h"

#include <string>

namespace tegula::tuning {

/// Returns what was tuned, on one line.
std::string titleOf(const Tuning &tuning);
/// Returns the device and its driver.
std::string machineText(const TuningDevice &machine);
/// Returns the configuration of a candidate, or words for one that leaves everything open.
std::string textOf(const Tuning &tuning, const Candidate &candidate);

} // namespace tegula::tuning
