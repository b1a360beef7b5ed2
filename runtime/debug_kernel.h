// SPDX-License-Identifier: MIT
// Kernels that report to the host while they run.
#pragma once

#include "tegula/kernel_cache.h"

#include <memory>

namespace tegula {

/// Makes a kernel of `loaded`, the kernel of `artifact`, without the parameter for records. Each launch waits for the
/// kernel, hands the texts to `print`, if there is one, and returns launch_failed with the first element that is not
/// finite.
std::shared_ptr<Kernel> makeDebugKernel(const Artifact &artifact, std::shared_ptr<Kernel> loaded,
                                        std::shared_ptr<Device> device, PrintHandler print);

} // namespace tegula
