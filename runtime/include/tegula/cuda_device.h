// SPDX-License-Identifier: MIT
// GPUs of NVIDIA as devices. The driver (libcuda.so.1) is looked for when it is first needed: the same binary runs on
// machines without one. The environment variable TEGULA_LIBCUDA names another file to load in its place.
#pragma once

#include "tegula/device.h"
#include "tegula/kernel.h"
#include "tegula/status.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tegula {

/// What the driver says about a GPU.
struct CudaDeviceInfo {
  std::string name;           ///< "NVIDIA H100 80GB HBM3"
  int ordinal = 0;            ///< CudaOptions::ordinal.
  std::string arch;           ///< "sm_90a": Target::arch for this GPU.
  int compute_capability = 0; ///< 90
  int multiprocessors = 0;
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t shared_bytes_per_block = 0; ///< The most that a kernel may ask for.
  int64_t shared_bytes_per_multiprocessor = 0;
  int memory_bus_bits = 0;
  int driver_version = 0; ///< Newest CUDA that the driver speaks: 13000 is 13.0.
  /// 0 where the driver does not tell.
  int max_clock_mhz = 0;
  int max_memory_clock_mhz = 0;
  int power_limit_watts = 0;
};

/// The GPUs that this process may use, by ordinal; none if the driver finds none. Creates no context.
/// Returns unsupported, with the reason, if there is no driver or it does not work.
Expected<std::vector<CudaDeviceInfo>> cudaDevices() noexcept;

struct CudaOptions {
  int ordinal = 0; ///< Which GPU, as the driver counts them.
};

/// A device that runs kernels on a GPU, in the GPU's primary context, which the CUDA runtime and frameworks use too.
/// No call changes the context that is current in the caller's thread. A null stream is the context's default stream;
/// any other is a CUstream or cudaStream_t of the same context. A launch neither waits nor allocates, and may be
/// captured into a graph.
/// Returns invalid_argument if there is no GPU of this number. Returns unsupported if there is no driver, or for a GPU
/// before sm_80. After a fault on the GPU every call answers device_lost. CUDA does not survive a fork: a child of a
/// process that has made a cuda device cannot make one.
Expected<std::shared_ptr<Device>> cudaDevice(const CudaOptions &options = {}) noexcept;

/// What the driver says about a loaded kernel; each thread's registers and local memory (spills and stack), each
/// program instance's static shared memory, and the most threads that the kernel can be launched with.
struct CudaKernelInfo {
  int registers = 0;
  int64_t local_bytes = 0;
  int64_t static_shared_bytes = 0;
  int max_threads = 0;
};

/// Returns invalid_argument unless a cuda device loaded `kernel`.
Expected<CudaKernelInfo> cudaKernelInfo(const Kernel &kernel) noexcept;

} // namespace tegula
