// SPDX-License-Identifier: MIT
// Kernels of the cuda device.
#pragma once

#include "cuda_context.h"
#include "tegula/kernel.h"

#include <memory>

namespace tegula::cuda {

/// Implements Device::load of the cuda device. May throw std::bad_alloc.
Expected<std::shared_ptr<Kernel>> loadKernel(const Artifact &artifact, std::shared_ptr<Context> context);

} // namespace tegula::cuda
