// SPDX-License-Identifier: MIT
// What is checked before a plan is made and before it is launched. Messages name the argument, its value, and what is
// legal.
#pragma once

#include "tegula/attention.h"

#include <string>
#include <string_view>

namespace tegula {

Status checkProblem(const AttentionProblem &problem, const Schedule &schedule);
Status checkShape(const AttentionShape &shape);

/// The shape that q and k give, after checking that all tensors fit to it and to the problem, and that no output
/// overlaps another tensor.
Expected<AttentionShape> checkCall(const AttentionProblem &problem, const AttentionForward &call);
Expected<AttentionShape> checkCall(const AttentionProblem &problem, const AttentionBackward &call);

Status invalidArgument(std::string_view name, std::string problem);

} // namespace tegula
