// SPDX-License-Identifier: MIT
#include "workload/attention_arrays.h"
#include "workload/npy.h"

#include <filesystem>
#include <utility>

namespace tegula::tools {
namespace {

struct Member {
  const char *name;
  std::vector<float> AttentionArrays::*array;
  DeviceTensor AttentionTensors::*tensor;
};

constexpr Member kForward[] = {{"q", &AttentionArrays::q, &AttentionTensors::q},
                               {"k", &AttentionArrays::k, &AttentionTensors::k},
                               {"v", &AttentionArrays::v, &AttentionTensors::v},
                               {"o", &AttentionArrays::o, &AttentionTensors::o},
                               {"lse", &AttentionArrays::lse, &AttentionTensors::lse}};
constexpr Member kSinks = {"sinks", &AttentionArrays::sinks, &AttentionTensors::sinks};
constexpr Member kSinkGradients = {"d_sinks", &AttentionArrays::d_sinks, &AttentionTensors::d_sinks};
constexpr Member kBackward[] = {{"do", &AttentionArrays::d_o, &AttentionTensors::d_o},
                                {"dq", &AttentionArrays::dq, &AttentionTensors::dq},
                                {"dk", &AttentionArrays::dk, &AttentionTensors::dk},
                                {"dv", &AttentionArrays::dv, &AttentionTensors::dv}};

std::vector<Member> members(const AttentionData &data, bool backward) {
  std::vector<Member> result(std::begin(kForward), std::end(kForward));
  if (backward)
    result.insert(result.end(), std::begin(kBackward), std::end(kBackward));
  if (data.hasSinks())
    result.push_back(kSinks);
  if (data.hasSinks() && backward)
    result.push_back(kSinkGradients);
  return result;
}

/// Downloads each of `tensors`.
Status read(Device &device, const std::vector<DeviceTensor> &tensors, std::vector<std::vector<float>> &arrays) {
  for (const DeviceTensor &tensor : tensors) {
    Expected<std::vector<float>> values = download(device, tensor);
    if (!values)
      return values.status();
    arrays.push_back(std::move(*values));
  }
  return {};
}

bool isInPages(const AttentionData &data, const Member &member) {
  return data.attention().pages && (member.array == &AttentionArrays::k || member.array == &AttentionArrays::v);
}

/// Returns the shape of an array.
std::vector<int64_t> shapeOf(const AttentionData &data, const Member &member) {
  std::vector<int64_t> shape = (data.tensors().*member.tensor).shape();
  if (isInPages(data, member))
    shape = {1, shape[1], data.attention().shape.seqlen_k, shape[3]};
  return shape;
}

Status save(const std::string &folder, const std::string &name, const std::vector<float> &values,
            const std::vector<int64_t> &shape) {
  return saveNpy(std::filesystem::path(folder) / (name + ".npy"), values, shape);
}

Status saveVariant(const std::string &folder, const AttentionArrays &arrays, const AttentionData &data, bool backward) {
  const AttentionTensors &tensors = data.tensors();
  size_t gradient = 0;
  for (size_t n = 0; n < arrays.variant.size(); ++n) {
    const VariantTensor &tensor = data.variant().tensors[n];
    TEGULA_RETURN_IF_ERROR(save(folder, tensor.name, arrays.variant[n], tensors.variant[n].shape()));
    if (!backward || !tensor.wants_gradient)
      continue;
    TEGULA_RETURN_IF_ERROR(save(folder, "d" + tensor.name, arrays.variant_gradients[gradient],
                                tensors.variant_gradients[gradient].shape()));
    ++gradient;
  }
  return {};
}

} // namespace

Expected<AttentionArrays> readArrays(const AttentionData &data, bool backward) {
  AttentionArrays arrays;
  for (const Member &member : members(data, backward)) {
    Expected<std::vector<float>> values = download(data.device(), data.tensors().*member.tensor);
    if (!values)
      return values.status();
    arrays.*member.array = isInPages(data, member)
                               ? data.attention().pages->gather(*values, (data.tensors().*member.tensor).shape()[3])
                               : std::move(*values);
  }
  TEGULA_RETURN_IF_ERROR(read(data.device(), data.tensors().variant, arrays.variant));
  if (backward)
    TEGULA_RETURN_IF_ERROR(read(data.device(), data.tensors().variant_gradients, arrays.variant_gradients));
  return arrays;
}

Status saveArrays(const std::string &folder, const AttentionArrays &arrays, const AttentionData &data, bool backward) {
  for (const Member &member : members(data, backward))
    TEGULA_RETURN_IF_ERROR(save(folder, member.name, arrays.*member.array, shapeOf(data, member)));
  return saveVariant(folder, arrays, data, backward);
}

} // namespace tegula::tools
