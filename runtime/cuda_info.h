// SPDX-License-Identifier: MIT
// Which GPUs there are, and what they are.
#pragma once

#include "cuda_driver.h"
#include "tegula/cuda_device.h"

namespace tegula::cuda {

/// A driver that is ready for calls, and how many GPUs it finds.
struct Machine {
  const Driver &driver;
  int devices = 0;
};

/// Returns unsupported, with the reason, if there is no driver or it does not work.
Expected<Machine> openMachine();

/// Of one GPU, by ordinal.
Expected<CudaDeviceInfo> describeDevice(const Driver &driver, int ordinal);

} // namespace tegula::cuda
