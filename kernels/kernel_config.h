// SPDX-License-Identifier: MIT
// The kernels of a plan, and the recipe of each.
#pragma once

#include "tegula/attention.h"

#include <string_view>
#include <vector>

namespace tegula {

// The programs of a pass in the order in which they run.
std::vector<std::string_view> forwardKernels(const AttentionProblem &problem);
std::vector<std::string_view> backwardKernels();

/// Returns `status` with a line that names the problem, which the layers below do not know.
Status withProblem(const Status &status, const AttentionProblem &problem);

} // namespace tegula
