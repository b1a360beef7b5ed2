// SPDX-License-Identifier: MIT
#include "cuda_info.h"

#include "cuda_power.h"
#include "tegula/guard.h"

namespace tegula {
namespace cuda {
namespace {

/// Calls of the driver about one GPU. The object remembers the first failure.
class Questions {
public:
  Questions(const Driver &driver, int ordinal) : driver_(driver) {
    note("cuDeviceGet", driver.cuDeviceGet(&device_, ordinal));
  }

  const Status &status() const { return status_; }

  int attribute(CUdevice_attribute attribute) {
    int value = 0;
    note("cuDeviceGetAttribute", driver_.cuDeviceGetAttribute(&value, attribute, device_));
    return value;
  }

  /// Returns an attribute, or 0 if the driver does not report it.
  int optional(CUdevice_attribute attribute) const {
    int value = 0;
    return driver_.cuDeviceGetAttribute(&value, attribute, device_) == CUDA_SUCCESS ? value : 0;
  }

  std::string name() {
    char name[256] = "";
    note("cuDeviceGetName", driver_.cuDeviceGetName(name, sizeof name, device_));
    return name;
  }

  int64_t memoryBytes() {
    size_t bytes = 0;
    note("cuDeviceTotalMem_v2", driver_.cuDeviceTotalMem_v2(&bytes, device_));
    return static_cast<int64_t>(bytes);
  }

  int driverVersion() {
    int version = 0;
    note("cuDriverGetVersion", driver_.cuDriverGetVersion(&version));
    return version;
  }

  std::string busId() const {
    char id[32] = "";
    return driver_.cuDeviceGetPCIBusId(id, sizeof id, device_) == CUDA_SUCCESS ? id : "";
  }

private:
  void note(const char *entryPoint, CUresult result) {
    if (status_.ok())
      status_ = driver_.status(entryPoint, result, ErrorCode::unsupported);
  }

  const Driver &driver_;
  CUdevice device_ = 0;
  Status status_;
};

} // namespace

Expected<Machine> openMachine() {
  const Expected<const Driver *> driver = Driver::get();
  if (!driver)
    return driver.status();
  Machine machine{.driver = **driver};
  CUresult result = (*driver)->cuInit(0);
  if (result == CUDA_ERROR_NO_DEVICE)
    return machine;
  TEGULA_RETURN_IF_ERROR((*driver)->status("cuInit", result, ErrorCode::unsupported));
  result = (*driver)->cuDeviceGetCount(&machine.devices);
  TEGULA_RETURN_IF_ERROR((*driver)->status("cuDeviceGetCount", result, ErrorCode::unsupported));
  return machine;
}

Expected<CudaDeviceInfo> describeDevice(const Driver &driver, int ordinal) {
  Questions questions(driver, ordinal);
  CudaDeviceInfo info;
  info.name = questions.name();
  info.ordinal = ordinal;
  info.compute_capability = 10 * questions.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) +
                            questions.attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  // Features that only Hopper has (wgmma, register budgets) need an "a" target.
  info.arch = "sm_" + std::to_string(info.compute_capability) + (info.compute_capability == 90 ? "a" : "");
  info.multiprocessors = questions.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
  info.memory_bytes = questions.memoryBytes();
  info.l2_bytes = questions.attribute(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  info.shared_bytes_per_block = questions.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
  info.shared_bytes_per_multiprocessor = questions.attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
  info.memory_bus_bits = questions.attribute(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH);
  info.driver_version = questions.driverVersion();
  info.max_clock_mhz = questions.optional(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) / 1000;
  info.max_memory_clock_mhz = questions.optional(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) / 1000;
  info.power_limit_watts = powerLimitWatts(questions.busId());
  TEGULA_RETURN_IF_ERROR(questions.status());
  return info;
}

} // namespace cuda

Expected<std::vector<CudaDeviceInfo>> cudaDevices() noexcept {
  return guarded([&]() -> Expected<std::vector<CudaDeviceInfo>> {
    const Expected<cuda::Machine> machine = cuda::openMachine();
    if (!machine)
      return machine.status();
    std::vector<CudaDeviceInfo> devices;
    for (int ordinal = 0; ordinal < machine->devices; ++ordinal) {
      Expected<CudaDeviceInfo> info = cuda::describeDevice(machine->driver, ordinal);
      if (!info)
        return info.status();
      devices.push_back(std::move(*info));
    }
    return devices;
  });
}

} // namespace tegula
