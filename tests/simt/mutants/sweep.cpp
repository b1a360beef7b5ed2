// SPDX-License-Identifier: MIT
#include "mutants/sweep.h"

#include "compiler/client/InProcessCompiler.h"
#include "exploration.h"
#include "kernels/schedules.h"
#include "tegula/attention_words.h"
#include "workload/attention_run.h"
#include "workload/named_variants.h"
#include "workload/open_device.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <set>

namespace tegula::testing {
namespace {

using tools::AttentionCase, tools::AttentionRun, tools::Exploration;

std::string list(const std::vector<std::string> &mutants) {
  std::string words;
  for (const std::string &mutant : mutants)
    words += (words.empty() ? "" : ",") + mutant.substr(0, mutant.find(' '));
  return words;
}

AttentionCase caseOf(const SweptKernel &kernel, const SweptLaunch &launch) {
  AttentionCase attention{.problem = kernel.problem,
                          .shape = launch.shape,
                          .scale = 1 / float(std::sqrt(double(kernel.problem.head_dim))),
                          .family = launch.family,
                          .schedule = kernel.schedule,
                          .row_gaps = launch.row_gaps};
  if (const tools::NamedVariant *variant = tools::findVariant(kernel.variant))
    setVariant(attention, *variant);
  return attention;
}

bool isIn(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// The mutants that no launch has detected.
struct Remaining {
  std::vector<std::string> names;
  std::set<std::string> reached; ///< The mutants whose changed instruction some lane has executed.

  /// Drops mutants that are not errors, and returns their number. A delay that no lane has reached delays nothing,
  /// because no access to shared memory follows. If an arrival or a wait orders no memory, ptxas makes the same
  /// instructions, with those for shared memory in the same order (tests/kernels/assembled_test.cpp).
  int64_t dropUnchanged() {
    return int64_t(std::erase_if(names, [&](const std::string &name) {
      return (isIn(name, ":delay ") && !reached.contains(name)) || isIn(name, ":weaken (mbarrier.arrive at") ||
             isIn(name, ":weaken (mbarrier.try_wait at");
    }));
  }
};

/// A scheduler and the number of its schedules to try. The scheduler that finds the most at once comes first.
struct Orders {
  SimtScheduler scheduler;
  int64_t schedules;
};
constexpr Orders kOrders[] = {{SimtScheduler::uniform, 2}, {SimtScheduler::laggard, 8}, {SimtScheduler::runaway, 16}};

SweptKernel sweptKernel(const std::string &arch, std::string_view program, const AttentionProblem &problem) {
  SweptKernel kernel{.target = "simt:" + arch, .program = program, .problem = problem};
  for (const tools::NamedVariant &variant : tools::namedVariants())
    if (variant.make(kernel.problem).name == problem.variant.name)
      kernel.variant = variant.name;
  kernel.problem.backward = program.starts_with("flash2_backward");
  kernel.problem.algorithm = program.starts_with("standard") ? Algorithm::standard
                             : program == "flash1_forward"   ? Algorithm::flash1
                                                             : Algorithm::flash2;
  return kernel;
}

} // namespace

std::string SweptKernel::name() const {
  std::string name =
      std::string(program) + " D=" + std::to_string(problem.head_dim) + " " + std::string(toString(problem.dtype));
  name += problem.causal == Causal::none ? "" : " causal";
  return variant.empty() ? name : name + " " + std::string(variant);
}

std::vector<SweptKernel> sweptKernels() {
  std::vector<SweptKernel> kernels;
  std::set<std::string> known;
  for (const char *arch : {"sm_80", "sm_86", "sm_100", "sm_90a"})
    for (const AttentionProgram &program : attentionPrograms())
      for (const ShippedSchedule &shipped : shippedSchedules({"simt", arch, ""}, program.name)) {
        const SweptKernel kernel = sweptKernel(arch, program.name, shipped.problem);
        if (known.insert(kernel.name() + " " + toString(shipped.schedule)).second)
          kernels.push_back(kernel);
      }
  return kernels;
}

std::vector<SweptLaunch> launchesOf(const SweptKernel &kernel, const Schedule &schedule) {
  auto of = [](int64_t queries, int64_t keys, int64_t heads = 1, int64_t kv_heads = 1) {
    return AttentionShape{.batch = 1, .heads = heads, .kv_heads = kv_heads, .seqlen_q = queries, .seqlen_k = keys};
  };
  if (schedule.roles == Roles::load) {
    // Each slot is filled again: the slot of queries in an instance's third block. The last block is ragged. With a
    // causal mask and one block of keys, the first of two blocks of queries sees no key.
    const bool isCausal = kernel.problem.causal != Causal::none, isWindow = kernel.variant == "sliding_window";
    const bool persistent = isPersistent(schedule);
    const int64_t heads = !persistent ? 1 : isCausal ? 3 : isWindow ? 2 : 5;
    // A dynamic scheduler does not determine which instance gets a third block. With 5 or more heads, some instance
    // does.
    const int64_t shortHeads =
        schedule.tile_scheduler == TileScheduler::dynamic_persistent ? std::max<int64_t>(heads, 5) : heads;
    // Without keys, only the producer's own barrier keeps one of its lanes from lagging by several rounds.
    const int64_t emptyHeads = schedule.tile_scheduler == TileScheduler::dynamic_persistent ? 24 : heads;
    const int64_t many = 4 * schedule.block_n + 72, few = schedule.block_n - 28;
    const int64_t queries = isCausal ? schedule.block_m + few : std::min(100, schedule.block_m);
    // With a window, only the last of `many` queries see that many keys.
    std::vector<SweptLaunch> launches = {{of(isWindow ? many : queries, many, heads)},
                                         {of(isWindow ? many : 100, many, heads), {3, 3, 3, 3}},
                                         {of(queries, few, heads)},
                                         {of(queries, few, shortHeads), {3, 0, 0, 0}},
                                         {of(queries, 0, emptyHeads), {3, 0, 0, 0}}};
    // Scores exceed the scores of the first block by so much that they are computed again.
    if (schedule.optimistic_softmax == true)
      launches.push_back({.shape = of(isWindow ? many : queries, many + 2 * schedule.block_n, heads),
                          .family = oracle::Family::crossing_zero});
    // One instance has a block in every other iteration. Another instance ends with a block, which it stores: the last
    // work indices have a block if no group of `heads_in_l2` heads lacks any.
    if (persistent)
      launches.push_back({of(2 * schedule.block_m + 40, few, std::max(2, schedule.heads_in_l2))});
    return launches;
  }
  const int64_t queries = schedule.block_m + 40, keys = 2 * schedule.block_n + 40;
  return {{of(queries, keys)},
          {of(queries, keys, 2)},
          {of(100, 0)},
          {of(schedule.block_m - 8, 40, 2)},
          {of(0, 100)},
          {of(100, 70, 0)},
          {of(2 * schedule.block_m, 2 * schedule.block_n)}};
}

Expected<Sweep> sweep(const SweptKernel &kernel) {
  Expected<std::shared_ptr<Device>> device = tools::openDevice(kernel.target);
  if (!device)
    return device.status();
  auto simt = std::dynamic_pointer_cast<SimtDevice>(*device);
  auto compiler = makeInProcessCompiler();
  KernelCache cache(*compiler, *device);
  const AttentionCase first = caseOf(kernel, {});
  Expected<KernelConfig> resolved = resolve(first.problem, kernel.program, simt->target(), kernel.schedule);
  if (!resolved)
    return resolved.status();
  Sweep sweep{.schedule = resolved->schedule, .survivors = {}};
  std::vector<AttentionRun> runs;
  for (const SweptLaunch &launch : launchesOf(kernel, sweep.schedule)) {
    Expected<AttentionRun> run = AttentionRun::make(caseOf(kernel, launch), *device, cache);
    if (!run)
      return run.status();
    runs.push_back(std::move(*run));
  }
  Remaining remaining;
  std::string mutants(kernel.program);
  for (const Orders &orders : kOrders) {
    Expected<Exploration> tried =
        explore(runs.front(), std::span(runs).subspan(1), *simt,
                {.schedules = orders.schedules, .scheduler = orders.scheduler, .mutate = mutants}, /*seed=*/1,
                first.problem.backward);
    if (!tried)
      return tried.status();
    if (!tried->findings.empty())
      return Status(ErrorCode::launch_failed, tried->findings.front().message);
    sweep.mutants = std::max(sweep.mutants, tried->mutants_total + int64_t(tried->unreached.size()));
    remaining.reached.insert(tried->survivors.begin(), tried->survivors.end());
    remaining.names = std::move(tried->survivors);
    std::ranges::move(tried->unreached, std::back_inserter(remaining.names));
    if (remaining.names.empty())
      return sweep;
    mutants = list(remaining.names);
  }
  sweep.mutants -= remaining.dropUnchanged();
  sweep.survivors = std::move(remaining.names);
  return sweep;
}

std::string sourceLine(std::string_view mutant) {
  const size_t at = mutant.rfind(" at "), colon = mutant.rfind(':');
  if (at == std::string_view::npos || colon == std::string_view::npos || colon < at)
    return "";
  std::ifstream file(TEGULA_SOURCE_DIR "/" + std::string(mutant.substr(at + 4, colon - at - 4)));
  int number = 0;
  std::from_chars(mutant.data() + colon + 1, mutant.data() + mutant.size(), number);
  std::string line;
  while (number-- > 0 && std::getline(file, line))
    ;
  return line;
}

std::vector<std::string> unexplained(const Sweep &sweep) {
  std::vector<std::string> rest = sweep.survivors;
  const auto shownByAssembler = std::ranges::find_if(rest, [](const std::string &mutant) {
    return isIn(mutant, " (wgmma.fence at") && isIn(sourceLine(mutant), "softmax.update(");
  });
  if (sweep.schedule.overlap == Overlap::pingpong && shownByAssembler != rest.end())
    rest.erase(shownByAssembler);
  return rest;
}

} // namespace tegula::testing
