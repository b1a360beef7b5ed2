// SPDX-License-Identifier: MIT
// Partial results of attention over disjoint sets of keys, merged by their LSE: for keys that are split over several
// calls or devices (FlashDecoding; ring attention), or for a prefix that many sequences share.
//
//   Expected<PlanSpec> spec = mergeAttention({.dtype = bf16, .value_dim = 128}, cache.target());
//   Expected<Plan> plan = Plan::make(*spec, cache);
//   plan->launch({{"o_parts", o_parts}, {"lse_parts", lse_parts}, {"o", o}, {"lse", lse}});
//
// No plan needs a workspace.
#pragma once

#include "tegula/plan.h"

namespace tegula {

/// The computation of a merge. The number of parts and all other sizes belong to the launch.
struct MergeProblem {
  DType dtype = bf16;        ///< Type of o, the parts' o and their gradients: f32, f16 or bf16.
  int value_dim = 0;         ///< From 1 to 576.
  bool lse_gradient = false; ///< The gradients also take d_lse. Merging itself is the same.
};

/// Describes the plan that merges `parts` partial results. Its arguments, in this order, with any strides:
///
///   o_parts [parts, batch, heads, seqlen_q, value_dim]    o   [batch, heads, seqlen_q, value_dim], written
///   lse_parts f32 [parts, batch, heads, seqlen_q]         lse f32 [batch, heads, seqlen_q], written
///
///   lse = log(sum_i exp(lse_i))    o = sum_i exp(lse_i - lse) o_i
///
/// A part whose lse is -inf has seen no key. It counts for nothing, even if its o is NaN. If all parts are such, or if
/// there are no parts, o = 0 and lse = -inf. An lse of +inf or NaN makes the row NaN. Only one part may have the sink
/// of a head (AttentionForward::sinks). Returns the errors of recordKernel, which name the field.
Expected<PlanSpec> mergeAttention(const MergeProblem &problem, const Target &target) noexcept;

/// Describes the plan that computes the gradients of sum(o * d_o) + sum(lse * d_lse) of the parts. Its arguments, in
/// this order: o_parts, lse_parts, o and lse as above; d_o, shaped like o; d_lse, f32, shaped like lse, only with
/// MergeProblem::lse_gradient; d_o_parts and d_lse_parts, shaped like o_parts and lse_parts, written:
///
///   p_i = exp(lse_i - lse)    d_o_i = p_i d_o    d_lse_i = p_i (rowsum(d_o o_i) - rowsum(d_o o) + d_lse)
///
/// Where lse_i is -inf, both gradients are 0. The backward pass of a part takes d_lse_i as AttentionBackward::d_lse,
/// with its own o_i and lse_i. Returns the same errors.
Expected<PlanSpec> mergeAttentionBackward(const MergeProblem &problem, const Target &target) noexcept;

} // namespace tegula
