// SPDX-License-Identifier: MIT
// Functions of CUDA C++, for baselines, references and tests next to compiled programs.
#pragma once

#include "tegula/device.h"
#include "tegula/kernel.h"
#include "tegula/status.h"
#include "tegula/stream.h"

#include <cstdint>
#include <memory>
#include <string>

namespace tegula {

/// Threads and dynamic shared memory of each thread block.
struct CudaBlock {
  int threads = 1;
  int64_t shared_bytes = 0;
};

/// A function whose parameters are known only to its author. loadCudaFunction makes it. Its lifetime and its launches
/// follow the rules of Kernel.
class CudaFunction {
public:
  virtual ~CudaFunction() = default;
  CudaFunction(const CudaFunction &) = delete;
  CudaFunction &operator=(const CudaFunction &) = delete;

  /// Launches the function, as in `launch(grid, stream, pointer, 5, 1.0f)`. The arguments must have exactly the
  /// parameters' types, which nothing checks.
  template <class... Arguments> Status launch(Grid grid, Stream stream, const Arguments &...arguments) const noexcept {
    const void *addresses[] = {&arguments..., nullptr};
    return launchRaw(grid, stream, addresses);
  }

protected:
  CudaFunction() = default;

  /// Launches the function. `addresses` has the address of each argument.
  virtual Status launchRaw(Grid grid, Stream stream, const void *const *addresses) const noexcept = 0;
};

/// Loads the function `name`, declared extern "C", from a cubin or from PTX. Returns invalid_argument if `device` is
/// not a cuda device, or if the driver refuses, with the driver's log. Returns resource_exhausted if a block needs more
/// than the GPU has.
Expected<std::shared_ptr<CudaFunction>> loadCudaFunction(Device &device, const std::string &binary,
                                                         const std::string &name, const CudaBlock &block) noexcept;

} // namespace tegula
