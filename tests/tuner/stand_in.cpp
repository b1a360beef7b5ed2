// SPDX-License-Identifier: MIT
// A stand-in for tegula-measure, with the cores of this machine as its device. The schedule of a kernel decides its
// fate, and its time is known.
#include "device_server.h"
#include "fates.h"

#include <chrono>
#include <csignal>
#include <limits>
#include <thread>
#include <unistd.h>

using namespace tegula;

namespace {

/// The state of the device.
struct Stage {
  bool timing = false;
  Schedule timed = {}; ///< The schedule that was launched while a timer ran.
  int count = 0;       ///< The number of timers that have stopped.
  int64_t free_bytes = int64_t(1) << 30;
};
Stage stage;

[[noreturn]] void hang() {
  while (true)
    pause();
}

class FatefulKernel final : public Kernel {
public:
  FatefulKernel(std::shared_ptr<Kernel> kernel, const Schedule &schedule)
      : Kernel(kernel->name(), kernel->parameters(), 1), kernel_(std::move(kernel)), schedule_(schedule) {}

protected:
  Status run(Grid grid, std::span<const Argument> arguments, Stream) const override {
    const Fate fate = fateOf(schedule_);
    if (fate == Fate::crashes || (fate == Fate::crashesLate && stage.timing))
      std::raise(SIGSEGV);
    if (fate == Fate::hangs)
      hang();
    if (fate == Fate::losesDevice)
      return {ErrorCode::device_lost, "the context is poisoned"};
    if (stage.timing) {
      stage.timed = schedule_;
      return {};
    }
    TEGULA_RETURN_IF_ERROR(kernel_->launch(grid, arguments));
    if (fate == Fate::isWrong || fate == Fate::isNan)
      spoil(arguments, fate == Fate::isWrong ? 9 : std::numeric_limits<float>::quiet_NaN());
    return {};
  }

  Status clear(void *, size_t, Stream) const override { return {}; }

private:
  /// Gives the first element of all outputs another value.
  void spoil(std::span<const Argument> arguments, float value) const {
    for (size_t n = 0; n < arguments.size(); ++n)
      if (parameters()[n].written)
        *static_cast<float *>(arguments[n].tensor().data) = value;
  }

  const std::shared_ptr<Kernel> kernel_;
  const Schedule schedule_;
};

class KnownTime final : public Timer {
public:
  Status start(Stream) noexcept override {
    stage.timing = true;
    return {};
  }
  Status stop(Stream) noexcept override {
    stage.timing = false;
    ms_ = msOf(stage.timed) * (1 + 0.01 * (stage.count++ % 5));
    return {};
  }
  Expected<double> milliseconds() noexcept override { return ms_; }

private:
  double ms_ = 0;
};

class FatefulDevice final : public Device {
public:
  std::string_view name() const noexcept override { return cpu_->name(); }
  const Target &target() const noexcept override { return cpu_->target(); }
  Expected<Buffer> allocate(int64_t bytes) noexcept override {
    if (bytes > stage.free_bytes)
      return Status(ErrorCode::resource_exhausted, "the device is full");
    Expected<Buffer> memory = cpu_->allocate(bytes);
    if (!memory)
      return memory;
    stage.free_bytes -= bytes;
    const auto owner = std::make_shared<Buffer>(std::move(*memory));
    return Buffer({owner->data(), [owner, bytes](void *) { stage.free_bytes += bytes; }}, bytes);
  }
  Status copyToDevice(void *device, const void *host, int64_t bytes, Stream) noexcept override {
    return cpu_->copyToDevice(device, host, bytes);
  }
  Status copyToHost(void *host, const void *device, int64_t bytes, Stream) noexcept override {
    return cpu_->copyToHost(host, device, bytes);
  }
  Expected<std::shared_ptr<Kernel>> load(const Artifact &artifact) noexcept override {
    const Schedule schedule = *parseSchedule(artifact.schedule);
    if (fateOf(schedule) == Fate::crashesLoading) { // While requests about other candidates arrive.
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      std::raise(SIGSEGV);
    }
    Expected<std::shared_ptr<Kernel>> kernel = cpu_->load(artifact);
    if (!kernel)
      return kernel;
    return std::shared_ptr<Kernel>(std::make_shared<FatefulKernel>(*kernel, schedule));
  }
  Status synchronize(Stream) noexcept override { return cpu_->synchronize(); }
  Expected<MemoryInfo> memory() const noexcept override { return MemoryInfo{.available_bytes = stage.free_bytes}; }
  Expected<std::unique_ptr<Timer>> makeTimer() noexcept override {
    return std::unique_ptr<Timer>(std::make_unique<KnownTime>());
  }

private:
  const std::shared_ptr<Device> cpu_ = *cpuDevice();
};

Expected<std::shared_ptr<Device>> open(std::string_view) {
  return std::shared_ptr<Device>(std::make_shared<FatefulDevice>());
}

} // namespace

int main() { return tuning::serveDevice(open); }
