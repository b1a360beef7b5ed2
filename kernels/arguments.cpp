// SPDX-License-Identifier: MIT
#include "arguments.h"

#include <algorithm>
#include <iterator>

namespace tegula {

TensorArg tensor(const AttentionConfig &config, std::string name) { return {std::move(name), config.dtype, 4}; }

TensorArg accumulator(std::string name) { return {std::move(name), f32, 4}; }

TensorArg statistic(std::string name) { return {std::move(name), f32, 3}; }

std::vector<TensorArg> listTensors(const AttentionConfig &config) {
  if (!config.block_mask.exists())
    return {};
  std::vector<TensorArg> lists = {{"visit_tiles", i32, 4}, {"visit_counts", i32, 4}};
  if (config.block_mask.source == BlockMask::Source::given)
    lists.push_back({"block_states", i32, 4});
  return lists;
}

std::vector<TensorArg> stripTensors(const AttentionConfig &config, Pass pass) {
  if (config.strips)
    return {{pass == Pass::forward ? "query_strips" : "key_strips", i32, 2}};
  return {};
}

static std::vector<TensorArg> sinkTensors(const AttentionConfig &config) {
  if (config.sinks)
    return {{"sinks", f32, 1}};
  return {};
}

std::vector<TensorArg> conditionTensors(const AttentionConfig &config) {
  std::vector<TensorArg> arguments;
  for (const VariantTensor &tensor : config.variant.tensors)
    arguments.push_back({tensor.name, tensor.dtype, tensor.rank()});
  if (config.diagonal_offset)
    arguments.push_back({"diagonal_offset", i32, 1});
  return arguments;
}

std::vector<TensorArg> scoreTensors(const AttentionConfig &config) {
  std::vector<TensorArg> arguments = conditionTensors(config);
  if (config.dropsOut())
    arguments.push_back({"dropout_state", i64, 1});
  return arguments;
}

std::vector<TensorArg> forwardTensors(const AttentionConfig &config) {
  std::vector<TensorArg> arguments = scoreTensors(config);
  std::ranges::copy(listTensors(config), std::back_inserter(arguments));
  std::ranges::copy(sinkTensors(config), std::back_inserter(arguments));
  std::ranges::copy(stripTensors(config, Pass::forward), std::back_inserter(arguments));
  return arguments;
}

std::vector<TensorArg> scoreTensorsAndGradients(const AttentionConfig &config) {
  std::vector<TensorArg> arguments = scoreTensors(config);
  for (const VariantTensor &tensor : config.variant.tensors)
    if (tensor.wants_gradient)
      arguments.push_back({"d" + tensor.name, f32, tensor.rank()});
  return arguments;
}

static ListedViews split(const AttentionConfig &config, std::span<const View> views, size_t gradients, size_t sinks) {
  const auto next = [&views](size_t count) {
    const std::span<const View> part = views.first(count);
    views = views.subspan(count);
    return part;
  };
  ListedViews split;
  split.tensors = next(scoreTensors(config).size());
  split.gradients = next(gradients);
  split.lists = next(listTensors(config).size());
  split.sinks = next(sinks);
  split.strips = next(config.strips ? 1 : 0);
  split.rest = views;
  return split;
}

ListedViews splitForward(const AttentionConfig &config, std::span<const View> views) {
  return split(config, views, 0, sinkTensors(config).size());
}

ListedViews splitBackward(const AttentionConfig &config, std::span<const View> views) {
  return split(config, views, scoreTensorsAndGradients(config).size() - scoreTensors(config).size(), 0);
}

} // namespace tegula
