// SPDX-License-Identifier: MIT
// Kernels of the cpu device.
#pragma once

#include "cpu_pool.h"
#include "tegula/kernel.h"

#include <memory>

namespace tegula {

/// Implements Device::load of the cpu device. May throw std::bad_alloc.
Expected<std::shared_ptr<Kernel>> loadCpuKernel(const Artifact &artifact, std::shared_ptr<CpuPool> pool);

/// Returns invalid_argument for any stream but the default one.
Status checkCpuStream(Stream stream);
/// Implements Kernel::clear of kernels that run on the host.
Status clearOnCpu(void *memory, size_t bytes, Stream stream);

} // namespace tegula
