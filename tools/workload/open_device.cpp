// SPDX-License-Identifier: MIT
#include "workload/open_device.h"

#include "tegula/cuda_device.h"
#include "workload/machine.h"

namespace tegula::tools {

static bool hasGpu() {
  Expected<std::vector<CudaDeviceInfo>> gpus = cudaDevices();
  return gpus && !gpus->empty();
}

std::vector<std::string> targetWords() { return {"auto", "cpu", "cuda"}; }

Expected<std::shared_ptr<Device>> openDevice(std::string_view target) {
  if (target == "cuda" || (target == "auto" && hasGpu()))
    return cudaDevice();
  return cpuDevice();
}

std::string describe(const Device &device) {
  return device.target().name == "cpu" ? cpuDescription() : std::string(device.name());
}

} // namespace tegula::tools
