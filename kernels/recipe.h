// SPDX-License-Identifier: MIT
// Which kernels a plan has, and what each is compiled from.
#pragma once

#include "tegula/attention.h"

#include <string_view>
#include <vector>

namespace tegula {

// The programs of a pass in the order in which they run.
std::vector<std::string_view> forwardKernels(const AttentionProblem &problem);
std::vector<std::string_view> backwardKernels();

/// Returns `status` with a line that names the problem. The layers below do not know it.
Status withProblem(const Status &status, const AttentionProblem &problem);

} // namespace tegula
