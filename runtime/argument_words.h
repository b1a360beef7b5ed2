// SPDX-License-Identifier: MIT
// Arguments in the form in which kernels read them: 64-bit parameters.
#pragma once

#include "launch_limits.h"
#include "tegula/kernel.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace tegula {

/// The most parameters for a tensor's shape and strides. Its address needs one more.
inline constexpr size_t kMaxLayoutWords = 2 * kMaxRank;

/// Writes the shape and strides of `tensor` and returns the address after them.
inline int64_t *writeLayout(int64_t *word, const TensorRef &tensor) {
  word = std::copy_n(tensor.shape, tensor.rank, word);
  return std::copy_n(tensor.strides, tensor.rank, word);
}

/// Returns a scalar in the low bytes of a parameter. Integers are sign-extended.
inline int64_t scalarWord(const Argument &argument) {
  if (argument.dtype() != DType::f32)
    return argument.integerValue();
  int64_t word = 0;
  const float value = argument.f32Value();
  std::memcpy(&word, &value, sizeof value);
  return word;
}

} // namespace tegula
