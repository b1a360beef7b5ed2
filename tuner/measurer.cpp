// SPDX-License-Identifier: MIT
#include "measurer.h"

#include "tegula/toolchain.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

namespace tegula::tuning {
namespace {

/// Opening the device, computing the reference and making tensors take their time, whatever the candidates may take.
constexpr std::chrono::seconds kPatienceToPrepare{60};
/// How many times slower than the first candidate one may be.
constexpr double kSlowest = 30;

/// Looks in the folder of the program or library that this code is part of, and in those where a library's programs
/// are, as for tegula-cc.
std::string findMeasurer() {
  std::error_code error;
  std::string self = fileOf(reinterpret_cast<const void *>(&findMeasurer));
  std::filesystem::path folder = std::filesystem::canonical(self, error).parent_path();
  for (const char *place : {".", "../bin", "../../bin"})
    if (std::filesystem::path program = folder / place / "tegula-measure"; std::filesystem::exists(program, error))
      return program;
  return folder / "tegula-measure";
}

Failure failureOf(const Status &status) {
  switch (status.code()) {
  case ErrorCode::cancelled:
    return {CandidateState::waiting, ""};
  case ErrorCode::compile_timeout:
    return {CandidateState::hung, status.message()};
  default:
    return {CandidateState::faulted, status.message()};
  }
}

} // namespace

Measurer::Measurer(const TuningOptions &options, const Subject &subject)
    : options_(options), program_(options.measurer.empty() ? findMeasurer() : options.measurer), subject_(subject),
      patience_(int64_t(1e3 * options.patience_seconds)) {
  Json open = {{"do", "open"}, {"target", subject.target().name}, {"seed", options.seed}};
  open.update(subject.opening());
  open_ = open.dump() + "\n";
}

Status Measurer::start() {
  loaded_.clear();
  answered_.clear();
  has_reference_ = false;
  Expected<WorkerProcess> process = WorkerProcess::start(program_, /*memoryBytes=*/0, "the process that measures");
  if (!process)
    return {ErrorCode::internal, "candidates cannot be measured: " + process.status().message()};
  process_.emplace(std::move(*process));
  Status status = ask(open_, kPatienceToPrepare).status();
  for (size_t n = 0; n < shared_.size() && status.ok(); ++n)
    status = ask(shared_[n], kPatienceToPrepare).status();
  if (status.ok() || status.code() == ErrorCode::cancelled)
    return status;
  return {ErrorCode::internal, "candidates cannot be measured: " + status.message()};
}

void Measurer::share(const std::vector<CompiledProgram> &programs) {
  shared_ = subject_.description();
  for (const CompiledProgram &program : programs)
    shared_.push_back(kernelMessage(program));
}

void Measurer::add(size_t index, const Candidate &candidate, const std::vector<CompiledProgram> &programs) {
  Json load = {{"do", "load"}, {"id", index}};
  load.update(subject_.loading(candidate));
  Entry &entry = entries_[index] = {{}, load.dump() + "\n"};
  for (const CompiledProgram &program : programs)
    entry.kernels.push_back(kernelMessage(program));
  if (!one_by_one_)
    (void)this->load(index); // A failure shows when it is asked about.
}

Expected<Json> Measurer::ask(const std::string &message, std::chrono::milliseconds patience) {
  Expected<std::string> answer = process_->ask(message, deadlineIn(patience), options_.stopped);
  if (!answer) {
    process_.reset();
    if (answer.status().code() != ErrorCode::compile_timeout)
      return answer.status();
    return Status(ErrorCode::compile_timeout,
                  fmt::format("took longer than {:.3g} s", 1e-3 * double(patience.count())));
  }
  Json json = Json::parse(*answer, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object())
    return Status(ErrorCode::internal, "the process that measures does not speak JSON");
  Status status = statusOf(json);
  if (status.code() == ErrorCode::device_lost)
    process_.reset(); // Only a new process can use the GPU again.
  return status.ok() ? Expected<Json>(std::move(json)) : status;
}

Status Measurer::load(size_t candidate) {
  if (!process_)
    TEGULA_RETURN_IF_ERROR(start());
  if (loaded_.contains(candidate))
    return {};
  const Entry &entry = entries_.at(candidate);
  for (const std::string &kernel : entry.kernels)
    TEGULA_RETURN_IF_ERROR(ask(kernel, patience_).status());
  TEGULA_RETURN_IF_ERROR(ask(entry.load, patience_).status());
  loaded_.insert(candidate);
  return {};
}

Status Measurer::prepare(size_t candidate) {
  if (has_reference_)
    return {};
  Json prepare = {{"do", "prepare"}, {"id", candidate}};
  TEGULA_RETURN_IF_ERROR(ask(prepare.dump() + "\n", kPatienceToPrepare).status());
  has_reference_ = true;
  return {};
}

Expected<Json> Measurer::askAbout(size_t candidate, Json request, std::chrono::milliseconds patience) {
  answered_.insert(candidate);
  Expected<Json> answer = askOnce(candidate, request, patience);
  bool others_loading = !std::includes(answered_.begin(), answered_.end(), loaded_.begin(), loaded_.end());
  if (process_ || !others_loading || answer.status().code() == ErrorCode::cancelled)
    return answer;
  one_by_one_ = true; // Who it was shows without the others.
  return askOnce(candidate, std::move(request), patience);
}

Expected<Json> Measurer::askOnce(size_t candidate, Json request, std::chrono::milliseconds patience) {
  TEGULA_RETURN_IF_ERROR(load(candidate));
  if (request["do"] == "check")
    TEGULA_RETURN_IF_ERROR(prepare(candidate));
  request["id"] = candidate;
  return ask(request.dump() + "\n", patience);
}

Answer<double> Measurer::check(size_t candidate) {
  Expected<Json> answer = askAbout(candidate, {{"do", "check"}}, patience_);
  if (!answer)
    return failureOf(answer.status());
  // JSON has no NaN.
  const Json &ratio = (*answer)["error_ratio"];
  if (!ratio.is_number() || !answer->value("right", false))
    return Failure{CandidateState::wrong, answer->value("why", "")};
  return ratio.get<double>();
}

Answer<double> Measurer::warmUp(size_t candidate) {
  Expected<Json> answer = askAbout(candidate, {{"do", "time"}, {"launches", 1}}, kPatienceToPrepare);
  if (!answer)
    return failureOf(answer.status());
  double ms = (*answer)["ms"].at(0);
  patience_ = std::max(patience_, std::chrono::milliseconds(int64_t(kSlowest * ms)));
  return ms;
}

Answer<std::vector<double>> Measurer::time(size_t candidate, int launches) {
  Expected<Json> answer = askAbout(candidate, {{"do", "time"}, {"launches", launches}}, patience_);
  if (!answer)
    return failureOf(answer.status());
  return (*answer)["ms"].get<std::vector<double>>();
}

} // namespace tegula::tuning
