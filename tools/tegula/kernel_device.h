// SPDX-License-Identifier: MIT
// The device of a command, with what it compiles.
#pragma once

#include "compiler.h"
#include "tegula/device.h"
#include "tegula/kernel_cache.h"

#include <memory>
#include <string_view>

namespace tegula::tools {

struct KernelDevice {
  std::shared_ptr<Device> device;
  std::unique_ptr<Compiler> compiler;
  std::shared_ptr<ArtifactCache> artifacts;
  std::unique_ptr<KernelCache> kernels;
};

/// Opens the device of --target. `no_cache` is as in openKernels. Kernels print what --check-finite reports on stderr.
Expected<KernelDevice> openKernelDevice(std::string_view target, bool no_cache,
                                        FiniteCheck check_finite = FiniteCheck::none);

} // namespace tegula::tools
