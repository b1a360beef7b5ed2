// SPDX-License-Identifier: MIT
#include "workload/plan_data.h"

#include "oracle/inputs.h"
#include "workload/elements.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

size_t countOf(const std::vector<int64_t> &shape) {
  return size_t(std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies()));
}

/// Returns a seed that differs between tensors.
uint64_t seedOf(std::string_view tensor, uint64_t seed) {
  for (const char c : tensor)
    seed = seed * 31 + static_cast<unsigned char>(c);
  return seed;
}

std::string namesOf(const std::vector<CallerTensor> &tensors) {
  std::string names;
  for (const CallerTensor &tensor : tensors)
    names += (names.empty() ? "" : ", ") + tensor.name;
  return names;
}

/// Returns true if some kernel has the tensor in one of these ways.
bool hasAccess(const PlanSpec &plan, const std::string &name, std::initializer_list<Access> ways) {
  for (const KernelSpec &kernel : plan.kernels())
    for (const ArgumentSpec &argument : kernel.arguments())
      if (const TensorSpec *tensor = callersTensor(argument); tensor && tensor->name == name)
        if (std::ranges::find(ways, tensor->access) != ways.end())
          return true;
  return false;
}

/// Returns true if the first kernel that has the tensor reads what the caller has put there.
bool isReadFirst(const PlanSpec &plan, const std::string &name) {
  for (const KernelSpec &kernel : plan.kernels())
    for (const ArgumentSpec &argument : kernel.arguments())
      if (const TensorSpec *tensor = callersTensor(argument); tensor && tensor->name == name)
        return tensor->access != Access::output;
  return false;
}

Status checkRowGaps(const std::vector<CallerTensor> &tensors, const Sizes &gaps) {
  for (const NamedSize &gap : gaps) {
    if (std::ranges::find(tensors, gap.name, &CallerTensor::name) == tensors.end())
      return {ErrorCode::invalid_argument,
              fmt::format("row_gaps: there is no tensor '{}'; the plan's tensors are {}", gap.name, namesOf(tensors))};
    if (gap.value < 0 || gap.value > kMaxRowGap)
      return {ErrorCode::invalid_argument,
              fmt::format("row_gaps: the gap of '{}' is {}; legal are 0 to {}", gap.name, gap.value, kMaxRowGap)};
  }
  return {};
}

int64_t rowGapOf(const std::string &tensor, const Sizes &gaps) {
  const auto found = std::ranges::find(gaps, tensor, &NamedSize::name);
  return found == gaps.end() ? 0 : found->value;
}

} // namespace

const TensorSpec *callersTensor(const ArgumentSpec &argument) {
  const auto *tensor = std::get_if<TensorSpec>(&argument);
  return tensor != nullptr && tensor->access != Access::workspace ? tensor : nullptr;
}

Expected<std::vector<CallerTensor>> callerTensors(const PlanSpec &plan, const Sizes &sizes) {
  std::vector<CallerTensor> tensors;
  for (const ArgumentSpec &argument : plan.arguments()) {
    const TensorSpec *tensor = callersTensor(argument);
    if (tensor == nullptr)
      continue;
    CallerTensor caller{.name = tensor->name,
                        .dtype = tensor->dtype,
                        .shape = {},
                        .read = isReadFirst(plan, tensor->name),
                        .written = hasAccess(plan, tensor->name, {Access::output, Access::inout})};
    for (const Size &size : tensor->shape) {
      const Expected<int64_t> value = evaluate(size, sizes);
      if (!value)
        return Status(ErrorCode::invalid_argument,
                      fmt::format("the shape of '{}' needs a size: {}", tensor->name, value.status().message()));
      caller.shape.push_back(*value);
    }
    tensors.push_back(std::move(caller));
  }
  return tensors;
}

Expected<std::vector<Argument>> scalarArguments(const PlanSpec &plan, const std::vector<ScalarValue> &scalars) {
  std::vector<Argument> arguments;
  for (const ArgumentSpec &argument : plan.arguments()) {
    const auto *scalar = std::get_if<ScalarSpec>(&argument);
    if (scalar == nullptr)
      continue;
    const auto given = std::ranges::find(scalars, scalar->name, &ScalarValue::name);
    if (given == scalars.end())
      return Status(ErrorCode::invalid_argument, fmt::format("the scalar '{}' has no value", scalar->name));
    arguments.push_back(scalar->dtype == f32   ? Argument(float(given->value))
                        : scalar->dtype == i32 ? Argument(int32_t(given->value))
                                               : Argument(int64_t(given->value)));
  }
  if (arguments.size() != scalars.size())
    return Status(ErrorCode::invalid_argument, fmt::format("plan '{}' takes {} scalars, and {} are given", plan.name(),
                                                           arguments.size(), scalars.size()));
  return arguments;
}

Sizes knownSizes(const Plan &plan, const Sizes &sizes) {
  Sizes known;
  for (const NamedSize &size : sizes)
    if (std::ranges::find(plan.sizes(), size.name) != plan.sizes().end())
      known.push_back(size);
  return known;
}

