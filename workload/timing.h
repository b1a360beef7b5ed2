// SPDX-License-Identifier: MIT
// How long work takes.
#pragma once

#include "tegula/device.h"

#include <chrono>
#include <functional>
#include <vector>

namespace tegula::tools {

/// Wall-clock time since it was made.
class Stopwatch {
public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Returns the median of at least one value.
double median(std::vector<double> values);

/// Milliseconds of one call of `work`: the median of 3 to 100 calls, as many as fit into `budget_ms`, after one that
/// warms up.
Expected<double> medianMs(const std::function<Status()> &work, double budget_ms = 500);
/// The same for work that `work` gives to a device, in the device's own time.
Expected<double> medianMs(Device &device, const std::function<Status()> &work, double budget_ms = 500);

/// Operations in a time, as 10^12 per second; 0 if there was nothing to do.
inline double teraflops(double flops, double ms) { return flops == 0 ? 0 : flops / ms * 1e-9; }

} // namespace tegula::tools
