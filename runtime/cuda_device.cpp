// SPDX-License-Identifier: MIT
#include "tegula/cuda_device.h"

#include "checks.h"
#include "cuda_context.h"
#include "cuda_info.h"
#include "cuda_kernel.h"
#include "cuda_timer.h"
#include "tegula/guard.h"
#include "tegula/profile_range.h"

namespace tegula {
namespace cuda {
namespace {

constexpr int kOldestCapability = 80;

void *pointer(CUdeviceptr address) { return reinterpret_cast<void *>(address); }
CUdeviceptr address(const void *pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

struct FreeMemory {
  std::shared_ptr<Context> context;

  void operator()(void *memory) const noexcept {
    context->release([&](const Driver &driver) { driver.cuMemFree_v2(address(memory)); });
  }
};

Expected<Buffer> allocateBuffer(const std::shared_ptr<Context> &context, int64_t bytes) {
  CUdeviceptr memory = 0;
  const Status status = context->run("cuMemAlloc_v2", ErrorCode::internal, [&](const Driver &driver) {
    return driver.cuMemAlloc_v2(&memory, static_cast<size_t>(bytes));
  });
  std::shared_ptr<void> owner;
  if (memory != 0)
    owner.reset(pointer(memory), FreeMemory{context});
  if (!status.ok())
    return Status(status.code(), "no memory for " + std::to_string(bytes) + " bytes: " + status.message());
  return Buffer(std::move(owner), bytes);
}

class CudaDevice final : public Device {
public:
  CudaDevice(const CudaDeviceInfo &info, std::shared_ptr<Context> context)
      : context_(std::move(context)), name_(info.name), driver_(std::to_string(info.driver_version)),
        target_{.name = "cuda", .arch = info.arch, .features = ""} {}

  const std::shared_ptr<Context> &context() const noexcept { return context_; }

  std::string_view name() const noexcept override { return name_; }
  std::string_view driver() const noexcept override { return driver_; }
  const Target &target() const noexcept override { return target_; }

  Expected<Buffer> allocate(int64_t bytes) noexcept override {
    return guarded([&]() -> Expected<Buffer> {
      TEGULA_RETURN_IF_ERROR(context_->check());
      TEGULA_RETURN_IF_ERROR(checkBytes(bytes));
      return bytes == 0 ? Buffer() : allocateBuffer(context_, bytes);
    });
  }

  Status copyToDevice(void *device, const void *host, int64_t bytes, Stream stream) noexcept override {
    return copy("cuMemcpyHtoDAsync_v2", device, host, bytes, [&](const Driver &driver) {
      return driver.cuMemcpyHtoDAsync_v2(address(device), host, static_cast<size_t>(bytes),
                                         static_cast<CUstream>(stream.handle));
    });
  }

  Status copyToHost(void *host, const void *device, int64_t bytes, Stream stream) noexcept override {
    return copy("cuMemcpyDtoHAsync_v2", host, device, bytes, [&](const Driver &driver) {
      return driver.cuMemcpyDtoHAsync_v2(host, address(device), static_cast<size_t>(bytes),
                                         static_cast<CUstream>(stream.handle));
    });
  }

  Expected<std::shared_ptr<Kernel>> load(const Artifact &artifact) noexcept override {
    return guarded([&]() -> Expected<std::shared_ptr<Kernel>> {
      TEGULA_RETURN_IF_ERROR(context_->check());
      const ProfileRange range("load", artifact.kernel);
      return loadKernel(artifact, context_);
    });
  }

  Status synchronize(Stream stream) noexcept override {
    return guarded([&] {
      return context_->run("cuStreamSynchronize", ErrorCode::invalid_argument, [&](const Driver &driver) {
        return driver.cuStreamSynchronize(static_cast<CUstream>(stream.handle));
      });
    });
  }

  Expected<MemoryInfo> memory() const noexcept override {
    return guarded([&]() -> Expected<MemoryInfo> {
      size_t available = 0;
      size_t total = 0;
      TEGULA_RETURN_IF_ERROR(context_->run("cuMemGetInfo_v2", ErrorCode::internal, [&](const Driver &driver) {
        return driver.cuMemGetInfo_v2(&available, &total);
      }));
      return MemoryInfo{.total_bytes = static_cast<int64_t>(total), .available_bytes = static_cast<int64_t>(available)};
    });
  }

  Expected<std::unique_ptr<Timer>> makeTimer() noexcept override {
    return guarded([&] { return cuda::makeTimer(context_); });
  }

private:
  template <class Call>
  Status copy(const char *entryPoint, const void *to, const void *from, int64_t bytes, Call &&call) const noexcept {
    return guarded([&]() -> Status {
      TEGULA_RETURN_IF_ERROR(context_->check());
      TEGULA_RETURN_IF_ERROR(checkCopy(to, from, bytes));
      return bytes == 0 ? Status() : context_->run(entryPoint, ErrorCode::invalid_argument, call);
    });
  }

  std::shared_ptr<Context> context_;
  std::string name_;
  std::string driver_;
  Target target_;
};

Status checkOrdinal(int ordinal, int devices) {
  if (ordinal >= 0 && ordinal < devices)
    return {};
  return invalid("there is no GPU " + std::to_string(ordinal) + ": the driver finds " + std::to_string(devices));
}

Expected<std::shared_ptr<Device>> makeDevice(const Driver &driver, int ordinal) {
  const Expected<CudaDeviceInfo> info = describeDevice(driver, ordinal);
  if (!info)
    return info.status();
  if (info->compute_capability < kOldestCapability)
    return Status(ErrorCode::unsupported, "GPU " + std::to_string(ordinal) + " (" + info->name + ") is " + info->arch +
                                              ", but sm_80 is the oldest that kernels run on");
  Expected<std::shared_ptr<Context>> context = Context::make(driver, ordinal);
  if (!context)
    return context.status();
  return std::shared_ptr<Device>(std::make_shared<CudaDevice>(*info, std::move(*context)));
}

} // namespace

Expected<std::shared_ptr<Context>> contextOf(Device &device) {
  if (const auto *cudaDevice = dynamic_cast<const CudaDevice *>(&device))
    return cudaDevice->context();
  return invalid("device '" + std::string(device.name()) + "' is no cuda device");
}

} // namespace cuda

Expected<std::shared_ptr<Device>> cudaDevice(const CudaOptions &options) noexcept {
  return guarded([&]() -> Expected<std::shared_ptr<Device>> {
    const Expected<cuda::Machine> machine = cuda::openMachine();
    if (!machine)
      return machine.status();
    TEGULA_RETURN_IF_ERROR(cuda::checkOrdinal(options.ordinal, machine->devices));
    return cuda::makeDevice(machine->driver, options.ordinal);
  });
}

} // namespace tegula
