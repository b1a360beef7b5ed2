// SPDX-License-Identifier: MIT
// The words and sums of tuner.h.
#include "tegula/tuner.h"

#include "tegula/cuda_device.h"
#include "workload/machine.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace tegula {
namespace {

// In the order of the enumerators.
constexpr std::string_view kStates[] = {"impossible", "unlikely", "waiting", "refused", "spilled", "faulted",
                                        "hung",       "wrong",    "checked", "beaten",  "finalist"};

Expected<TuningMachine> gpuMachine() {
  Expected<std::vector<CudaDeviceInfo>> gpus = cudaDevices();
  if (!gpus)
    return gpus.status();
  if (gpus->empty())
    return Status(ErrorCode::Unsupported, "the driver finds no GPU");
  const CudaDeviceInfo &gpu = gpus->front();
  return TuningMachine{.target = {"cuda", gpu.arch, ""},
                       .device = gpu.name,
                       .driver = fmt::format("CUDA {}.{}", gpu.driver_version / 1000, gpu.driver_version % 1000 / 10),
                       .multiprocessors = gpu.multiprocessors,
                       .shared_bytes_per_block = gpu.shared_bytes_per_block,
                       .shared_bytes_per_multiprocessor = gpu.shared_bytes_per_multiprocessor};
}

} // namespace

std::string_view toString(CandidateState state) { return kStates[size_t(state)]; }

std::optional<CandidateState> parseCandidateState(std::string_view word) {
  auto found = std::find(std::begin(kStates), std::end(kStates), word);
  if (found == std::end(kStates))
    return std::nullopt;
  return CandidateState(found - std::begin(kStates));
}

size_t Tuning::count(CandidateState state) const {
  return size_t(std::count_if(candidates.begin(), candidates.end(),
                              [&](const Candidate &candidate) { return candidate.state == state; }));
}

Expected<TuningMachine> tuningMachine(std::string_view target, const Compiler &compiler) {
  if (target != "cpu" && target != "cuda")
    return Status(ErrorCode::InvalidArgument, fmt::format("'{}' cannot be tuned for; legal are cpu and cuda", target));
  Expected<TuningMachine> machine =
      target == "cuda" ? gpuMachine() : TuningMachine{.target = {"cpu", "", ""}, .device = tools::cpuDescription()};
  if (machine)
    machine->compiler = compiler.identity(machine->target);
  return machine;
}

} // namespace tegula
