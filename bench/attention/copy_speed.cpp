// SPDX-License-Identifier: MIT
#include "bench/attention/limits.h"
#include "tegula/internal/system_library.h"
#include "workload/parallel.h"
#include "workload/timing.h"

#include <algorithm>
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

/// Copies with all cores.
Expected<double> hostCopyMs(Device &device, const Buffer &to, const Buffer &from) {
  constexpr int64_t piece = int64_t(1) << 20;
  return tools::medianMs(device, [&] {
    tools::forEachInParallel((from.bytes() + piece - 1) / piece, [&](int64_t index) {
      const int64_t at = index * piece;
      std::memcpy(static_cast<char *>(to.data()) + at, static_cast<const char *>(from.data()) + at,
                  size_t(std::min(piece, from.bytes() - at)));
    });
    return Status();
  });
}

} // namespace

Expected<double> copySpeed(Device &device) {
  const bool gpu = device.target().name == "cuda";
  const int64_t bytes = int64_t(gpu ? 2048 : 64) << 20;
  Expected<Buffer> from = device.allocate(bytes), to = device.allocate(bytes);
  if (!from || !to)
    return from ? to.status() : from.status();
  Expected<double> ms = (gpu ? driverCopyMs : hostCopyMs)(device, *to, *from);
  if (!ms)
    return ms;
  return 2e-6 * double(bytes) / *ms;
}

} // namespace tegula::bench
