// SPDX-License-Identifier: MIT
// CUDA C++ as a source of kernels: baselines, references and tests that stand beside compiled programs.
#pragma once

#include "tegula/device.h"
#include "tegula/kernel.h"
#include "tegula/status.h"
#include "tegula/stream.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace tegula {

/// Compiles CUDA C++ with NVRTC, which is looked for when first needed (libnvrtc.so.13, then .12; the environment
/// variable TEGULA_LIBNVRTC names another file). `arch` "sm_90a" gives a cubin, "compute_90" PTX.
/// CompileFailed with the compiler's log; Unsupported, with the reason, if there is no NVRTC.
Expected<std::string> compileCuda(const std::string &source, const std::string &arch,
                                  std::span<const std::string> options = {}) noexcept;

/// Threads and dynamic shared memory of each block.
struct CudaBlock {
  int threads = 1;
  int64_t shared_bytes = 0;
};

/// A function of CUDA C++, whose parameters only its author knows. Lives and may be launched like a Kernel.
class CudaFunction {
public:
  virtual ~CudaFunction() = default;
  CudaFunction(const CudaFunction &) = delete;
  CudaFunction &operator=(const CudaFunction &) = delete;

  /// `launch(grid, stream, pointer, 5, 1.0f)`: arguments of exactly the parameters' types, which nothing checks.
  template <class... Arguments> Status launch(Grid grid, Stream stream, const Arguments &...arguments) const noexcept {
    const void *addresses[] = {&arguments..., nullptr};
    return launchRaw(grid, stream, addresses);
  }

protected:
  CudaFunction() = default;

  /// `addresses`: where each argument lies.
  virtual Status launchRaw(Grid grid, Stream stream, const void *const *addresses) const noexcept = 0;
};

/// Loads the function `name` (declared extern "C") of a cubin or of PTX. InvalidArgument if `device` is no cuda device
/// or the driver refuses; the message has the driver's log.
Expected<std::shared_ptr<CudaFunction>> loadCudaFunction(Device &device, std::string_view binary,
                                                         const std::string &name, const CudaBlock &block) noexcept;

} // namespace tegula
