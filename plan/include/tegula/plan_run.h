// SPDX-License-Identifier: MIT
// Runs of a plan with made-up inputs, for checks, searches and measurements.
#pragma once

#include "tegula/plan.h"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// A tensor on the host. Values are in C order, each one a number of the element type.
struct HostTensor {
  std::string name;
  DType dtype = f32;
  std::vector<int64_t> shape = {};
  std::vector<double> values = {};
};

/// The value of a scalar argument.
struct ScalarValue {
  std::string name;
  double value = 0;
};

/// Replaces the values of an input by others and returns true, or leaves them as they are and returns false. Normally
/// distributed numbers are there at first, and 0 in tensors of integers. The values are rounded afterwards.
using Fill = std::function<bool(HostTensor &tensor, uint64_t seed)>;

/// The sizes and the inputs of a run.
struct PlanInputs {
  Sizes sizes = {}; ///< A value for each size that shapes have; for choices, too, if they should not be made.
  std::vector<ScalarValue> scalars = {}; ///< A value for each scalar argument.
  Fill fill = {};
  uint64_t seed = 0;
  /// The elements between the rows (the last dimension) of a tensor, by the tensor's name, from 0 on. Tensors without a
  /// gap are contiguous. A tensor of one dimension begins that many elements after an address that is a multiple of 16.
  /// Searches refuse gaps, because a tuned configuration does not depend on them.
  Sizes row_gaps = {};
};

/// The caller's side of a run on the host.
struct HostCall {
  std::vector<HostTensor> tensors; ///< All tensors of the caller. An output holds zeros.
  Sizes sizes;
  std::vector<ScalarValue> scalars;

  /// Returns the values of a tensor. If there is no tensor of this name, throws std::out_of_range.
  std::vector<double> &operator[](std::string_view tensor);
  double scalar(std::string_view name) const;
  int64_t size(std::string_view name) const;
};

/// Computes the outputs of a call, in double precision. A std::exception from it becomes invalid_argument.
using Reference = std::function<void(HostCall &call)>;

} // namespace tegula
