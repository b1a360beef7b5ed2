// SPDX-License-Identifier: MIT
#include "measurer.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace tegula::tuning {
namespace {

/// Opening the device, computing the reference and making tensors take their time, whatever the candidates may take.
constexpr std::chrono::seconds kPatienceToPrepare{60};
/// How many times slower than the first candidate one may be.
constexpr double kSlowest = 30;

} // namespace

Measurer::Measurer(const TuningOptions &options, Subject &subject, Compiler &compiler)
    : subject_(subject), process_(std::make_shared<RemoteProcess>(
                             options.measurer.empty() ? findOwnProgram("tegula-measure") : options.measurer,
                             subject.target().name, options.stopped)),
      device_(makeRemoteDevice(process_, subject.target())), cache_(compiler, device_),
      patience_(int64_t(1e3 * options.patience_seconds)) {}

Status Measurer::start() {
  subject_.forgetTensors();
  process_->allow(kPatienceToPrepare);
  const Status status = process_->restart();
  if (status.ok() || status.code() == ErrorCode::cancelled)
    return status;
  return {ErrorCode::internal, "candidates cannot be measured: " + status.message()};
}

void Measurer::loadSoon() {
  process_->allow(patience_);
  (void)process_->exchange(); // A failure shows when a candidate is asked about.
}

template <class Run> auto Measurer::ask(Run run) -> decltype(run()) {
  auto answer = askOnce(run);
  if (process_->isRunning() || !process_->hasLoadedAhead() || answer.status().code() == ErrorCode::cancelled)
    return answer;
  process_->stopLoadingAhead(); // Which kernel it was shows without the others.
  return askOnce(run);
}

template <class Run> auto Measurer::askOnce(Run run) -> decltype(run()) {
  if (!process_->isRunning())
    TEGULA_RETURN_IF_ERROR(start());
  auto answer = run();
  if (!answer)
    (void)device_->synchronize(); // What is still queued is no fault of the next candidate.
  return answer;
}

Expected<Verdict> Measurer::check(size_t candidate) {
  return ask([&]() -> Expected<Verdict> {
    process_->allow(kPatienceToPrepare);
    TEGULA_RETURN_IF_ERROR(subject_.prepareCheck(candidate, device_));
    process_->allow(patience_);
    return subject_.check(candidate);
  });
}

Expected<double> Measurer::warmUp(size_t candidate) {
  const Expected<std::vector<double>> ms = ask([&] { return timed(candidate, 1, kPatienceToPrepare); });
  if (!ms)
    return ms.status();
  patience_ = std::max(patience_, std::chrono::milliseconds(int64_t(kSlowest * ms->front())));
  return ms->front();
}

Expected<std::vector<double>> Measurer::time(size_t candidate, int launches) {
  return ask([&] { return timed(candidate, launches, patience_); });
}

Expected<std::vector<double>> Measurer::timed(size_t candidate, int launches, std::chrono::milliseconds patience) {
  process_->allow(kPatienceToPrepare);
  TEGULA_RETURN_IF_ERROR(subject_.prepareLaunches(candidate, device_));
  process_->allow(patience);
  // The first wait comes after all launches, so that only the first launch waits for the host.
  process_->post(encoded(Verb::timers, 0, bytesOf(uint64_t(launches))));
  for (int n = 0; n < launches; ++n) {
    process_->post(encoded(Verb::start));
    TEGULA_RETURN_IF_ERROR(subject_.launch(candidate));
    process_->post(encoded(Verb::stop));
  }
  const Expected<std::string> times = process_->exchange(encoded(Verb::read));
  if (!times)
    return times.status();
  std::vector<double> ms(times->size() / sizeof(double));
  std::memcpy(ms.data(), times->data(), times->size());
  return ms;
}

} // namespace tegula::tuning
