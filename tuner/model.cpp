// SPDX-License-Identifier: MIT
#include "model.h"

#include "workload/given_blocks.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tegula::tuning {
namespace {

// Limits of every GPU from sm_80 on (CUDA C++ Programming Guide, table of compute capabilities).
constexpr int64_t kRegisters = 65536; ///< Registers of a multiprocessor, 32 bits each.
constexpr int kMaxRegisters = 255;    ///< The most registers of a thread.
constexpr int64_t kMaxInstances = 32;
constexpr int64_t kReservedShared = 1024; ///< Bytes of shared memory that the system reserves for each instance.

/// Registers of a thread for addresses, indices and values in flight.
constexpr int kRegistersBeside = 32;
/// The factor by which the estimate of registers may exceed the limit, because it is not exact.
constexpr double kDoubt = 1.15;

// The work of a multiprocessor in one clock: operations of its tensor cores, bytes of shared memory, exponentials with
// their arithmetic. The last constant is the number of clocks that each iteration takes in addition.
constexpr double kMmaFlops = 2048, kSharedBytes = 128, kExponentials = 10, kIterationClocks = 150;
/// The number of warps that keep a multiprocessor busy.
constexpr double kBusyWarps = 8;

int registersOf(const ResourceEstimate &estimate, int threads) {
  return int(estimate.register_words / threads) + kRegistersBeside;
}

/// Returns the least number of instances that the schedule asks for.
int64_t askedInstances(const Schedule &schedule) { return std::max(1, schedule.instances_per_sm); }

/// Returns the number of program instances on a multiprocessor at the same time.
int64_t residentInstances(const Schedule &schedule, const ResourceEstimate &estimate, const TuningDevice &machine) {
  int threads = 32 * schedule.num_warps;
  int64_t registers = std::min(registersOf(estimate, threads), kMaxRegisters);
  int64_t fitting = std::min({kMaxInstances, kRegisters / (registers * threads),
                              machine.shared_bytes_per_multiprocessor / (estimate.shared_bytes + kReservedShared)});
  return std::max(fitting, askedInstances(schedule));
}

std::string whyImpossible(const Schedule &schedule, const ResourceEstimate &estimate, const TuningDevice &machine) {
  int64_t threads = 32 * schedule.num_warps, registers = registersOf(estimate, int(threads));
  int64_t most = std::min<int64_t>(kMaxRegisters, kRegisters / (threads * askedInstances(schedule)));
  int64_t shared = std::min(machine.shared_bytes_per_block,
                            machine.shared_bytes_per_multiprocessor / askedInstances(schedule) - kReservedShared);
  if (estimate.shared_bytes > shared)
    return fmt::format("needs {} KiB of shared memory, there are {}", estimate.shared_bytes >> 10, shared >> 10);
  if (registers > double(most) * kDoubt)
    return fmt::format("needs {} registers a thread, there are {}", registers, most);
  return "";
}

/// Returns a rough estimate of the clocks of a launch.
double gpuCost(const Schedule &schedule, const ResourceEstimate &estimate, const TuningDevice &machine) {
  int64_t resident = residentInstances(schedule, estimate, machine);
  double products = estimate.mma_flops / (kMmaFlops * (estimate.uses_wgmma ? 2 : 1)),
         shared = estimate.shared_traffic / kSharedBytes, exponentials = estimate.exponentials / kExponentials;
  double busy = std::min(1.0, double(resident * schedule.num_warps) / kBusyWarps);
  // Other instances hide the part that one instance does not overlap.
  double longest = std::max({products, shared, exponentials});
  double iteration = longest + (products + shared + exponentials - longest + kIterationClocks) / double(resident + 1);
  double waves = std::ceil(double(estimate.instances) / double(machine.multiprocessors * resident));
  return waves * double(resident) * estimate.iterations * iteration / busy;
}

} // namespace

void judge(Candidate &candidate, const ResourceEstimate &estimate, const TuningDevice &machine) {
  bool gpu = machine.multiprocessors > 0;
  if (gpu)
    candidate.why = whyImpossible(candidate.schedule, estimate, machine);
  if (!candidate.why.empty()) {
    candidate.state = CandidateState::impossible;
    return;
  }
  // On a cpu, all block sizes cost the same arithmetic. Fewer iterations mean fewer interruptions.
  candidate.model_cost =
      gpu ? gpuCost(candidate.schedule, estimate, machine) : double(estimate.instances) * estimate.iterations;
}

Expected<std::vector<Candidate>> candidatesOf(const TuningTask &task, const TuningDevice &machine, int most) {
  Expected<SearchSpace> space = findSearchSpace(task.program);
  if (!space)
    return space.status();
  const AttentionProblem problem = task.problemOfShape();
  Expected<KernelConfig> untuned = resolve(problem, task.program, machine.target);
  if (!untuned)
    return untuned.status();
  std::vector<Candidate> all = {{.schedule = untuned->schedule}};
  for (const Schedule &schedule : enumerate(space->boxes(machine.target, problem)))
    if (schedule != untuned->schedule)
      all.push_back({.schedule = schedule});
  ModelledLaunch launch{.shape = task.shape, .diagonal_offset = task.diagonal_offset};
  if (task.blocks)
    launch.is_listed = tools::listedTiles(*task.blocks, task.shape.seqlen_k);
  for (Candidate &candidate : all)
    judge(candidate, space->estimate(problem, launch, candidate.schedule), machine);

  all.front().state = CandidateState::waiting; // The schedule without tuning has been measured before.
  all.front().why.clear();
  std::sort(all.begin() + 1, all.end(), [](const Candidate &a, const Candidate &b) {
    return std::pair(a.state == CandidateState::impossible, a.model_cost) <
           std::pair(b.state == CandidateState::impossible, b.model_cost);
  });
  for (size_t n = size_t(std::max(most, 1)); n < all.size(); ++n)
    if (all[n].state == CandidateState::waiting)
      all[n].state = CandidateState::unlikely;
  return all;
}

} // namespace tegula::tuning
