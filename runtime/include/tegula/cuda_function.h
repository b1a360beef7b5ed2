// SPDX-License-Identifier: MIT
// Functions of CUDA C++ as such: baselines, references and tests that stand beside compiled programs.
#pragma once

#include "tegula/device.h"
#include "tegula/kernel.h"
#include "tegula/status.h"
#include "tegula/stream.h"

#include <cstdint>
#include <memory>
#include <string>

namespace tegula {

/// Threads and dynamic shared memory of each block.
struct CudaBlock {
  int threads = 1;
  int64_t shared_bytes = 0;
};

/// A function whose parameters only its author knows; made by loadCudaFunction. Lives and may be launched like a
/// Kernel.
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

/// Loads the function `name` (declared extern "C") of a cubin or of PTX. Returns invalid_argument if `device` is no
/// cuda device or the driver refuses, with the driver's log. Returns resource_exhausted if a block needs more than the
/// GPU has.
Expected<std::shared_ptr<CudaFunction>> loadCudaFunction(Device &device, const std::string &binary,
                                                         const std::string &name, const CudaBlock &block) noexcept;

} // namespace tegula
