// SPDX-License-Identifier: MIT
#include "workload/timing.h"

#include <algorithm>

namespace tegula::tools {

constexpr size_t kMinRuns = 3;
constexpr size_t kMaxRuns = 100;

double median(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// `measure` runs the work once and returns its time.
static Expected<double> medianOf(const std::function<Expected<double>()> &measure, double budget_ms) {
  TEGULA_RETURN_IF_ERROR(measure().status());
  std::vector<double> runs;
  Stopwatch total;
  while (runs.size() < kMinRuns || (runs.size() < kMaxRuns && total.milliseconds() < budget_ms)) {
    Expected<double> one = measure();
    if (!one)
      return one;
    runs.push_back(*one);
  }
  return median(std::move(runs));
}

Expected<double> medianMs(const std::function<Status()> &work, double budget_ms) {
  auto measure = [&]() -> Expected<double> {
    Stopwatch stopwatch;
    TEGULA_RETURN_IF_ERROR(work());
    return stopwatch.milliseconds();
  };
  return medianOf(measure, budget_ms);
}

Expected<double> medianMs(Device &device, const std::function<Status()> &work, double budget_ms) {
  Expected<std::unique_ptr<Timer>> timer = device.makeTimer();
  if (!timer)
    return timer.status();
  auto measure = [&]() -> Expected<double> {
    TEGULA_RETURN_IF_ERROR((*timer)->start());
    TEGULA_RETURN_IF_ERROR(work());
    TEGULA_RETURN_IF_ERROR((*timer)->stop());
    return (*timer)->milliseconds();
  };
  return medianOf(measure, budget_ms);
}

} // namespace tegula::tools
