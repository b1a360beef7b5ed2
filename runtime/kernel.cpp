// SPDX-License-Identifier: MIT
// The checks of every device before a launch.
#include "tegula/kernel.h"

#include "checks.h"
#include "launch_limits.h"
#include "tegula/guard.h"
#include "tegula/profile_range.h"

#include <array>

namespace tegula {
namespace {

Status invalidArgument(const Parameter &parameter, const std::string &problem) {
  return invalid("argument '" + parameter.name + "': " + problem);
}

std::string word(DType dtype) { return std::string(toString(dtype)); }
const char *word(Parameter::Kind kind) { return kind == Parameter::Kind::tensor ? "a tensor" : "a scalar"; }

Status checkSizes(const Parameter &parameter, const TensorRef &tensor) {
  for (int i = 0; i < tensor.rank; ++i)
    if (tensor.shape[i] >= kPositionLimit)
      return invalidArgument(parameter, "size " + std::to_string(tensor.shape[i]) + " of dimension " +
                                            std::to_string(i) +
                                            " is not below 2^31 (positions in a kernel have 32 bits)");
  return {};
}

Status checkData(const Parameter &parameter, const TensorRef &tensor) {
  if (tensor.data == nullptr)
    return invalidArgument(parameter, "the data is null, but the tensor has elements");
  const size_t elementBytes = sizeOf(tensor.dtype);
  if (reinterpret_cast<uintptr_t>(tensor.data) % elementBytes != 0)
    return invalidArgument(parameter,
                           "the data is not aligned to its elements of " + std::to_string(elementBytes) + " bytes");
  return {};
}

/// Checks a tensor and sets `range` to its addresses.
Status checkTensor(const Parameter &parameter, const TensorRef &tensor, AddressRange &range) {
  if (tensor.rank != parameter.rank)
    return invalidArgument(parameter, "expected rank " + std::to_string(parameter.rank) + ", got rank " +
                                          std::to_string(tensor.rank));
  if (parameter.counter && tensor.shape[0] != 1)
    return invalidArgument(parameter, "expected one element, got " + std::to_string(tensor.shape[0]));
  TEGULA_RETURN_IF_ERROR(checkSizes(parameter, tensor));
  const Expected<AddressRange> bytes = addressRange(tensor);
  if (!bytes)
    return invalidArgument(parameter, bytes.status().message());
  if (bytes->begin == bytes->end)
    return {};
  TEGULA_RETURN_IF_ERROR(checkData(parameter, tensor));
  if (parameter.written && overlapsItself(tensor))
    return invalidArgument(parameter, "the kernel writes it, but elements share memory (a stride of 0?)");
  range = *bytes;
  return {};
}

Status checkArgument(const Parameter &parameter, const Argument &argument, AddressRange &range) {
  range = {};
  if (argument.kind() != parameter.kind)
    return invalidArgument(parameter,
                           std::string("expected ") + word(parameter.kind) + ", got " + word(argument.kind()));
  if (argument.dtype() != parameter.dtype)
    return invalidArgument(parameter, "expected " + word(parameter.dtype) + ", got " + word(argument.dtype()));
  if (argument.kind() == Parameter::Kind::tensor)
    return checkTensor(parameter, argument.tensor(), range);
  return {};
}

/// Checks that a tensor that the kernel writes shares no memory with another one.
Status checkOverlaps(std::span<const Parameter> parameters, std::span<const Argument> arguments,
                     std::span<const AddressRange> ranges) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    if (!parameters[i].written)
      continue;
    for (size_t j = 0; j < parameters.size(); ++j) {
      const bool isDone = j <= i && parameters[j].written; // Overlapping is symmetric.
      if (!isDone && ranges[i].meets(ranges[j]) && overlaps(arguments[i].tensor(), arguments[j].tensor()))
        return invalidArgument(parameters[i],
                               "the kernel writes it, but it shares memory with '" + parameters[j].name + "'");
    }
  }
  return {};
}

Status checkArguments(std::span<const Parameter> parameters, std::span<const Argument> arguments) {
  if (arguments.size() != parameters.size())
    return invalid("expected " + std::to_string(parameters.size()) + " arguments, got " +
                   std::to_string(arguments.size()));
  std::array<AddressRange, kMaxParameters> ranges; // Not initialised, because most kernels have few parameters.
  for (size_t i = 0; i < parameters.size(); ++i)
    TEGULA_RETURN_IF_ERROR(checkArgument(parameters[i], arguments[i], ranges[i]));
  return checkOverlaps(parameters, arguments, {ranges.data(), parameters.size()});
}

Status checkLaunch(std::span<const Parameter> parameters, Grid grid, std::span<const Argument> arguments) {
  TEGULA_RETURN_IF_ERROR(checkGrid(grid));
  return checkArguments(parameters, arguments);
}

} // namespace

Status Kernel::clearCounters(std::span<const Argument> arguments, Stream stream) const {
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].counter)
      TEGULA_RETURN_IF_ERROR(clear(arguments[i].tensor().data, sizeof(int32_t), stream));
  return {};
}

Status Kernel::check(Grid grid, std::span<const Argument> arguments) const noexcept {
  return guarded([&] { return named(name_, checkLaunch(parameters_, grid, arguments)); });
}

Status Kernel::launch(Grid grid, std::span<const Argument> arguments, Stream stream) const noexcept {
  const ProfileRange range("launch", name_);
  return guarded([&] { return named(name_, launchUnnamed(*this, grid, arguments, stream)); });
}

Status Kernel::launchUnnamed(const Kernel &kernel, Grid grid, std::span<const Argument> arguments, Stream stream) {
  TEGULA_RETURN_IF_ERROR(checkLaunch(kernel.parameters_, grid, arguments));
  if (isEmpty(grid))
    return {};
  TEGULA_RETURN_IF_ERROR(kernel.clearCounters(arguments, stream));
  return kernel.run(grid, arguments, stream);
}

} // namespace tegula
