// SPDX-License-Identifier: MIT
#include "workload/attention_exploration.h"

#include "workload/attention_launches.h"
#include "workload/timing.h"

#include <list>
#include <optional>
#include <tuple>
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

class ExploredAttention final : public Explored {
public:
  ExploredAttention(const AttentionRun &run, bool backward) : run_(run), backward_(backward) {}

  Status run(const SimtMutation *mutation) override {
    Stopwatch forward;
    if (mutation == nullptr || !isOfBackward(mutation->kernel))
      TEGULA_RETURN_IF_ERROR(unlessFound(run_.forward()));
    const double forward_ms = forward.milliseconds();
    TEGULA_RETURN_IF_ERROR(run_.data().clearVariantGradients());
    Stopwatch backward;
    if (backward_)
      TEGULA_RETURN_IF_ERROR(unlessFound(run_.backward()));
    if (!first_)
      first_ = {forward_ms, backward.milliseconds()};
    return {};
  }

  Expected<std::vector<char>> results() override {
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

  std::string name() const override { return launchName(run_.data().attention()); }

  /// Moves what the first run has measured and computed to `exploration`.
  void moveFirst(AttentionExploration &exploration) {
    std::tie(exploration.forward_ms, exploration.backward_ms) = first_.value_or(std::pair(0.0, 0.0));
    if (arrays_)
      exploration.arrays = std::move(*arrays_);
  }

private:
  const AttentionRun &run_;
  const bool backward_;
  std::optional<std::pair<double, double>> first_; ///< Milliseconds of the passes.
  std::optional<AttentionArrays> arrays_;
};

} // namespace

std::unique_ptr<Explored> exploredAttention(const AttentionRun &run, bool backward) {
  return std::make_unique<ExploredAttention>(run, backward);
}

Expected<AttentionExploration> explore(const AttentionRun &run, std::span<const AttentionRun> others,
                                       SimtDevice &device, const ExplorationOptions &options, uint64_t seed,
                                       bool backward) {
  ExploredAttention explored(run, backward);
  std::list<ExploredAttention> explored_others;
  std::vector<Explored *> pointers;
  for (const AttentionRun &other : others)
    pointers.push_back(&explored_others.emplace_back(other, backward));
  Expected<Exploration> exploration = explore(explored, pointers, device, options, seed);
  if (!exploration)
    return exploration.status();
  AttentionExploration result;
  static_cast<Exploration &>(result) = std::move(*exploration);
  explored.moveFirst(result);
  return result;
}

} // namespace tegula::tools
