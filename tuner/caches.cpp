// SPDX-License-Identifier: MIT
#include "caches.h"

#include "tegula/cuda_device.h"

#include <algorithm>
#include <unistd.h>

namespace tegula::tuning {

/// The size to assume if neither the driver nor the system tells.
constexpr int64_t kUsualBytes = int64_t(32) << 20;

static int64_t cacheBytes(std::string_view target) {
  if (target == "cuda") {
    Expected<std::vector<CudaDeviceInfo>> gpus = cudaDevices();
    return gpus && !gpus->empty() ? gpus->front().l2_bytes : kUsualBytes;
  }
  int64_t bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
  return bytes > 0 ? bytes : kUsualBytes;
}

int64_t copiesFor(std::string_view target, int64_t tensor_bytes) {
  constexpr int64_t most = 64;
  return std::clamp<int64_t>(2 * cacheBytes(target) / std::max<int64_t>(1, tensor_bytes) + 2, 2, most);
}

} // namespace tegula::tuning
