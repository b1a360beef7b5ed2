// SPDX-License-Identifier: MIT
// Attention as work to explore on the simt device, under many interleavings of lanes.
#pragma once

#include "tegula/exploration.h"
#include "workload/attention_arrays.h"
#include "workload/attention_run.h"

#include <optional>

namespace tegula::tools {

/// The forward pass and, with `backward`, the backward pass.
class ExploredAttention final : public Explored {
public:
  /// `run` must outlive the object.
  ExploredAttention(const AttentionRun &run, bool backward) : run_(run), backward_(backward) {}

  Status run(const SimtMutation *mutation) override;
  Expected<std::vector<char>> results() override;
  std::string name() const override;

  // The first run: its times, and what results() has read after it.
  double forwardMs() const { return forward_ms_.value_or(0); }
  double backwardMs() const { return backward_ms_; }
  const std::optional<AttentionArrays> &arrays() const { return arrays_; }

private:
  const AttentionRun &run_;
  const bool backward_;
  std::optional<double> forward_ms_;
  double backward_ms_ = 0;
  std::optional<AttentionArrays> arrays_;
};

} // namespace tegula::tools
