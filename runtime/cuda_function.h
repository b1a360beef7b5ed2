// SPDX-License-Identifier: MIT
// A function of a module that is loaded into a context.
#pragma once

#include "cuda_context.h"
#include "tegula/cuda_device.h"
#include "tegula/cuda_function.h"

#include <memory>
#include <string>

namespace tegula::cuda {

/// A function. Its module is unloaded when it is destroyed.
class Function {
public:
  /// Loads a cubin or PTX, and prepares its function `name` for blocks of this size. The errors are those of
  /// Device::load, without the name.
  static Expected<Function> load(std::shared_ptr<Context> context, const std::string &binary, const std::string &name,
                                 const CudaBlock &block);

  Function(Function &&other) noexcept;
  Function &operator=(Function &&) = delete;
  ~Function();

  const CudaKernelInfo &info() const noexcept { return info_; }
  /// Returns the number of blocks that run at the same time.
  Expected<int64_t> concurrency() const;

  /// Launches a grid of at least one block. `parameters` and `extra` are as for cuLaunchKernel. Neither allocates nor
  /// waits.
  Status launch(Grid grid, Stream stream, void **parameters, void **extra) const;

private:
  Function(std::shared_ptr<Context> context, const CudaBlock &block) : context_(std::move(context)), block_(block) {}

  Status loadModule(const std::string &binary);
  Status readInfo();
  Status readAttribute(CUfunction_attribute attribute, int &value);
  Status prepare();
  Expected<int64_t> sharedLimit() const;

  std::shared_ptr<Context> context_;
  CudaBlock block_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  CudaKernelInfo info_;
};

} // namespace tegula::cuda
