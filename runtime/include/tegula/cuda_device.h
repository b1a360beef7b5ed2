// SPDX-License-Identifier: MIT
// NVIDIA GPUs as devices. The driver (libcuda.so.1) is loaded when it is first needed, so that the same binary runs on
// machines without one. The environment variable TEGULA_LIBCUDA names another file to load instead.
#pragma once

#include "tegula/device.h"
#include "tegula/kernel.h"
#include "tegula/status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tegula {

/// The properties of a GPU that the driver reports.
struct CudaDeviceInfo {
  std::string name;           ///< "NVIDIA H100 80GB HBM3"
  int ordinal = 0;            ///< CudaOptions::ordinal.
  std::string arch;           ///< "sm_90a": Target::arch for this GPU.
  int compute_capability = 0; ///< 90
  int multiprocessors = 0;
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t shared_bytes_per_block = 0; ///< The most that a kernel may request.
  int64_t shared_bytes_per_multiprocessor = 0;
  int memory_bus_bits = 0;
  int driver_version = 0; ///< Newest CUDA version that the driver supports: 13000 is 13.0.
  /// Highest clock of the multiprocessors; 0 if the driver does not report it.
  int max_clock_mhz = 0;
  /// Highest clock of the memory; 0 if the driver does not report it.
  int max_memory_clock_mhz = 0;
  /// Power that the GPU may draw; 0 if no library reports it.
  int power_limit_watts = 0;
};

/// Returns the GPUs that this process may use, by ordinal. The list is empty if the driver finds none. Creates no
/// context. Returns unsupported, with the reason, if there is no driver or it does not work.
Expected<std::vector<CudaDeviceInfo>> cudaDevices() noexcept;

struct CudaOptions {
  int ordinal = 0; ///< Index of the GPU in the driver's order.
};

/// Makes a device that runs kernels on a GPU. It uses the GPU's primary context, as the CUDA runtime and frameworks do.
/// No call changes the context that is current in the caller's thread. A null stream is the context's default stream;
/// any other is a CUstream or cudaStream_t of the same context. A launch neither waits nor allocates, and may be
/// captured into a graph.
/// Returns invalid_argument if there is no GPU with this ordinal. Returns unsupported if there is no driver, or if the
/// GPU is older than sm_80. After a fault on the GPU, every call returns device_lost. CUDA does not survive a fork: a
/// child of a process that has made a cuda device cannot make one.
Expected<std::shared_ptr<Device>> cudaDevice(const CudaOptions &options = {}) noexcept;

/// The properties of a loaded kernel that the driver reports.
struct CudaKernelInfo {
  /// Registers of each thread.
  int registers = 0;
  /// Local memory of each thread: spills and stack.
  int64_t local_bytes = 0;
  /// Static shared memory of each program instance.
  int64_t static_shared_bytes = 0;
  /// The most threads with which the kernel can be launched.
  int max_threads = 0;
};

/// Returns the properties of a kernel. Returns invalid_argument unless a cuda device loaded `kernel`.
Expected<CudaKernelInfo> cudaKernelInfo(const Kernel &kernel) noexcept;

} // namespace tegula
