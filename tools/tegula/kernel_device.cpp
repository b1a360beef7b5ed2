// SPDX-License-Identifier: MIT
#include "kernel_device.h"
#include "workload/open_device.h"

#include <fmt/format.h>

namespace tegula::tools {

Expected<KernelDevice> openKernelDevice(std::string_view target, bool no_cache, FiniteCheck check_finite) {
  Expected<std::shared_ptr<Device>> device = openDevice(target);
  if (!device)
    return device.status();
  KernelDevice opened{.device = *device, .compiler = makeCompiler(), .artifacts = {}, .kernels = {}};
  opened.artifacts = openKernels(opened.device->target(), no_cache);
  opened.kernels = std::make_unique<KernelCache>(
      *opened.compiler, opened.device,
      KernelCacheOptions{.artifacts = opened.artifacts,
                         .check_finite = check_finite,
                         .print = [](std::string_view text) { fmt::print(stderr, "{}", text); }});
  return opened;
}

} // namespace tegula::tools
