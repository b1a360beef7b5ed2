// SPDX-License-Identifier: MIT
#include "workload/attention_run.h"

#include "workload/timing.h"

#include <utility>

namespace tegula::tools {

Expected<AttentionRun> AttentionRun::make(const AttentionCase &attention, std::shared_ptr<Device> device,
                                          KernelCache &cache, const TunedConfigurations *tuned) {
  Stopwatch stopwatch;
  Expected<AttentionPlan> plan = AttentionPlan::make(attention.problem, cache, attention.schedule, tuned);
  if (!plan)
    return plan.status();
  std::optional<PackedIntervals> intervals;
  if (attention.packed) {
    Expected<PackedIntervals> made = PackedIntervals::make(attention, *device, cache);
    if (!made)
      return made.status();
    intervals = std::move(*made);
  }
  const double compile_ms = stopwatch.milliseconds();
  Expected<AttentionData> data = AttentionData::make(attention, *plan, std::move(device));
  if (!data)
    return data.status();
  return AttentionRun(std::move(*plan), std::move(intervals), std::move(*data), compile_ms);
}

Status AttentionRun::forward() const {
  if (intervals_)
    TEGULA_RETURN_IF_ERROR(intervals_->launch(tensors()));
  return data_.forward(plan_);
}

} // namespace tegula::tools
