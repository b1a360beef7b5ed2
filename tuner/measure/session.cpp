// SPDX-License-Identifier: MIT
#include "session.h"

#include "attention_runs.h"
#include "plan_runs.h"
#include "workload/open_device.h"

namespace tegula::tuning {
namespace {

Json toJson(const Status &status) { return status.ok() ? Json::object() : failure(status); }

} // namespace

Json Session::answer(const Json &request, std::string_view bytes) {
  std::string verb = request.at("do");
  if (verb == "open")
    return toJson(open(request));
  if (verb == "tensor" || verb == "expected")
    return toJson(runs_->take(request, bytes));
  if (verb == "kernel") {
    Expected<CompiledProgram> program = kernelOf(request, bytes);
    if (program)
      kernels_.add(std::move(*program));
    return toJson(program.status());
  }
  const size_t id = request.at("id");
  if (verb == "load")
    return toJson(runs_->load(id, request));
  if (Status status = runs_->loaded(id); !status.ok())
    return failure(status);
  if (verb == "prepare")
    return toJson(runs_->prepare(id));
  if (verb == "check") {
    Expected<Verdict> verdict = runs_->check(id);
    if (!verdict)
      return failure(verdict.status());
    return {{"error_ratio", verdict->error_ratio}, {"right", verdict->status.ok()}, {"why", verdict->status.message()}};
  }
  Expected<std::vector<double>> ms = time(id, request.at("launches"));
  return ms ? Json{{"ms", *ms}} : failure(ms.status());
}

Status Session::open(const Json &request) {
  Expected<std::shared_ptr<Device>> device = tools::openDevice(request.at("target").get<std::string>());
  if (!device)
    return device.status();
  device_ = *device;
  cache_.emplace(kernels_, device_);
  if (request.contains("plan"))
    runs_ = std::make_unique<PlanRuns>(request, device_, *cache_);
  else
    runs_ = std::make_unique<AttentionRuns>(request, device_, *cache_);
  return {};
}

Expected<std::vector<double>> Session::time(size_t id, int launches) {
  TEGULA_RETURN_IF_ERROR(runs_->makeRoomFor(id));
  while (timers_.size() < size_t(launches)) {
    Expected<std::unique_ptr<Timer>> timer = device_->makeTimer();
    if (!timer)
      return timer.status();
    timers_.push_back(std::move(*timer));
  }
  // All launches are enqueued before the first wait, so that only the first launch waits for the host.
  for (int n = 0; n < launches; ++n) {
    TEGULA_RETURN_IF_ERROR(timers_[size_t(n)]->start());
    TEGULA_RETURN_IF_ERROR(runs_->launch(id));
    TEGULA_RETURN_IF_ERROR(timers_[size_t(n)]->stop());
  }
  std::vector<double> ms;
  for (int n = 0; n < launches; ++n) {
    Expected<double> one = timers_[size_t(n)]->milliseconds();
    if (!one)
      return one.status();
    ms.push_back(*one);
  }
  return ms;
}

} // namespace tegula::tuning
