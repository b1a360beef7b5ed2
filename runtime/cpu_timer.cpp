// SPDX-License-Identifier: MIT
#include "cpu_timer.h"

#include "checks.h"
#include "cpu_kernel.h"
#include "tegula/guard.h"
#include "tegula/internal/fork.h"

#include <chrono>
#include <optional>

namespace tegula {
namespace {

using Clock = std::chrono::steady_clock;

class CpuTimer final : public Timer {
public:
  Status start(Stream stream) noexcept override {
    stop_.reset();
    return mark(start_, stream);
  }

  Status stop(Stream stream) noexcept override { return mark(stop_, stream); }

  Expected<double> milliseconds() noexcept override {
    return guarded([&]() -> Expected<double> {
      TEGULA_RETURN_IF_ERROR(fork_.check());
      if (!start_ || !stop_)
        return noInterval();
      return std::chrono::duration<double, std::milli>(*stop_ - *start_).count();
    });
  }

private:
  Status mark(std::optional<Clock::time_point> &point, Stream stream) const noexcept {
    return guarded([&]() -> Status {
      TEGULA_RETURN_IF_ERROR(fork_.check());
      TEGULA_RETURN_IF_ERROR(checkCpuStream(stream));
      point = Clock::now();
      return {};
    });
  }

  ForkGuard fork_;
  std::optional<Clock::time_point> start_, stop_;
};

} // namespace

std::unique_ptr<Timer> makeCpuTimer() { return std::make_unique<CpuTimer>(); }

} // namespace tegula
