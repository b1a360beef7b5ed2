// SPDX-License-Identifier: MIT
#include "cuda_timer.h"

#include "checks.h"
#include "tegula/guard.h"

namespace tegula::cuda {
namespace {

/// A point in the order of a stream's work.
class Event {
public:
  explicit Event(std::shared_ptr<Context> context) : context_(std::move(context)) {}
  ~Event() {
    if (event_ != nullptr)
      context_->release([&](const Driver &driver) { driver.cuEventDestroy_v2(event_); });
  }
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;

  Status create() {
    return context_->run("cuEventCreate", ErrorCode::internal,
                         [&](const Driver &driver) { return driver.cuEventCreate(&event_, 0); });
  }

  Status record(Stream stream) {
    const Status status = context_->run("cuEventRecord", ErrorCode::invalid_argument, [&](const Driver &driver) {
      return driver.cuEventRecord(event_, static_cast<CUstream>(stream.handle));
    });
    isRecorded_ = status.ok();
    return status;
  }

  Status wait() const {
    return context_->run("cuEventSynchronize", ErrorCode::internal,
                         [&](const Driver &driver) { return driver.cuEventSynchronize(event_); });
  }

  Expected<double> millisecondsSince(const Event &start) const {
    float milliseconds = 0;
    TEGULA_RETURN_IF_ERROR(context_->run("cuEventElapsedTime", ErrorCode::internal, [&](const Driver &driver) {
      return driver.cuEventElapsedTime(&milliseconds, start.event_, event_);
    }));
    return milliseconds;
  }

  bool isRecorded() const noexcept { return isRecorded_; }
  void forget() noexcept { isRecorded_ = false; }

private:
  std::shared_ptr<Context> context_;
  CUevent event_ = nullptr;
  bool isRecorded_ = false;
};

class CudaTimer final : public Timer {
public:
  explicit CudaTimer(const std::shared_ptr<Context> &context) : start_(context), stop_(context) {}

  Status create() {
    TEGULA_RETURN_IF_ERROR(start_.create());
    return stop_.create();
  }

  Status start(Stream stream) noexcept override {
    stop_.forget();
    return guarded([&] { return start_.record(stream); });
  }

  Status stop(Stream stream) noexcept override {
    return guarded([&] { return stop_.record(stream); });
  }

  Expected<double> milliseconds() noexcept override {
    return guarded([&]() -> Expected<double> {
      if (!start_.isRecorded() || !stop_.isRecorded())
        return noInterval();
      TEGULA_RETURN_IF_ERROR(start_.wait());
      TEGULA_RETURN_IF_ERROR(stop_.wait());
      return stop_.millisecondsSince(start_);
    });
  }

private:
  Event start_, stop_;
};

} // namespace

Expected<std::unique_ptr<Timer>> makeTimer(const std::shared_ptr<Context> &context) {
  auto timer = std::make_unique<CudaTimer>(context);
  TEGULA_RETURN_IF_ERROR(timer->create());
  return std::unique_ptr<Timer>(std::move(timer));
}

} // namespace tegula::cuda
