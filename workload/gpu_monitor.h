// SPDX-License-Identifier: MIT
// What a GPU does while work runs on it, as NVML tells.
#pragma once

#include "tegula/artifact.h"

#include <atomic>
#include <optional>
#include <thread>

namespace tegula::tools {

/// Looks at the first GPU from time to time, from its making until stop(). Finds nothing on a machine without NVML, and
/// for a target that is no GPU.
class GpuMonitor {
public:
  struct Average {
    std::optional<double> clock_mhz, watts;
  };

  explicit GpuMonitor(const Target &target);
  ~GpuMonitor() { stop(); }
  GpuMonitor(const GpuMonitor &) = delete;
  GpuMonitor &operator=(const GpuMonitor &) = delete;

  Average stop();

private:
  void watch();

  std::atomic<bool> stopped_ = false;
  double clock_sum_ = 0, power_sum_ = 0; // Of the watching thread until it is joined.
  int clocks_ = 0, powers_ = 0;
  std::thread thread_;
};

} // namespace tegula::tools
