// SPDX-License-Identifier: MIT
// Descriptions of kernels for tests.
#pragma once

#include "tegula/plan.h"

namespace tegula::testing {

/// c = a b, for a [m, k] and b [k, n] in bf16.
PlanSpec matmul();

/// The gradients of sum(o * do) for o = sigmoid(scale q k^T) v, one head. dq is summed in a zeroed workspace, and a
/// second kernel scales it.
PlanSpec sigmoidBackward();

/// y[i] = sum(x[i, :]). `splits` program instances sum parts of a row, and a second kernel merges them. One kernel does
/// it if there is one split.
PlanSpec splitSum();

/// Packs the first counts[i] elements of the rows of x one after another into y. The preparation computes where those
/// of a row begin.
PlanSpec packRows();

} // namespace tegula::testing
