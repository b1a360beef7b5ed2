// SPDX-License-Identifier: MIT
#include "tegula/device.h"

#include "checks.h"
#include "cpu_kernel.h"
#include "cpu_pool.h"
#include "cpu_timer.h"
#include "launch_limits.h"
#include "tegula/guard.h"
#include "tegula/profile_range.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

namespace tegula {
namespace {

Expected<Buffer> allocateBuffer(int64_t bytes) {
  TEGULA_RETURN_IF_ERROR(checkBytes(bytes));
  if (bytes == 0)
    return Buffer();
  void *data = allocateAligned(bytes);
  if (data == nullptr)
    return Status(ErrorCode::resource_exhausted, "no memory for " + std::to_string(bytes) + " bytes");
  return Buffer(std::shared_ptr<void>(data, Free()), bytes);
}

/// Returns the number in a line like "MemAvailable:  123 kB" of /proc/meminfo, in bytes.
Expected<int64_t> readMemoryInfo(const char *label) {
  const std::unique_ptr<FILE, int (*)(FILE *)> file(std::fopen("/proc/meminfo", "re"), std::fclose);
  const std::string format = std::string(label) + ": %lld kB";
  char line[256];
  long long kilobytes = 0;
  while (file && std::fgets(line, sizeof line, file.get()) != nullptr)
    if (std::sscanf(line, format.c_str(), &kilobytes) == 1)
      return int64_t{kilobytes} * 1024;
  return Status(ErrorCode::unsupported, std::string("/proc/meminfo does not say ") + label);
}

Expected<MemoryInfo> readMemory() {
  const Expected<int64_t> total = readMemoryInfo("MemTotal");
  const Expected<int64_t> available = readMemoryInfo("MemAvailable");
  if (!total || !available)
    return total ? available.status() : total.status();
  return MemoryInfo{.total_bytes = *total, .available_bytes = *available};
}

class CpuDevice final : public Device {
public:
  explicit CpuDevice(std::shared_ptr<CpuPool> pool) : pool_(std::move(pool)) {}

  std::string_view name() const noexcept override { return "cpu"; }
  const Target &target() const noexcept override { return target_; }

  Expected<Buffer> allocate(int64_t bytes) noexcept override {
    return guarded([&]() -> Expected<Buffer> {
      TEGULA_RETURN_IF_ERROR(pool_->checkFork());
      return allocateBuffer(bytes);
    });
  }

  Status copyToDevice(void *device, const void *host, int64_t bytes, Stream stream) noexcept override {
    return copy(device, host, bytes, stream);
  }

  Status copyToHost(void *host, const void *device, int64_t bytes, Stream stream) noexcept override {
    return copy(host, device, bytes, stream);
  }

  Expected<std::shared_ptr<Kernel>> load(const Artifact &artifact) noexcept override {
    return guarded([&]() -> Expected<std::shared_ptr<Kernel>> {
      TEGULA_RETURN_IF_ERROR(pool_->checkFork());
      const ProfileRange range("load", artifact.kernel);
      return loadCpuKernel(artifact, pool_);
    });
  }

  Status synchronize(Stream stream) noexcept override {
    return guarded([&]() -> Status {
      TEGULA_RETURN_IF_ERROR(pool_->checkFork());
      return checkCpuStream(stream);
    });
  }

  Expected<MemoryInfo> memory() const noexcept override {
    return guarded([&]() -> Expected<MemoryInfo> {
      TEGULA_RETURN_IF_ERROR(pool_->checkFork());
      return readMemory();
    });
  }

  Expected<std::unique_ptr<Timer>> makeTimer() noexcept override {
    return guarded([&]() -> Expected<std::unique_ptr<Timer>> {
      TEGULA_RETURN_IF_ERROR(pool_->checkFork());
      return makeCpuTimer();
    });
  }

private:
  Status copy(void *to, const void *from, int64_t bytes, Stream stream) const noexcept {
    return guarded([&]() -> Status {
      TEGULA_RETURN_IF_ERROR(pool_->checkFork());
      TEGULA_RETURN_IF_ERROR(checkCpuStream(stream));
      TEGULA_RETURN_IF_ERROR(checkCopy(to, from, bytes));
      if (bytes > 0)
        std::memmove(to, from, static_cast<size_t>(bytes));
      return {};
    });
  }

  std::shared_ptr<CpuPool> pool_;
  Target target_{.name = "cpu", .arch = "", .features = ""};
};

int coresOr1(const CoreSet &cores) { return std::clamp(cores.count(), 1, kMaxThreads); }

} // namespace

Expected<std::shared_ptr<Device>> cpuDevice(const CpuOptions &options) noexcept {
  return guarded([&]() -> Expected<std::shared_ptr<Device>> {
    if (options.threads < 0 || options.threads > kMaxThreads)
      return invalid("threads is " + std::to_string(options.threads) + ", but must be 0 to " +
                     std::to_string(kMaxThreads));
    CoreSet cores = CoreSet::ofThisThread();
    const int threads = options.threads > 0 ? options.threads : coresOr1(cores);
    return std::shared_ptr<Device>(std::make_shared<CpuDevice>(CpuPool::make(threads, std::move(cores))));
  });
}

} // namespace tegula
