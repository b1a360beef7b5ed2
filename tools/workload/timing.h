// SPDX-License-Identifier: MIT
// Wall-clock time.
#pragma once

#include "tegula/status.h"

#include <chrono>
#include <functional>

namespace tegula::tools {

class Stopwatch {
public:
  double milliseconds() const {
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start_).count();
  }

private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Milliseconds of one call of `work`: the median of 3 to 100 calls, as many as fit into `budget_ms`, after one that
/// warms up.
Expected<double> medianMs(const std::function<Status()> &work, double budget_ms = 500);

/// Operations in a time, as 10^12 per second; 0 if there was nothing to do.
inline double teraflops(double flops, double ms) { return flops == 0 ? 0 : flops / ms * 1e-9; }

} // namespace tegula::tools
