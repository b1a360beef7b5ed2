// SPDX-License-Identifier: MIT
// The search spaces of the kernels that have one, each defined beside its kernel.
#pragma once

#include "tegula/search_space.h"

namespace tegula {

extern const SearchSpace kFlash2ForwardSpace;
extern const SearchSpace kFlash2BackwardSpace;

/// The part of all pairs of a query and a key that a mask leaves.
inline double visibleShare(const AttentionProblem &problem) { return problem.causal == Causal::none ? 1 : 0.5; }

} // namespace tegula
