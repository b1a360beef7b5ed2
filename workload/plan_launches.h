// SPDX-License-Identifier: MIT
// The launches of a described plan that together take every path of its kernels, as far as sizes and gaps decide it.
#pragma once

#include "tegula/plan_run.h"

#include <string>
#include <vector>

namespace tegula::tools {

/// Returns the inputs of trials for mutants, next to a launch with `inputs`. They differ in sizes and gaps only:
///
/// - all tensors, and each tensor on its own, with rows that do not start at multiples of 16 bytes;
/// - each size empty, 1, about half as large, odd, and four times as large (also with gaps), so that loops have no
///   iteration, one, an odd number, and enough of them that each slot of a ring is filled again.
///
/// Sizes with the same value change together, because they may have to agree. `inputs` has a value for each size.
std::vector<PlanInputs> planTrials(const PlanSpec &plan, const PlanInputs &inputs);

/// Returns the values of the sizes of a plan's tensors and the gaps, such as "n=99 k=64 row_gaps=q=3,o=3". Leaves out
/// the sizes that `given` has with the same value. A gap of all tensors is one number: "row_gaps=3".
std::string launchName(const PlanSpec &plan, const PlanInputs &inputs, const PlanInputs &given = {});

} // namespace tegula::tools
