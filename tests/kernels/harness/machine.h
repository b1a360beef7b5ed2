// SPDX-License-Identifier: MIT
// Holds the compiler, device and kernels that all tests of a process share.
#pragma once

#include "tegula/attention.h"

namespace tegula::testing {

struct Machine {
  std::unique_ptr<Compiler> compiler;
  std::shared_ptr<Device> device;
  std::unique_ptr<KernelCache> cache;
};

/// Returns the machine of this process. The first call makes it, on testDevice().
Machine &machine();

/// Memory for a launch, filled with NaNs. The destructor waits for the launch.
class ScratchMemory {
public:
  explicit ScratchMemory(int64_t bytes);
  ~ScratchMemory();
  ScratchMemory(const ScratchMemory &) = delete;
  ScratchMemory &operator=(const ScratchMemory &) = delete;
  Workspace get() const { return {buffer_.data(), buffer_.bytes()}; }

private:
  Buffer buffer_;
};

} // namespace tegula::testing
