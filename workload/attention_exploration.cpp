// SPDX-License-Identifier: MIT
#include "workload/attention_exploration.h"

#include "workload/attention_launches.h"
#include "workload/timing.h"

#include <utility>

namespace tegula::tools {
namespace {

/// Returns true for a kernel of the backward pass. A mutant of one reads the results of the correct forward pass, which
/// ran before.
bool isOfBackward(std::string_view kernel) { return kernel.starts_with("flash2_backward"); }

void append(std::vector<char> &bytes, const std::vector<float> &values) {
  const auto *begin = reinterpret_cast<const char *>(values.data());
  bytes.insert(bytes.end(), begin, begin + values.size() * sizeof(float));
}

} // namespace

Status ExploredAttention::run(const SimtMutation *mutation) {
  Stopwatch forward;
  if (mutation == nullptr || !isOfBackward(mutation->kernel))
    TEGULA_RETURN_IF_ERROR(unlessFound(run_.forward()));
  const double forward_ms = forward.milliseconds();
  TEGULA_RETURN_IF_ERROR(run_.data().clearVariantGradients());
  Stopwatch backward;
  if (backward_)
    TEGULA_RETURN_IF_ERROR(unlessFound(run_.backward()));
  if (!forward_ms_) {
    forward_ms_ = forward_ms;
    backward_ms_ = backward.milliseconds();
  }
  return {};
}

Expected<std::vector<char>> ExploredAttention::results() {
  Expected<AttentionArrays> arrays = readArrays(run_.data(), backward_);
  if (!arrays)
    return arrays.status();
  std::vector<char> bytes;
  for (const auto *values : {&arrays->o, &arrays->lse, &arrays->dq, &arrays->dk, &arrays->dv})
    append(bytes, *values);
  for (const std::vector<float> &gradient : arrays->variant_gradients)
    append(bytes, gradient);
  if (!arrays_)
    arrays_ = std::move(*arrays);
  return bytes;
}

std::string ExploredAttention::name() const { return launchName(run_.data().attention()); }

} // namespace tegula::tools
