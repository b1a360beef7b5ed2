// SPDX-License-Identifier: MIT
#include "workload/reruns.h"

#include <utility>

namespace tegula::tools {
namespace {

using Bytes = std::vector<char>;

std::vector<RerunResult> resultsOf(const AttentionRun &run, const AttentionProblem &problem) {
  const AttentionTensors &t = run.tensors();
  std::vector<RerunResult> results = {{{"o", true}, &t.o}, {{"lse", true}, &t.lse}};
  if (!problem.backward)
    return results;
  results.push_back({{"dq", problem.deterministic}, &t.dq});
  results.push_back({{"dk", true}, &t.dk});
  results.push_back({{"dv", true}, &t.dv});
  size_t gradient = 0;
  for (const VariantTensor &tensor : problem.variant.tensors)
    if (tensor.wants_gradient)
      results.push_back({{"d" + tensor.name, problem.deterministic}, &t.variant_gradients[gradient++]});
  if (problem.sinks)
    results.push_back({{"d_sinks", true}, &t.d_sinks});
  return results;
}

Status runOnce(const AttentionRun &run, bool backward) {
  TEGULA_RETURN_IF_ERROR(run.forward());
  if (!backward)
    return {};
  TEGULA_RETURN_IF_ERROR(run.data().clearVariantGradients());
  return run.backward();
}

Expected<Bytes> bytesOf(Device &device, const DeviceTensor &tensor) {
  Bytes bytes(size_t(tensor.memory.bytes()));
  TEGULA_RETURN_IF_ERROR(device.copyToHost(bytes.data(), tensor.memory.data(), tensor.memory.bytes()));
  TEGULA_RETURN_IF_ERROR(device.synchronize());
  return bytes;
}

} // namespace

Expected<Reruns> rerun(const RerunWork &work, int64_t runs) {
  Reruns reruns{.runs = runs, .tensors = {}};
  for (const RerunResult &result : work.results)
    reruns.tensors.push_back(result.tensor);
  std::vector<Bytes> first(work.results.size());
  for (int64_t n = 0; n <= runs; ++n) {
    if (n <= 1) // What a launch does not write must not count as the same.
      TEGULA_RETURN_IF_ERROR(work.spoil());
    TEGULA_RETURN_IF_ERROR(work.run());
    for (size_t index = 0; index < first.size(); ++index) {
      Expected<Bytes> bytes = bytesOf(work.device, *work.results[index].place);
      if (!bytes)
        return bytes.status();
      if (n == 0)
        first[index] = std::move(*bytes);
      else
        reruns.tensors[index].different += *bytes != first[index];
    }
  }
  return reruns;
}

Expected<Reruns> rerun(const AttentionRun &run, const AttentionProblem &problem, int64_t runs) {
  return rerun({.device = run.device(),
                .results = resultsOf(run, problem),
                .spoil = [&] { return run.data().spoilOutputs(); },
                .run = [&] { return runOnce(run, problem.backward); }},
               runs);
}

Status verdict(const Reruns &reruns) {
  for (const RerunTensor &tensor : reruns.tensors)
    if (tensor.promised && tensor.different != 0)
      return {ErrorCode::internal, tensor.name + " has other bits in " + std::to_string(tensor.different) + " of " +
                                       std::to_string(reruns.runs) + " reruns"};
  return {};
}

} // namespace tegula::tools