FirstValues firstValues(const CallerTensor &tensor, const PlanInputs &inputs) {
  FirstValues first{.tensor = {.name = tensor.name, .dtype = tensor.dtype, .shape = tensor.shape}};
  std::vector<double> &values = first.tensor.values;
  values.resize(countOf(tensor.shape));
  if (!tensor.read)
    return first;
  const uint64_t seed = seedOf(tensor.name, inputs.seed);
  if (isFloat(tensor.dtype))
    std::ranges::copy(oracle::normalNumbers(int64_t(values.size()), tensor.dtype, seed), values.begin());
  first.by_user = inputs.fill && inputs.fill(first.tensor, seed);
  if (first.by_user) {
    const std::vector<char> bytes = encoded(first.tensor);
    decode(bytes.data(), values.size(), tensor.dtype, values.data());
  }
  return first;
}

std::vector<char> encoded(const HostTensor &tensor) {
  std::vector<char> bytes(tensor.values.size() * sizeOf(tensor.dtype));
  encode(tensor.values.data(), tensor.values.size(), tensor.dtype, bytes.data());
  return bytes;
}

Expected<PlanData> PlanData::make(const PlanSpec &plan, const PlanInputs &inputs, std::shared_ptr<Device> device) {
  Expected<std::vector<CallerTensor>> tensors = callerTensors(plan, inputs.sizes);
  if (!tensors)
    return tensors.status();
  TEGULA_RETURN_IF_ERROR(checkRowGaps(*tensors, inputs.row_gaps));
  Expected<std::vector<Argument>> scalars = scalarArguments(plan, inputs.scalars);
  if (!scalars)
    return scalars.status();
  PlanData data;
  data.device_ = std::move(device);
  data.sizes_ = inputs.sizes;
  for (CallerTensor &tensor : *tensors) {
    Expected<DeviceTensor> memory =
        allocateTensor(*data.device_, tensor.dtype, tensor.shape, rowGapOf(tensor.name, inputs.row_gaps));
    if (!memory)
      return memory.status();
    std::vector<char> first = tensor.read ? encoded(firstValues(tensor, inputs).tensor) : std::vector<char>();
    data.entries_.push_back({std::move(tensor), std::move(*memory), std::move(first)});
  }
  size_t next_tensor = 0, next_scalar = 0;
  for (const ArgumentSpec &argument : plan.arguments())
    if (callersTensor(argument) != nullptr)
      data.arguments_.emplace_back(data.entries_[next_tensor++].memory.view);
    else if (std::holds_alternative<ScalarSpec>(argument))
      data.arguments_.push_back((*scalars)[next_scalar++]);
  for (const Choice &choice : plan.choices()) {
    const auto given = std::ranges::find(inputs.sizes, choice.name, &NamedSize::name);
    if (given == inputs.sizes.end())
      break;
    data.arguments_.emplace_back(given->value);
  }
  TEGULA_RETURN_IF_ERROR(data.reset());
  return data;
}

Status PlanData::setInput(std::string_view tensor, std::span<const char> bytes) {
  for (Entry &entry : entries_)
    if (entry.tensor.name == tensor && bytes.size() == entry.first.size()) {
      entry.first.assign(bytes.begin(), bytes.end());
      return reset();
    }
  return {ErrorCode::invalid_argument, fmt::format("there is no input '{}' of {} bytes", tensor, bytes.size())};
}

Status PlanData::reset() const {
  for (const Entry &entry : entries_) {
    const size_t bytes = size_t(entry.memory.size()) * sizeOf(entry.tensor.dtype);
    const std::vector<char> poison(entry.first.empty() ? bytes : 0, '\xff');
    TEGULA_RETURN_IF_ERROR(uploadElements(*device_, entry.first.empty() ? poison : entry.first, entry.memory));
  }
  return {};
}

Status PlanData::launch(const Plan &plan) const {
  return plan.launch(std::span(arguments_), {workspace_.data(), workspace_.bytes()});
}

Status PlanData::makeRoomFor(const Plan &plan) {
  Expected<int64_t> bytes = plan.workspaceBytes(knownSizes(plan, sizes_));
  if (!bytes)
    return bytes.status();
  if (*bytes <= workspace_.bytes())
    return {};
  TEGULA_RETURN_IF_ERROR(device_->synchronize());
  Expected<Buffer> memory = device_->allocate(*bytes);
  if (!memory)
    return memory.status();
  workspace_ = std::move(*memory);
  return {};
}

Expected<std::vector<HostTensor>> PlanData::outputs() const {
  std::vector<HostTensor> outputs;
  for (const Entry &entry : entries_) {
    if (!entry.tensor.written)
      continue;
    Expected<std::vector<char>> bytes = downloadElements(*device_, entry.memory);
    if (!bytes)
      return bytes.status();
    HostTensor tensor{.name = entry.tensor.name, .dtype = entry.tensor.dtype, .shape = entry.tensor.shape};
    tensor.values.resize(size_t(entry.memory.size()));
    decode(bytes->data(), tensor.values.size(), tensor.dtype, tensor.values.data());
    outputs.push_back(std::move(tensor));
  }
  return outputs;
}

int64_t PlanData::bytes() const {
  return std::accumulate(entries_.begin(), entries_.end(), workspace_.bytes(),
                         [](int64_t sum, const Entry &entry) { return sum + entry.memory.memory.bytes(); });
}

} // namespace tegula::tools
