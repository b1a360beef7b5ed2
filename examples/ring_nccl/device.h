// SPDX-License-Identifier: MIT
// What a rank does with its device besides launching kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

class Device {
public:
  virtual ~Device() = default;

  /// Makes the device current in the calling thread. A rank's thread calls it before anything else.
  virtual void use() {}
  /// Returns memory that is 0 and aligned to 64 bytes. It must be freed before the device.
  virtual std::shared_ptr<void> allocate(int64_t bytes) = 0;
  /// Copies memory and waits. The device must have no work.
  virtual void copyToDevice(void *device, const void *host, int64_t bytes) = 0;
  virtual void copyToHost(void *host, const void *device, int64_t bytes) = 0;
  /// Returns the stream for kernels, a CUstream; null on the cpu.
  virtual void *stream() = 0;
  /// Marks the begin and the end of timed work on the stream.
  virtual void startTimer() = 0;
  virtual void stopTimer() = 0;
  /// Waits until the timed work has been done, calling `poll` meanwhile. Returns its milliseconds.
  virtual double milliseconds(const std::function<void()> &poll) = 0;
};

std::unique_ptr<Device> makeCpuDevice();
