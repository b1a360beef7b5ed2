// SPDX-License-Identifier: MIT
// One attention problem on a device: compiled, with random inputs in its memory, ready to run again and again.
#pragma once

#include "workload/attention_data.h"
#include "workload/packed_intervals.h"

#include <optional>

namespace tegula::tools {

class AttentionRun {
public:
  /// Compiles and fills the inputs. Returns resource_exhausted if the tensors do not fit into the device's memory.
  /// `cache` has the device's kernels. `tuned` as in AttentionPlan::make.
  static Expected<AttentionRun> make(const AttentionCase &attention, std::shared_ptr<Device> device, KernelCache &cache,
                                     const TunedConfigurations *tuned = nullptr);

  /// Each gives the work to the device and does not wait for it.
  Status forward() const;
  Status backward() const { return data_.backward(plan_); } ///< After forward.

  Device &device() const { return data_.device(); }
  const AttentionPlan &plan() const { return plan_; }
  const AttentionData &data() const { return data_; }
  const AttentionTensors &tensors() const { return data_.tensors(); }
  double compileMs() const { return compile_ms_; } ///< From recording to loaded kernels, forward and backward.
  int64_t workspaceBytes() const { return data_.workspaceBytes(); }

private:
  AttentionRun(AttentionPlan plan, std::optional<PackedIntervals> intervals, AttentionData data, double compile_ms)
      : plan_(std::move(plan)), intervals_(std::move(intervals)), data_(std::move(data)), compile_ms_(compile_ms) {}

  AttentionPlan plan_;
  std::optional<PackedIntervals> intervals_; ///< Intervals of packed sequences, if there are any.
  AttentionData data_;
  double compile_ms_ = 0;
};

} // namespace tegula::tools
