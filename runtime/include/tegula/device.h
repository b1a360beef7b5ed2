// SPDX-License-Identifier: MIT
// Devices: memory, copies, and loading of compiled kernels.
#pragma once

#include "tegula/artifact.h"
#include "tegula/buffer.h"
#include "tegula/kernel.h"
#include "tegula/status.h"
#include "tegula/stream.h"
#include "tegula/timer.h"

#include <cstdint>
#include <memory>
#include <string_view>

namespace tegula {

/// Bytes of a device's memory.
struct MemoryInfo {
  int64_t total_bytes = 0;
  int64_t available_bytes = 0; ///< What could be allocated now without swapping; changes at any time.
};

/// A machine that runs kernels. Thread-safe. In a forked child, all calls that return a Status or an Expected answer
/// forked_child for a device that the parent made; the child may make its own cpu device.
class Device {
public:
  virtual ~Device() = default;
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// For people: "cpu", or a GPU's name.
  virtual std::string_view name() const noexcept = 0;
  /// What to compile for.
  virtual const Target &target() const noexcept = 0;

  /// The build of what loads kernels, as far as it is not part of this library; empty if there is no such thing.
  virtual std::string_view driver() const noexcept { return {}; }

  /// Uninitialised memory. Returns invalid_argument for a negative size, resource_exhausted if there is not enough.
  virtual Expected<Buffer> allocate(int64_t bytes) noexcept = 0;

  /// Copies `bytes` bytes in the order of `stream`. The memory on both sides must stay alive until the copy is done.
  /// Returns invalid_argument for a negative size, for null where there is something to copy, and for a foreign stream.
  virtual Status copyToDevice(void *device, const void *host, int64_t bytes, Stream stream = {}) noexcept = 0;
  virtual Status copyToHost(void *host, const void *device, int64_t bytes, Stream stream = {}) noexcept = 0;

  /// Makes a compiled kernel ready to launch. Returns invalid_argument if the artifact is for another target, is not
  /// what its fields say, or is cut off. The machine code itself is trusted: load only what your own compiler made.
  virtual Expected<std::shared_ptr<Kernel>> load(const Artifact &artifact) noexcept = 0;

  /// Waits until the work of `stream` is done and returns its failure, if any.
  virtual Status synchronize(Stream stream = {}) noexcept = 0;

  virtual Expected<MemoryInfo> memory() const noexcept = 0;

  /// A timer of the device's own time.
  virtual Expected<std::unique_ptr<Timer>> makeTimer() noexcept = 0;

protected:
  Device() = default;
};

struct CpuOptions {
  /// Threads that run a launch, the caller's included; at most 1024. 0: one for each core that the thread which makes
  /// the device may use (its affinity mask).
  int threads = 0;
};

/// A device that runs kernels on the cores of this process. Its threads start with the first launch that has work for
/// them, and end with the device and its kernels. Each call makes a device with threads of its own: a process needs
/// one. Kernels run in the default floating-point environment, whatever the caller's is. Returns invalid_argument for a
/// negative or too large number of threads.
Expected<std::shared_ptr<Device>> cpuDevice(const CpuOptions &options = {}) noexcept;

} // namespace tegula
