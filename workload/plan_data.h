// SPDX-License-Identifier: MIT
// The caller's tensors of one plan in a device's memory, to be launched with any configuration.
#pragma once

#include "tegula/plan_run.h"
#include "workload/device_tensor.h"

#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tegula::tools {

/// A tensor of the caller: what the description says about it, and its shape in this run.
struct CallerTensor {
  std::string name;
  DType dtype;
  std::vector<int64_t> shape;
  bool read;    ///< Kernels read what the caller has put there.
  bool written; ///< Kernels write it.
};

/// Returns the tensor that an argument of a plan is; null for a scalar and for a workspace.
const TensorSpec *callersTensor(const ArgumentSpec &argument);

/// Returns the caller's tensors at some sizes. Returns invalid_argument with a size that is missing.
Expected<std::vector<CallerTensor>> callerTensors(const PlanSpec &plan, const Sizes &sizes);

/// Returns the scalar arguments with their values. Returns invalid_argument with a scalar that is missing, and with one
/// that is no argument.
Expected<std::vector<Argument>> scalarArguments(const PlanSpec &plan, const std::vector<ScalarValue> &scalars);

/// Returns the sizes that a plan knows.
Sizes knownSizes(const Plan &plan, const Sizes &sizes);

/// The values that a tensor has at first.
struct FirstValues {
  HostTensor tensor;    ///< Rounded to its type: zeros if kernels do not read it.
  bool by_user = false; ///< PlanInputs::fill has replaced the values that the seed gives.
};

FirstValues firstValues(const CallerTensor &tensor, const PlanInputs &inputs);
/// Returns the elements of a tensor in C order, as bytes.
std::vector<char> encoded(const HostTensor &tensor);

class PlanData {
public:
  /// Makes the tensors with their first values. Returns invalid_argument for a row gap that is not legal. Returns
  /// resource_exhausted if they do not fit into the device's memory.
  static Expected<PlanData> make(const PlanSpec &plan, const PlanInputs &inputs, std::shared_ptr<Device> device);

  /// Replaces the first values of a tensor that kernels read. `bytes` are its elements in C order.
  Status setInput(std::string_view tensor, std::span<const char> bytes);

  /// Gives all tensors their first values again. What kernels only write is filled with NaN, or 0xff.
  Status reset() const;
  /// Gives the work to the device and does not wait for it.
  Status launch(const Plan &plan) const;
  /// Makes the workspace as large as a plan needs it. Call it before launches of another plan.
  Status makeRoomFor(const Plan &plan);

  /// Waits, and returns the tensors that kernels write.
  Expected<std::vector<HostTensor>> outputs() const;
  /// Returns the bytes of all tensors and the workspace.
  int64_t bytes() const;

private:
  struct Entry {
    CallerTensor tensor;
    DeviceTensor memory;
    std::vector<char> first; ///< The first values, if they are needed again.
  };

  std::shared_ptr<Device> device_;
  Sizes sizes_;
  std::vector<Argument> arguments_; ///< In the order of the plan; choices at the end.
  std::vector<Entry> entries_;
  Buffer workspace_;
};

} // namespace tegula::tools
