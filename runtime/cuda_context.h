// SPDX-License-Identifier: MIT
// A GPU's primary context, which all objects of Tegula on that GPU share.
#pragma once

#include "cuda_driver.h"
#include "tegula/device.h"
#include "tegula/internal/fork.h"

#include <atomic>
#include <memory>

namespace tegula::cuda {

/// A reference that retains the context while it exists. Thread-safe. In a forked child it does nothing.
class Context {
public:
  static Expected<std::shared_ptr<Context>> make(const Driver &driver, int ordinal);
  ~Context();
  Context(const Context &) = delete;
  Context &operator=(const Context &) = delete;

  const Driver &driver() const noexcept { return driver_; }
  CUdevice device() const noexcept { return device_; }

  /// Returns forked_child in a child, and device_lost after a fault.
  Status check() const {
    return fork_.inChild() || fault_.load(std::memory_order_relaxed) != CUDA_SUCCESS ? refusal() : Status();
  }

  /// Calls the entry point `entryPoint`, by `call(driver)`, while the context is current. Then makes the caller's own
  /// context current again. In a host that works on this GPU, the context is already current. See Driver::status for
  /// `otherwise`.
  template <class Call> Status run(const char *entryPoint, ErrorCode otherwise, Call &&call) {
    TEGULA_RETURN_IF_ERROR(check());
    if (isCurrent()) {
      const CUresult result = call(driver_);
      return result == CUDA_SUCCESS ? Status() : failed(entryPoint, result, otherwise);
    }
    if (const CUresult pushed = driver_.cuCtxPushCurrent_v2(context_); pushed != CUDA_SUCCESS)
      return failed("cuCtxPushCurrent_v2", pushed, otherwise);
    const CUresult result = call(driver_);
    const CUresult popped = pop();
    if (result != CUDA_SUCCESS)
      return failed(entryPoint, result, otherwise);
    return popped == CUDA_SUCCESS ? Status() : failed("cuCtxPopCurrent_v2", popped, otherwise);
  }

  /// Calls `call(driver)` to free something. Does so even after a fault, and reports no failure.
  template <class Call> void release(Call &&call) noexcept {
    if (fork_.inChild() || driver_.cuCtxPushCurrent_v2(context_) != CUDA_SUCCESS)
      return;
    call(driver_);
    pop();
  }

private:
  Context(const Driver &driver, CUdevice device) : driver_(driver), device_(device) {}

  bool isCurrent() const noexcept {
    CUcontext current = nullptr;
    return driver_.cuCtxGetCurrent(&current) == CUDA_SUCCESS && current == context_;
  }
  CUresult pop() const noexcept {
    CUcontext popped = nullptr;
    return driver_.cuCtxPopCurrent_v2(&popped);
  }
  Status failed(const char *entryPoint, CUresult result, ErrorCode otherwise);
  Status refusal() const;

  const Driver &driver_;
  CUdevice device_;
  CUcontext context_ = nullptr;
  ForkGuard fork_;
  std::atomic<CUresult> fault_{CUDA_SUCCESS}; ///< The first error after which the context is lost.
};

/// Returns the context of `device`. Returns invalid_argument unless it is a cuda device.
Expected<std::shared_ptr<Context>> contextOf(Device &device);

} // namespace tegula::cuda
