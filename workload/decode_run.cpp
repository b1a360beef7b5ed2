// SPDX-License-Identifier: MIT
#include "workload/decode_run.h"

#include "workload/crop.h"
#include "workload/plan_data.h"
#include "workload/timing.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

namespace tegula::tools {
namespace {

Sizes sizesOf(const DecodeCase &decode, const CacheLayout &layout) {
  const AttentionShape shape = shapeOf(decode);
  Sizes sizes = {
      {"batch", shape.batch}, {"heads", shape.heads}, {"kv_heads", shape.kv_heads}, {"seqlen_q", shape.seqlen_q}};
  if (decode.problem.page_size != 0)
    sizes.insert(
        sizes.end(),
        {{"pages", layout.pages()}, {"pages_v", layout.pages()}, {"pages_of_sequence", layout.pagesOfSequence()}});
  else
    sizes.push_back({"seqlen_k", longest(decode)});
  if (decode.problem.prefix)
    sizes.insert(sizes.end(),
                 {{"prefix_keys", std::max<int64_t>(decode.prefix, 1)}, {"pages_of_prefix", layout.pagesOfSequence()}});
  for (const VariantTensor &tensor : decode.problem.variant.tensors) {
    const std::vector<int64_t> of_tensor = shapeOf(tensor, shape);
    const std::vector<Size> names = freeShape(tensor.name, int(of_tensor.size()));
    for (size_t axis = 0; axis < names.size(); ++axis)
      sizes.push_back({names[axis].terms().front().name, of_tensor[axis]});
  }
  if (decode.num_spans)
    sizes.push_back({"num_spans", *decode.num_spans});
  return sizes;
}

/// Returns the part of a variant's tensor that belongs to a sequence.
std::vector<float> partOf(const VariantTensor &tensor, const std::vector<float> &values,
                          const std::vector<int64_t> &shape, int64_t sequence, int64_t length) {
  std::vector<IndexRange> ranges;
  for (const int64_t size : shape)
    ranges.push_back({0, size});
  for (size_t axis = 0; axis < tensor.axes.size(); ++axis)
    if (tensor.axes[axis] == Axis::batch)
      ranges[axis] = {sequence, sequence + 1};
    else if (tensor.axes[axis] == Axis::seqlen_k || tensor.axes[axis] == Axis::up_to_seqlen_k)
      ranges[axis].end = length;
  return crop(values, shape, ranges);
}

AttentionCase caseOfSequence(const DecodeCase &decode, int64_t length) {
  const DecodeProblem &problem = decode.problem;
  return {.problem = {.dtype = problem.dtype,
                      .head_dim = problem.head_dim,
                      .value_dim = problem.value_dim,
                      .causal = problem.causal ? Causal::bottom_right : Causal::none,
                      .variant = problem.variant,
                      .sinks = problem.sinks},
          .shape = {.batch = 1,
                    .heads = decode.heads,
                    .kv_heads = decode.kv_heads,
                    .seqlen_q = decode.seqlen_q,
                    .seqlen_k = length},
          .scale = decode.scale,
          .variant = decode.variant};
}

/// Returns slice `index` of an array whose first dimension has `count` entries.
std::vector<float> slice(const std::vector<float> &array, int64_t count, int64_t index) {
  return crop(array, {count, int64_t(array.size()) / count}, {{index, index + 1}, {0, int64_t(array.size()) / count}});
}

} // namespace

Expected<DecodeRun> DecodeRun::make(const DecodeCase &decode, std::shared_ptr<Device> device, KernelCache &cache) {
  Stopwatch stopwatch;
  Expected<PlanSpec> spec = decodeAttention(decode.problem, cache.target());
  if (!spec)
    return spec.status();
  Expected<Plan> plan = Plan::make(*spec, cache);
  if (!plan)
    return plan.status();
  DecodeRun run(decode, std::move(device), std::move(*plan), stopwatch.milliseconds());
  TEGULA_RETURN_IF_ERROR(run.allocate(*spec));
  TEGULA_RETURN_IF_ERROR(run.fill());
  run.arrange();
  if (decode.prepared)
    TEGULA_RETURN_IF_ERROR(run.prepare());
  return run;
}

CacheLayout DecodeRun::makeLayout(const DecodeCase &decode, uint64_t seed) {
  std::vector<int32_t> lengths = decode.lengths;
  if (decode.problem.prefix && decode.problem.page_size != 0)
    lengths.push_back(int32_t(decode.prefix));
  return {std::move(lengths), decode.kv_heads, decode.problem.page_size, seed};
}

std::vector<int32_t> DecodeRun::lengths() const {
  const CacheLengths counted = decode_.problem.lengths;
  std::vector<int32_t> lengths = decode_.lengths;
  for (int32_t &length : lengths)
    length -= counted == CacheLengths::before ? int32_t(decode_.seqlen_q) : int32_t(counted == CacheLengths::last_key);
  return lengths;
}

Status DecodeRun::allocate(const PlanSpec &spec) {
  const Sizes sizes = sizesOf(decode_, layout_);
  Expected<std::vector<CallerTensor>> tensors = callerTensors(spec, sizes);
  if (!tensors)
    return tensors.status();
  Expected<int64_t> workspace = plan_.workspaceBytes(knownSizes(plan_, sizes));
  if (!workspace)
    return workspace.status();
  double bytes = double(*workspace);
  for (const CallerTensor &tensor : *tensors)
    bytes += std::accumulate(tensor.shape.begin(), tensor.shape.end(), double(sizeOf(tensor.dtype)), std::multiplies());
  TEGULA_RETURN_IF_ERROR(checkThatTensorsFit(bytes, *device_));
  for (const CallerTensor &tensor : *tensors) {
    Expected<DeviceTensor> memory = allocateTensor(*device_, tensor.dtype, tensor.shape);
    if (!memory)
      return memory.status();
    tensors_.emplace_back(tensor.name, std::move(*memory));
  }
  Expected<Buffer> memory = device_->allocate(*workspace);
  if (!memory)
    return memory.status();
  workspace_ = std::move(*memory);
  return {};
}

Status DecodeRun::fill() const {
  uint64_t seed = 16 * decode_.seed;
  for (const auto &[name, tensor] : tensors_)
    if (name == "lengths")
      TEGULA_RETURN_IF_ERROR(upload(*device_, std::span<const int32_t>(lengths()), tensor));
    else if (name == "prefix_lengths")
      TEGULA_RETURN_IF_ERROR(upload(*device_, std::span<const int32_t>(std::array{int32_t(decode_.prefix)}), tensor));
    else if (name == "page_table")
      TEGULA_RETURN_IF_ERROR(fillTable(layout_, tensor, 0));
    else if (name == "page_table_v")
      TEGULA_RETURN_IF_ERROR(fillTable(value_layout_, tensor, 0));
    else if (name == "prefix_page_table")
      TEGULA_RETURN_IF_ERROR(fillTable(layout_, tensor, int64_t(decode_.lengths.size())));
    else
      TEGULA_RETURN_IF_ERROR(fillFloats(name, tensor, seed++));
  return {};
}

Status DecodeRun::fillTable(const CacheLayout &layout, const DeviceTensor &tensor, int64_t first_sequence) const {
  const int64_t columns = layout.pagesOfSequence(), rows = tensor.shape().front();
  return upload(*device_, std::span(layout.table()).subspan(size_t(first_sequence * columns), size_t(rows * columns)),
                tensor);
}

Status DecodeRun::fillFloats(const std::string &name, const DeviceTensor &tensor, uint64_t seed) const {
  const std::vector<float> values = randomValues(name, shapeOf(decode_), decode_.seed);
  return values.empty() ? fillWithNormalNumbers(*device_, tensor, seed) : upload(*device_, values, tensor);
}

void DecodeRun::arrange() {
  for (const Parameter &parameter : plan_.arguments())
    if (parameter.kind != Parameter::Kind::tensor) {
      arguments_.emplace_back(decode_.scale);
    } else {
      arguments_.emplace_back(tensor(parameter.name).view);
    }
  if (decode_.num_spans)
    arguments_.emplace_back(*decode_.num_spans);
}

Status DecodeRun::prepare() {
  const Expected<int64_t> bytes = plan_.preparedBytes(knownSizes(plan_, sizesOf(decode_, layout_)));
  if (!bytes)
    return bytes.status();
  Expected<Buffer> memory = device_->allocate(*bytes);
  if (!memory)
    return memory.status();
  prepared_ = std::move(*memory);
  std::vector<Argument> first(arguments_.begin(), arguments_.begin() + std::ptrdiff_t(plan_.preparedArguments()));
  first.insert(first.end(), arguments_.begin() + std::ptrdiff_t(plan_.arguments().size()), arguments_.end());
  return plan_.prepare(first, {prepared_.data(), prepared_.bytes()});
}

const DeviceTensor &DecodeRun::tensor(std::string_view name) const {
  return std::ranges::find(tensors_, name, &NamedTensor::first)->second;
}

Status DecodeRun::run() const {
  return plan_.launch(arguments_, {workspace_.data(), workspace_.bytes()}, {}, {prepared_.data(), prepared_.bytes()});
}

Status DecodeRun::spoilUnused() const {
  for (const auto &[name, tensor] : tensors_)
    if (name == "k" || name == "v" || name == "prefix_k" || name == "prefix_v")
      TEGULA_RETURN_IF_ERROR(spoilUnusedRows(name));
  return {};
}

Status DecodeRun::spoilUnusedRows(const std::string &name) const {
  const DeviceTensor &tensor = this->tensor(name);
  const CacheLayout &layout = name.starts_with("prefix_") ? prefix_layout_ : layoutOf(name);
  Expected<std::vector<float>> cache = download(*device_, tensor);
  return cache ? upload(*device_, layout.spoilUnused(*cache, tensor.shape().back()), tensor) : cache.status();
}

Expected<std::vector<CheckedRun>> DecodeRun::sequences() const {
  std::map<std::string, std::vector<float>> arrays;
  for (const auto &[name, tensor] : tensors_) {
    Expected<std::vector<float>> values = download(*device_, tensor);
    if (!values)
      return values.status();
    arrays[name] = std::move(*values);
  }
  std::vector<CheckedRun> runs;
  for (int64_t n = 0; n < int64_t(decode_.lengths.size()); ++n)
    runs.push_back({caseOfSequence(decode_, decode_.prefix + decode_.lengths[size_t(n)]), arraysOf(n, arrays)});
  return runs;
}

std::vector<float> DecodeRun::gather(std::map<std::string, std::vector<float>> &arrays, const std::string &name,
                                     int64_t row, int64_t columns, int64_t sequence) const {
  const std::vector<float> own = layoutOf(name).gather(arrays[name], row, columns, sequence);
  if (!decode_.problem.prefix)
    return own;
  const std::vector<float> prefix = hasOwnPrefix()
                                        ? prefix_layout_.gather(arrays["prefix_" + name], row, columns, 0)
                                        : layout_.gather(arrays[name], row, columns, int64_t(decode_.lengths.size()));
  std::vector<float> keys;
  for (int64_t head = 0; head < decode_.kv_heads; ++head)
    for (const std::vector<float> *part : {&prefix, &own}) {
      const int64_t ofHead = int64_t(part->size()) / decode_.kv_heads;
      keys.insert(keys.end(), part->begin() + head * ofHead, part->begin() + (head + 1) * ofHead);
    }
  return keys;
}

AttentionArrays DecodeRun::arraysOf(int64_t sequence, std::map<std::string, std::vector<float>> &arrays) const {
  const DecodeProblem &problem = decode_.problem;
  const int64_t batch = int64_t(decode_.lengths.size()),
                value_row = decode_.problem.latent ? problem.head_dim : problem.value_dim;
  AttentionArrays of_sequence;
  of_sequence.q = slice(arrays["q"], batch, sequence);
  of_sequence.k = gather(arrays, "k", problem.head_dim, problem.head_dim, sequence);
  of_sequence.v = gather(arrays, decode_.problem.latent ? "k" : "v", value_row, problem.value_dim, sequence);
  of_sequence.o = slice(arrays["o"], batch, sequence);
  of_sequence.lse = slice(arrays["lse"], batch, sequence);
  if (problem.sinks)
    of_sequence.sinks = arrays["sinks"];
  for (const VariantTensor &tensor : problem.variant.tensors)
    of_sequence.variant.push_back(partOf(tensor, arrays[tensor.name], this->tensor(tensor.name).shape(), sequence,
                                         decode_.prefix + decode_.lengths[size_t(sequence)]));
  return of_sequence;
}

Expected<Reruns> DecodeRun::rerun(int64_t runs) const {
  const DeviceTensor &o = tensor("o"), &lse = tensor("lse");
  const auto spoilOutputs = [&] {
    TEGULA_RETURN_IF_ERROR(spoil(*device_, o));
    return spoil(*device_, lse);
  };
  return tools::rerun({.device = *device_,
                       .results = {{{"o", true}, &o}, {{"lse", true}, &lse}},
                       .spoil = spoilOutputs,
                       .run = [this] { return run(); }},
                      runs);
}

} // namespace tegula::tools
