// SPDX-License-Identifier: MIT
#include "arguments.h"

namespace tegula {

TensorArg tensor(const AttentionConfig &config, std::string name) { return {std::move(name), config.dtype, 4}; }

TensorArg accumulator(std::string name) { return {std::move(name), f32, 4}; }

TensorArg statistic(std::string name) { return {std::move(name), f32, 3}; }

std::vector<TensorArg> variantTensors(const AttentionConfig &config) {
  std::vector<TensorArg> arguments;
  for (const VariantTensor &tensor : config.variant.tensors)
    arguments.push_back({tensor.name, tensor.dtype, int(tensor.axes.size())});
  return arguments;
}

std::vector<TensorArg> variantTensorsAndGradients(const AttentionConfig &config) {
  std::vector<TensorArg> arguments = variantTensors(config);
  for (const VariantTensor &tensor : config.variant.tensors)
    if (tensor.wants_gradient)
      arguments.push_back({"d" + tensor.name, f32, int(tensor.axes.size())});
  return arguments;
}

} // namespace tegula
