// SPDX-License-Identifier: MIT
#include "bench/attention/limits.h"
#include "tegula/internal/system_library.h"
#include "workload/timing.h"

#include <cstdint>
#include <cstring>

namespace tegula::bench {
namespace {

struct DriverCopy {
  int (*copy)(uint64_t to, uint64_t from, size_t bytes, void *stream) = nullptr;
  int (*retain)(void **context, int device) = nullptr;
  int (*push)(void *context) = nullptr;
  int (*pop)(void **context) = nullptr;
  int (*release)(int device) = nullptr;

  static SystemLibrary library() {
    return {.what = "CUDA driver", .variable = "TEGULA_LIBCUDA", .files = {"libcuda.so.1"}, .needed = "a CUDA driver"};
  }
  std::vector<Binding> bindings() {
    return {{"cuMemcpyDtoDAsync_v2", reinterpret_cast<void **>(&copy)},
            {"cuDevicePrimaryCtxRetain", reinterpret_cast<void **>(&retain)},
            {"cuCtxPushCurrent_v2", reinterpret_cast<void **>(&push)},
            {"cuCtxPopCurrent_v2", reinterpret_cast<void **>(&pop)},
            {"cuDevicePrimaryCtxRelease_v2", reinterpret_cast<void **>(&release)}};
  }
};

Expected<double> driverCopyMs(Device &device, const Buffer &to, const Buffer &from) {
  Expected<const DriverCopy *> driver = functionsOf<DriverCopy>();
  if (!driver)
    return driver.status();
  void *context = nullptr;
  if ((*driver)->retain(&context, 0) != 0 || (*driver)->push(context) != 0)
    return Status(ErrorCode::launch_failed, "the GPU's context cannot be used");
  Expected<double> ms = tools::medianMs(device, [&] {
    int result = (*driver)->copy(reinterpret_cast<uint64_t>(to.data()), reinterpret_cast<uint64_t>(from.data()),
                                 size_t(from.bytes()), nullptr);
    return result == 0 ? Status() : Status(ErrorCode::launch_failed, "the copy failed");
  });
  (*driver)->pop(&context);
  (*driver)->release(0);
  return ms;
}

Expected<double> hostCopyMs(Device &device, const Buffer &to, const Buffer &from) {
  return tools::medianMs(device, [&] {
    std::memcpy(to.data(), from.data(), size_t(from.bytes()));
    return Status();
  });
}

} // namespace

Expected<double> copySpeed(const Machine &machine, int64_t bytes) {
  Expected<Buffer> from = machine.device->allocate(bytes), to = machine.device->allocate(bytes);
  if (!from || !to)
    return from ? to.status() : from.status();
  auto copyMs = machine.device->target().name == "cuda" ? driverCopyMs : hostCopyMs;
  Expected<double> ms = copyMs(*machine.device, *to, *from);
  if (!ms)
    return ms;
  return 2e-6 * double(bytes) / *ms;
}

} // namespace tegula::bench
