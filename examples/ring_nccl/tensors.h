// SPDX-License-Identifier: MIT
// Parts of tensors.
#pragma once

#include "ring_plan.h"
#include "tegula/tegula.hpp"

#include <algorithm>

inline int64_t bytesOf(const tegula_tensor &x) {
  int64_t count = x.dtype == TEGULA_F32 ? 4 : 2;
  for (int32_t d = 0; d < x.rank; ++d)
    count *= x.shape[d];
  return count;
}

/// Returns the part of a tensor with the indices of `range` along a dimension.
inline tegula_tensor slice(tegula_tensor x, int32_t dimension, Range range) {
  const int64_t element = x.dtype == TEGULA_F32 ? 4 : 2;
  x.data = static_cast<char *>(x.data) + element * range.begin * x.strides[dimension];
  x.shape[dimension] = range.size();
  return x;
}

/// Returns x[index], without the first dimension.
inline tegula_tensor at(const tegula_tensor &x, int64_t index) {
  tegula_tensor result = slice(x, 0, {index, index + 1});
  --result.rank;
  std::copy_n(x.shape + 1, result.rank, result.shape);
  std::copy_n(x.strides + 1, result.rank, result.strides);
  return result;
}

/// Returns rows of a tensor [..., rows, dim]. `lseRows` is the same for [..., rows].
inline tegula_tensor rowsOf(const tegula_tensor &x, Range rows) { return slice(x, x.rank - 2, rows); }
inline tegula_tensor lseRows(const tegula_tensor &x, Range rows) { return slice(x, x.rank - 1, rows); }
/// Returns heads of a tensor [batch, heads, ...].
inline tegula_tensor headsOf(const tegula_tensor &x, Range heads) { return slice(x, 1, heads); }

/// Returns the halves of a tensor along its first dimension.
inline tegula_tensor firstHalf(const tegula_tensor &x) { return slice(x, 0, {0, x.shape[0] / 2}); }
inline tegula_tensor secondHalf(const tegula_tensor &x) { return slice(x, 0, {x.shape[0] / 2, x.shape[0]}); }
