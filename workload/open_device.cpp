// SPDX-License-Identifier: MIT
#include "workload/open_device.h"

#include "tegula/cpu_info.h"
#include "tegula/cuda_device.h"
#include "tegula/simt_device.h"

#include <fmt/ranges.h>

namespace tegula::tools {

static bool hasGpu() {
  Expected<std::vector<CudaDeviceInfo>> gpus = cudaDevices();
  return gpus && !gpus->empty();
}

std::vector<std::string> targetWords() { return {"auto", "cpu", "cuda", "simt", "simt:sm_90a"}; }

std::string resolveTarget(std::string_view target) {
  return std::string(target != "auto" ? target : hasGpu() ? "cuda" : "cpu");
}

Expected<std::shared_ptr<Device>> openDevice(std::string_view word) {
  std::string target = resolveTarget(word);
  if (target == "cuda")
    return cudaDevice();
  if (target.starts_with("simt")) {
    const size_t colon = target.find(':');
    SimtOptions options;
    options.arch = colon == std::string_view::npos ? "" : target.substr(colon + 1);
    Expected<std::shared_ptr<SimtDevice>> device = simtDevice(options);
    return device ? Expected<std::shared_ptr<Device>>(*device) : device.status();
  }
  if (target != "cpu")
    return Status(ErrorCode::invalid_argument,
                  fmt::format("'{}' is no target; there are {}", word, fmt::join(targetWords(), ", ")));
  return cpuDevice();
}

std::string describe(const Device &device) {
  return device.target().name != "cuda" ? cpuDescription() : std::string(device.name());
}

} // namespace tegula::tools
