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

/// The size of a device's memory.
struct MemoryInfo {
  int64_t total_bytes = 0;
  int64_t available_bytes = 0; ///< Bytes that could be allocated now without swapping; changes at any time.
};

/// A machine that runs kernels. Thread-safe. If the parent of a forked child made the device, all calls in the child
/// that return a Status or an Expected return forked_child. The child may make its own cpu device.
class Device {
public:
  virtual ~Device() = default;
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  /// Returns a name for people: "cpu", or a GPU's name.
  virtual std::string_view name() const noexcept = 0;
  /// Returns the target that kernels must be compiled for.
  virtual const Target &target() const noexcept = 0;

  /// Returns the build of the driver that loads kernels. Returns an empty string if only this library loads them.
  virtual std::string_view driver() const noexcept { return {}; }

  /// Allocates uninitialised memory. Returns invalid_argument for a negative size, resource_exhausted if there is not
  /// enough.
  virtual Expected<Buffer> allocate(int64_t bytes) noexcept = 0;

  /// Copies `bytes` bytes in the order of `stream`. The memory on both sides must stay alive until the copy is done.
  /// Returns invalid_argument for a negative size, for a null pointer if there is something to copy, and for a foreign
  /// stream.
  virtual Status copyToDevice(void *device, const void *host, int64_t bytes, Stream stream = {}) noexcept = 0;
  virtual Status copyToHost(void *host, const void *device, int64_t bytes, Stream stream = {}) noexcept = 0;

  /// Makes a compiled kernel ready to launch. Returns invalid_argument if the artifact is for another target, is not
  /// what its fields say, or is cut off. The machine code itself is trusted: load only what your own compiler made.
  virtual Expected<std::shared_ptr<Kernel>> load(const Artifact &artifact) noexcept = 0;

  /// Waits until the work of `stream` is done. Returns its failure, if any.
  virtual Status synchronize(Stream stream = {}) noexcept = 0;

  virtual Expected<MemoryInfo> memory() const noexcept = 0;

  /// Makes a timer of the device's own time.
  virtual Expected<std::unique_ptr<Timer>> makeTimer() noexcept = 0;

protected:
  Device() = default;
};

struct CpuOptions {
  /// Number of threads that run a launch, including the caller; at most 1024. 0 means one for each core that the thread
  /// which makes the device may use (its affinity mask).
  int threads = 0;
};

/// Makes a device that runs kernels on the cores of this process. Its threads start with the first launch that has work
/// for them, and end with the device and its kernels. Each call makes a device with its own threads, so a process needs
/// only one. Kernels run in the default floating-point environment, whatever the caller's is. Returns invalid_argument
/// for a negative or too large number of threads.
Expected<std::shared_ptr<Device>> cpuDevice(const CpuOptions &options = {}) noexcept;

} // namespace tegula
