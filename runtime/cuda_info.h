// SPDX-License-Identifier: MIT
// The GPUs of this machine and their properties.
#pragma once

#include "cuda_driver.h"
#include "tegula/cuda_device.h"

namespace tegula::cuda {

/// A driver that is ready for calls, and the number of GPUs that it finds.
struct Machine {
  const Driver &driver;
  int devices = 0;
};

/// Opens the driver. Returns unsupported, with the reason, if there is no driver or it does not work.
Expected<Machine> openMachine();

/// Returns the properties of one GPU.
Expected<CudaDeviceInfo> describeDevice(const Driver &driver, int ordinal);

} // namespace tegula::cuda
