// SPDX-License-Identifier: MIT
#include "workload/attention_run.h"

#include "workload/timing.h"

#include <utility>

namespace tegula::tools {

Expected<AttentionRun> AttentionRun::make(const AttentionCase &attention, std::shared_ptr<Device> device,
                                          KernelCache &cache, const TunedSchedules *tuned) {
  Stopwatch stopwatch;
  Expected<AttentionPlan> plan = AttentionPlan::make(attention.problem, cache, attention.schedule, tuned);
  double compile_ms = stopwatch.milliseconds();
  if (!plan)
    return plan.status();
  Expected<AttentionData> data = AttentionData::make(attention, *plan, std::move(device));
  if (!data)
    return data.status();
  return AttentionRun(std::move(*plan), std::move(*data), compile_ms);
}

} // namespace tegula::tools
