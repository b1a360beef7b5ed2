// SPDX-License-Identifier: MIT
// The tensors of a variant in a call.
#pragma once

#include "tegula/attention.h"

namespace tegula {

/// Returns true if the shape of the call decides the size along an axis.
inline bool hasSize(Axis axis) { return axis != Axis::any && axis != Axis::up_to_seqlen_k; }

/// Returns the size of a dimension of the call's shape; for `up_to_seqlen_k`, the largest one. Returns 0 for `any`.
int64_t sizeAlong(Axis axis, const AttentionShape &shape);

/// Returns what a call's `diagonal_offset` must be.
const VariantTensor &diagonalOffset();

/// Returns the tensor of a call as kernels read it: with a dimension for each axis, and with stride 0 where it repeats.
/// A tensor of rank 0 is not given, and stays so. The call
/// has been checked.
TensorRef broadcastTo(const VariantTensor &tensor, const TensorRef &given, const AttentionShape &shape);

} // namespace tegula
