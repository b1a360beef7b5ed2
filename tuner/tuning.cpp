// SPDX-License-Identifier: MIT
// The simple functions of tuner.h.
#include "tegula/tuner.h"

#include "tegula/cpu_info.h"
#include "tegula/cuda_device.h"
#include "tegula/tuned_schedules.h"

#include <algorithm>
#include <iterator>
#include <tuple>

namespace tegula {
namespace {

// In the order of the enumerators.
constexpr std::string_view kStates[] = {"impossible", "unlikely", "waiting", "refused", "spilled",    "faulted",
                                        "hung",       "wrong",    "checked", "beaten",  "unfinished", "finalist"};

Expected<TuningDevice> gpuMachine(int ordinal) {
  Expected<std::vector<CudaDeviceInfo>> gpus = cudaDevices();
  if (!gpus)
    return gpus.status();
  if (ordinal < 0 || size_t(ordinal) >= gpus->size())
    return Status(ErrorCode::unsupported, "the driver finds no GPU of this number");
  const CudaDeviceInfo &gpu = (*gpus)[size_t(ordinal)];
  return TuningDevice{.target = {"cuda", gpu.arch, ""},
                      .device = gpu.name,
                      .driver = "CUDA " + std::to_string(gpu.driver_version / 1000) + "." +
                                std::to_string(gpu.driver_version % 1000 / 10),
                      .multiprocessors = gpu.multiprocessors,
                      .shared_bytes_per_block = gpu.shared_bytes_per_block,
                      .shared_bytes_per_multiprocessor = gpu.shared_bytes_per_multiprocessor};
}

} // namespace

AttentionProblem TuningTask::problemOfShape() const {
  AttentionProblem expecting = problem;
  expecting.expected = shape;
  return expecting;
}

TunedConfigurations TuningTask::resultOf(const Schedule &schedule) const {
  TunedConfigurations tuned;
  tuned.add({program, problemClass(problemOfShape()), attentionSizes(shape), toString(schedule)});
  return tuned;
}

std::string_view toString(CandidateState state) { return kStates[size_t(state)]; }

std::optional<CandidateState> parseCandidateState(std::string_view word) {
  auto found = std::find(std::begin(kStates), std::end(kStates), word);
  if (found == std::end(kStates))
    return std::nullopt;
  return CandidateState(found - std::begin(kStates));
}

const ProgramIdentity *Tuning::programOf(const Candidate &candidate) const {
  for (const ProgramIdentity &program : programs)
    if (std::ranges::count(candidate.tunables, NamedSize{"program", program.value}) != 0)
      return &program;
  return nullptr;
}

std::string Tuning::nameOf(const Candidate &candidate) const {
  Configuration configuration = candidate.configuration();
  const ProgramIdentity *program = programOf(candidate);
  if (program == nullptr)
    return toString(configuration);
  std::erase_if(configuration.tunables, [](const NamedSize &tunable) { return tunable.name == "program"; });
  const std::string rest = toString(configuration);
  return program->name + (rest.empty() ? "" : " ") + rest;
}

bool isBetter(const Tuning &a, const Tuning &b) {
  const auto rank = [](const Tuning &result) {
    const Candidate *winner = result.winner();
    const bool toTheEnd = winner != nullptr && winner->timedToTheEnd();
    return std::tuple(result.complete, toTheEnd, winner == nullptr || toTheEnd ? 0 : winner->samples);
  };
  return rank(a) > rank(b);
}

size_t Tuning::count(CandidateState state) const {
  return size_t(std::count_if(candidates.begin(), candidates.end(),
                              [&](const Candidate &candidate) { return candidate.state == state; }));
}

Expected<TuningDevice> tuningDevice(std::string_view target, const Compiler &compiler, int ordinal) {
  if (target != "cpu" && target != "cuda")
    return Status(ErrorCode::invalid_argument,
                  "'" + std::string(target) + "' cannot be tuned for; legal are cpu and cuda");
  Expected<TuningDevice> machine =
      target == "cuda" ? gpuMachine(ordinal) : TuningDevice{.target = {"cpu", "", ""}, .device = cpuDescription()};
  if (machine)
    machine->compiler = compiler.identity(machine->target);
  return machine;
}

} // namespace tegula
