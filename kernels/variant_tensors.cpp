// SPDX-License-Identifier: MIT
#include "variant_tensors.h"

namespace tegula {

int64_t sizeAlong(Axis axis, const AttentionShape &shape) {
  switch (axis) {
  case Axis::batch:
    return shape.batch;
  case Axis::heads:
    return shape.heads;
  case Axis::kv_heads:
    return shape.kv_heads;
  case Axis::seqlen_q:
    return shape.seqlen_q;
  case Axis::seqlen_k:
  case Axis::up_to_seqlen_k:
    return shape.seqlen_k;
  case Axis::any:
    return 0;
  }
  return 0;
}

const VariantTensor &diagonalOffset() {
  static const VariantTensor tensor{.name = "diagonal_offset", .dtype = i32, .axes = {Axis::batch}, .broadcasts = true};
  return tensor;
}

TensorRef broadcastTo(const VariantTensor &tensor, const TensorRef &given, const AttentionShape &shape) {
  if (!tensor.broadcasts || given.rank == 0)
    return given;
  const int rank = tensor.rank(), missing = rank - given.rank;
  TensorRef result{.data = given.data, .dtype = given.dtype, .rank = rank};
  for (int d = 0; d < rank; ++d) {
    const Axis axis = d < int(tensor.axes.size()) ? tensor.axes[size_t(d)] : Axis::any;
    const bool repeats = d < missing || (given.shape[d - missing] == 1 && axis != Axis::any);
    result.shape[d] = repeats ? sizeAlong(axis, shape) : given.shape[d - missing];
    result.strides[d] = repeats ? 0 : given.strides[d - missing];
  }
  return result;
}

} // namespace tegula
