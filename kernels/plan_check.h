// SPDX-License-Identifier: MIT
// Checks before a plan is made and before it is launched. Messages name the argument, its value, and what is legal.
#pragma once

#include "tegula/attention.h"

#include <string>
#include <string_view>

namespace tegula {

/// The largest head dimension: that of the keys of multi-head latent attention (DeepSeek-V2, 2024).
inline constexpr int kMaxHeadDim = 576;
/// The largest head dimension whose tiles fit into the registers and the shared memory of all GPUs.
inline constexpr int kUsualHeadDim = 256;

Status checkProblem(const AttentionProblem &problem, const Schedule &schedule);
Status checkShape(const AttentionShape &shape);

/// Checks that all tensors fit to each other and to the problem, and that no output overlaps another tensor. Returns
/// the shape that q and k give.
Expected<AttentionShape> checkCall(const AttentionProblem &problem, const AttentionForward &call);
Expected<AttentionShape> checkCall(const AttentionProblem &problem, const AttentionBackward &call);

/// Checks that the tensors fit to the shape and to the problem.
Status checkCall(const AttentionProblem &problem, const AttentionLists &call);
/// Returns 256 times the probability of keeping, rounded.
int keptOf256(double dropout_p);

Status invalidArgument(std::string_view name, std::string problem);

} // namespace tegula
