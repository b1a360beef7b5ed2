// SPDX-License-Identifier: MIT
// How long work takes on a device.
#pragma once

#include "tegula/status.h"
#include "tegula/stream.h"

namespace tegula {

/// Measures the time between two points of a stream's work; made by Device::makeTimer. Any number of timers may be
/// running; one timer is for one thread at a time, and may be used again. It may outlive its Device.
class Timer {
public:
  virtual ~Timer() = default;
  Timer(const Timer &) = delete;
  Timer &operator=(const Timer &) = delete;

  /// Marks the points after the work that `stream` has been given so far. Neither waits for that work.
  virtual Status start(Stream stream = {}) noexcept = 0;
  virtual Status stop(Stream stream = {}) noexcept = 0;

  /// Waits until both points have been reached and returns the time from start to stop, or the failure of the work in
  /// between. Returns invalid_argument without a start and a stop after it.
  virtual Expected<double> milliseconds() noexcept = 0;

protected:
  Timer() = default;
};

} // namespace tegula
