// SPDX-License-Identifier: MIT
// Attention as a description of kernels: the arguments, the workspace and the grids of a pass.
#pragma once

#include "tegula/attention.h"
#include "tegula/plan.h"

#include <set>
#include <string>

namespace tegula {

/// Returns the names of all arguments that programs may have whose problem has no variant.
std::set<std::string> argumentNames();

/// Returns the description of a pass. Its arguments have the names of the programs' parameters. The errors are those of
/// recordKernel, and internal if a program has a parameter that the pass has no argument for.
Expected<PlanSpec> attentionSpec(const AttentionProblem &problem, Pass pass, const Target &target,
                                 const Schedule &given, const TunedConfigurations *tuned);

/// Returns the description of the kernels that make the lists of a pass (block_lists.h). The problem has a block mask.
/// Their sizes are list_batch, list_heads, strips and tiles, which the shape of visit_tiles gives.
Expected<PlanSpec> listSpec(const AttentionProblem &problem, Pass pass, const Target &target, const Schedule &given,
                            const TunedConfigurations *tuned);

} // namespace tegula
