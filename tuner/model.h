// SPDX-License-Identifier: MIT
// The model: judges candidates before they are compiled.
#pragma once

#include "tegula/search_space.h"
#include "tegula/tuner.h"

namespace tegula::tuning {

/// Returns every schedule of the task's search space, the one of the untuned library first. Each is `impossible`,
/// `unlikely` (more than `most` others cost less) or `waiting`. After the first one, those that wait are in the order
/// of their cost. Returns unsupported if the program has no search space.
Expected<std::vector<Candidate>> candidatesOf(const TuningTask &task, const TuningDevice &machine, int most);

/// Sets the cost of a candidate. If it is impossible, sets the state and the reason.
void judge(Candidate &candidate, const ResourceEstimate &estimate, const TuningDevice &machine);

} // namespace tegula::tuning
