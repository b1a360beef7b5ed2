// SPDX-License-Identifier: MIT
#include "device.h"
#include "team.h"

#include <chrono>
#include <cstdlib>
#include <cstring>

namespace {

class CpuDevice : public Device {
public:
  std::shared_ptr<void> allocate(int64_t bytes) override {
    const size_t size = (static_cast<size_t>(bytes) / 64 + 1) * 64;
    void *memory = std::aligned_alloc(64, size);
    if (memory == nullptr)
      fail("aligned_alloc: no memory for " + std::to_string(bytes) + " bytes");
    std::memset(memory, 0, size);
    return {memory, std::free};
  }
  void copyToDevice(void *device, const void *host, int64_t bytes) override { std::memcpy(device, host, bytes); }
  void copyToHost(void *host, const void *device, int64_t bytes) override { std::memcpy(host, device, bytes); }
  void *stream() override { return nullptr; }
  void startTimer() override { begin_ = std::chrono::steady_clock::now(); }
  void stopTimer() override { end_ = std::chrono::steady_clock::now(); }
  double milliseconds(const std::function<void()> &) override {
    return std::chrono::duration<double, std::milli>(end_ - begin_).count();
  }

private:
  std::chrono::steady_clock::time_point begin_, end_;
};

} // namespace

std::unique_ptr<Device> makeCpuDevice() { return std::make_unique<CpuDevice>(); }
