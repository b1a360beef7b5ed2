// SPDX-License-Identifier: MIT
// What can be said about a candidate before it is compiled.
#pragma once

#include "tegula/search_space.h"
#include "tegula/tuner.h"

namespace tegula::tuning {

/// Every schedule of the task's search space, that of the untuned library first, as `impossible`, `unlikely` (beyond
/// `most`, by cost) or `waiting`. The latter are in the order of their cost, after the first one. Unsupported if the
/// program has no search space.
Expected<std::vector<Candidate>> candidatesOf(const TuningTask &task, const TuningMachine &machine, int most);

/// Fills in the cost, and why it is impossible if it is.
void judge(Candidate &candidate, const Demand &demand, const TuningMachine &machine);

} // namespace tegula::tuning
