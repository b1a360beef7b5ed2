// SPDX-License-Identifier: MIT
// Attention with a sigmoid instead of the softmax: kernels of one's own, described for any tool.
#pragma once

#include "tegula/plan_run.h"

/// The attention to describe. One object makes the plans of both passes.
struct Sigmoid {
  tegula::DType dtype = tegula::bf16;
  int head_dim = 64;
  bool causal = false; ///< The variant: a query sees keys up to its own position.

  /// o = sigmoid(scale q k^T) v.
  tegula::PlanSpec forward() const;
  /// The gradients of sum(o * do), in two kernels: the first sums dq in the workspace, the second scales it.
  tegula::PlanSpec backward() const;

  // The same with plain loops, in double precision.
  tegula::Reference forwardReference() const;
  tegula::Reference backwardReference() const;
};
