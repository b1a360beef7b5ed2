// SPDX-License-Identifier: MIT
#include "cuda_power.h"

#include "tegula/internal/system_library.h"

namespace tegula::cuda {
namespace {

using NvmlDevice = struct nvmlDevice_st *;

/// The functions of NVML, which return 0 for success.
struct Nvml {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*deviceAt)(const char *busId, NvmlDevice *device) = nullptr;
  int (*powerLimit)(NvmlDevice device, unsigned *milliwatts) = nullptr;

  static SystemLibrary library() {
    return {.what = "NVML", .variable = "TEGULA_LIBNVML", .files = {"libnvidia-ml.so.1"}, .needed = "NVIDIA's driver"};
  }

  std::vector<Binding> bindings() {
    return {{"nvmlInit_v2", reinterpret_cast<void **>(&init)},
            {"nvmlShutdown", reinterpret_cast<void **>(&shutdown)},
            {"nvmlDeviceGetHandleByPciBusId_v2", reinterpret_cast<void **>(&deviceAt)},
            {"nvmlDeviceGetEnforcedPowerLimit", reinterpret_cast<void **>(&powerLimit)}};
  }
};

} // namespace

int powerLimitWatts(const std::string &busId) {
  const Expected<const Nvml *> nvml = functionsOf<Nvml>();
  if (!nvml || (*nvml)->init() != 0)
    return 0;
  NvmlDevice device = nullptr;
  unsigned milliwatts = 0;
  const bool isKnown = (*nvml)->deviceAt(busId.c_str(), &device) == 0 && (*nvml)->powerLimit(device, &milliwatts) == 0;
  (*nvml)->shutdown();
  return isKnown ? static_cast<int>(milliwatts / 1000) : 0;
}

} // namespace tegula::cuda
