// SPDX-License-Identifier: MIT
// The simt device. Tests use its state to launch code that is not in an artifact.
#pragma once

#include "simt/kernel.h"

namespace tegula::simt {

class DeviceOfLanes final : public SimtDevice {
public:
  DeviceOfLanes(std::shared_ptr<Device> host, std::shared_ptr<DeviceState> state, const std::string &arch)
      : host_(std::move(host)), state_(std::move(state)), target_{.name = "simt", .arch = arch, .features = ""} {}

  const std::shared_ptr<DeviceState> &state() const { return state_; }

  std::string_view name() const noexcept override { return "simt"; }
  const Target &target() const noexcept override { return target_; }

  void setSchedule(const SimtInterleaving &schedule) noexcept override;
  SimtReport takeReport() override;
  std::vector<SimtSite> sites() const override;

  Expected<std::shared_ptr<Kernel>> load(const Artifact &artifact) noexcept override;

  Expected<Buffer> allocate(int64_t bytes) noexcept override { return host_->allocate(bytes); }
  Status copyToDevice(void *device, const void *host, int64_t bytes, Stream stream) noexcept override {
    return host_->copyToDevice(device, host, bytes, stream);
  }
  Status copyToHost(void *host, const void *device, int64_t bytes, Stream stream) noexcept override {
    return host_->copyToHost(host, device, bytes, stream);
  }
  Status synchronize(Stream stream) noexcept override { return host_->synchronize(stream); }
  Expected<MemoryInfo> memory() const noexcept override { return host_->memory(); }
  Expected<std::unique_ptr<Timer>> makeTimer() noexcept override { return host_->makeTimer(); }

private:
  std::shared_ptr<Device> host_; ///< The device that owns the memory.
  std::shared_ptr<DeviceState> state_;
  Target target_;
};

} // namespace tegula::simt
