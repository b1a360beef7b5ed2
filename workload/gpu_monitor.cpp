// SPDX-License-Identifier: MIT
#include "workload/gpu_monitor.h"

#include "tegula/internal/system_library.h"

#include <chrono>

namespace tegula::tools {
namespace {

using NvmlDevice = struct nvmlDevice_st *;

struct Nvml {
  int (*init)() = nullptr;
  int (*handle)(unsigned index, NvmlDevice *device) = nullptr;
  int (*clock)(NvmlDevice device, int kind, unsigned *mhz) = nullptr;
  int (*power)(NvmlDevice device, unsigned *milliwatts) = nullptr;

  static SystemLibrary library() {
    return {.what = "NVML", .variable = "TEGULA_LIBNVML", .files = {"libnvidia-ml.so.1"}, .needed = "a CUDA driver"};
  }
  std::vector<Binding> bindings() {
    return {{"nvmlInit_v2", reinterpret_cast<void **>(&init)},
            {"nvmlDeviceGetHandleByIndex_v2", reinterpret_cast<void **>(&handle)},
            {"nvmlDeviceGetClockInfo", reinterpret_cast<void **>(&clock)},
            {"nvmlDeviceGetPowerUsage", reinterpret_cast<void **>(&power)}};
  }
};

constexpr int kMultiprocessorClock = 1; // NVML_CLOCK_SM
constexpr auto kInterval = std::chrono::milliseconds(10);

} // namespace

GpuMonitor::GpuMonitor(const Target &target) {
  if (target.name == "cuda")
    thread_ = std::thread([this] { watch(); });
}

void GpuMonitor::watch() {
  Expected<const Nvml *> nvml = functionsOf<Nvml>();
  NvmlDevice device = nullptr;
  if (!nvml || (*nvml)->init() != 0 || (*nvml)->handle(0, &device) != 0)
    return;
  while (!stopped_) {
    std::this_thread::sleep_for(kInterval);
    unsigned value = 0;
    if ((*nvml)->clock(device, kMultiprocessorClock, &value) == 0)
      clock_sum_ += value, ++clocks_;
    if ((*nvml)->power(device, &value) == 0)
      power_sum_ += 1e-3 * value, ++powers_;
  }
}

GpuMonitor::Average GpuMonitor::stop() {
  stopped_ = true;
  if (thread_.joinable())
    thread_.join();
  Average average;
  if (clocks_)
    average.clock_mhz = clock_sum_ / clocks_;
  if (powers_)
    average.watts = power_sum_ / powers_;
  return average;
}

} // namespace tegula::tools
