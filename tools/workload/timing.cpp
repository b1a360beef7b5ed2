// SPDX-License-Identifier: MIT
#include "workload/timing.h"

#include <algorithm>
#include <vector>

namespace tegula::tools {

constexpr size_t kFewestRuns = 3;
constexpr size_t kMostRuns = 100;

static double median(std::vector<double> values) {
  auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Expected<double> medianMs(const std::function<Status()> &work, double budget_ms) {
  TEGULA_RETURN_IF_ERROR(work());
  std::vector<double> runs;
  Stopwatch total;
  while (runs.size() < kFewestRuns || (runs.size() < kMostRuns && total.milliseconds() < budget_ms)) {
    Stopwatch one;
    TEGULA_RETURN_IF_ERROR(work());
    runs.push_back(one.milliseconds());
  }
  return median(std::move(runs));
}

} // namespace tegula::tools
