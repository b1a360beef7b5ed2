// SPDX-License-Identifier: MIT
// Timers of the work on a device.
#pragma once

#include "tegula/status.h"
#include "tegula/stream.h"

namespace tegula {

/// A timer between two points of a stream's work. Device::makeTimer makes it. Any number of timers may be running. One
/// timer is for one thread at a time, and may be used again. It may outlive its Device.
class Timer {
public:
  virtual ~Timer() = default;
  Timer(const Timer &) = delete;
  Timer &operator=(const Timer &) = delete;

  /// Marks the start after the work that `stream` has been given so far. Does not wait for that work.
  virtual Status start(Stream stream = {}) noexcept = 0;
  /// Marks the stop in the same way.
  virtual Status stop(Stream stream = {}) noexcept = 0;

  /// Waits until both points have been reached. Returns the time from start to stop, or the failure of the work in
  /// between. Returns invalid_argument without a start and a stop after it.
  virtual Expected<double> milliseconds() noexcept = 0;

protected:
  Timer() = default;
};

} // namespace tegula
