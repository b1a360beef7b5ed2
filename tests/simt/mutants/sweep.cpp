// SPDX-License-Identifier: MIT
#include "mutants/sweep.h"

#include "compiler/client/InProcessCompiler.h"
#include "kernels/schedules.h"
#include "tegula/attention_words.h"
#include "workload/attention_exploration.h"
#include "workload/attention_launches.h"
#include "workload/attention_run.h"
#include "workload/mutants.h"
#include "workload/named_variants.h"
#include "workload/open_device.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <memory>
#include <set>

namespace tegula::testing {
namespace {

using tools::AttentionCase, tools::AttentionRun, tools::Mutant, tools::MutantFate, tools::SimtInterleavings,
    tools::SimtRun;

AttentionCase caseOf(const SweptKernel &kernel) {
  AttentionCase attention{.problem = kernel.problem,
                          .shape = {},
                          .scale = 1 / float(std::sqrt(double(kernel.problem.head_dim))),
                          .schedule = kernel.schedule};
  if (const tools::NamedVariant *variant = tools::findVariant(kernel.variant))
    setVariant(attention, *variant);
  return attention;
}

bool isIn(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// The interleavings to try. The scheduler that finds the most at once comes first.
constexpr SimtInterleavings kInterleavings[] = {
    {SimtScheduler::uniform, 2}, {SimtScheduler::laggard, 8}, {SimtScheduler::runaway, 16}};

/// Fails if an unchanged kernel has findings.
Status checkUnchanged(std::span<const SimtRun> runs, const SimtInterleavings &interleavings) {
  for (const SimtRun &run : runs)
    for (int64_t i = 0; i < interleavings.count; ++i) {
      Expected<SimtReport> report = run(interleavings[i]);
      if (!report)
        return report.status();
      if (!report->findings.empty())
        return Status(ErrorCode::launch_failed, report->findings.front().message);
    }
  return {};
}

/// Keeps the mutants that no run kills, and adds the names of those whose changed instruction some lane has executed. A
/// run that kills a mutant is tried first on the next one, because mutants of one kind often die in the same run.
Status keepSurvivors(std::vector<Mutant> &mutants, std::span<const SimtRun> all_runs,
                     const SimtInterleavings &interleavings, std::set<std::string> &reached) {
  std::vector<SimtRun> runs(all_runs.begin(), all_runs.end());
  std::vector<Mutant> survivors;
  for (Mutant &mutant : mutants) {
    Expected<tools::MutantResult> result = resultOf(mutant, runs, interleavings);
    if (!result)
      return result.status();
    if (result->fate == MutantFate::killed)
      std::rotate(runs.begin(), runs.begin() + int64_t(result->killer), runs.begin() + int64_t(result->killer) + 1);
    if (result->fate == MutantFate::survived)
      reached.insert(mutant.name);
    if (result->fate != MutantFate::killed)
      survivors.push_back(std::move(mutant));
  }
  mutants = std::move(survivors);
  return {};
}

std::vector<std::string> namesOf(const std::vector<Mutant> &mutants) {
  std::vector<std::string> names;
  for (const Mutant &mutant : mutants)
    names.push_back(mutant.name);
  return names;
}

/// Moves the names of the mutants that are known to `explained`: other interleavings need not try them.
void takeOutExplained(std::vector<Mutant> &mutants, std::span<const Explained> known,
                      std::vector<std::string> &explained) {
  const std::vector<std::string> rest = unexplained(namesOf(mutants), known);
  std::erase_if(mutants, [&](const Mutant &mutant) {
    const bool isKnown = std::ranges::find(rest, mutant.name) == rest.end();
    if (isKnown)
      explained.push_back(mutant.name);
    return isKnown;
  });
}

/// With ping-pong, the forward pass starts two MMAs together.
constexpr Explained kOfForward[] = {{"wgmma.fence", "softmax.update(", 1}};

/// The producer of the backward pass has waited for the slot of Q, and all reads of dO come before its release. Where
/// it copies K and V without TMA, what follows the copies of K and of the first block of Q (in operands.cpp) comes
/// before all reads. A block's lse_term is the last that it copies, and S waits for it: the lanes have then met, and
/// what follows the copy of dO was a fence for Q, too. Only lanes that copy a vector arrive for it, and TMA can load
/// each row of a workspace: ProductMutants.OfAProductWithAVector shows what they need.
constexpr Explained kOfBackward[] = {
    {"mbarrier.arrive", "at.dp_init.load(", 1},
    {"mbarrier.arrive", "at.lse_term.load(", 1},
    {"mbarrier.try_wait", "Value do_i = at.dO.load(", 2},
    {"bar.warp.sync", "V.at(batch, kv_head).load(", 1},
    {"fence.proxy.async", "loaded.push_back(views[n].load(", 2},
    {"bar.warp.sync", "loaded.push_back(views[n].load(", 1},
    {"bar.warp.sync", "Value do_i = at.dO.load(", 1},
    {"bar.warp.sync", "Value dp_init = at.dp_init.load(", 1},
};

/// With ping-pong, the backward pass starts dP while S runs, before its loop and in it. Each warpgroup gets its turn
/// from the store of a part of dS. With two stages it could not run ahead far enough to matter, and in its turn it has
/// waited for what the other warpgroup stored before.
constexpr Explained kOfPingpongBackward[] = {
    {"wgmma.fence", "Value product_dp = kept", 2},
    {"mbarrier.try_wait", "visitsOfKeys(c, strip).forEach(", 2},
    {"mbarrier.try_wait", ".ds = cast(", 3},
};

/// Without ping-pong, the backward pass starts dP while S runs. With one stage, a tile of Q comes only after both
/// warpgroups have read P of the tile before. Lanes read the row statistics before the barriers of P and dS, each of
/// which has a fence. After the loop, a warpgroup stages dK in the columns of K that only its own dQ has read, and
/// lanes read dK and dV from there. A warp meets before it hands a tile to the adder, closes its channel, or gives
/// the slot back, because a GPU counts whole warps at a barrier; the executor counts lanes.
constexpr Explained kOfSerialBackward[] = {
    {"wgmma.fence", "Value product_dp = kept", 1},
    {"fence.proxy.async", ".p = cast(", 1},
    {"bar.sync", ".p = cast(", 1},
    {"bar.warp.sync", "Value do_i = at.dO.load(", 1},
    {"bar.warp.sync", "dQ.atomicAdd(i, ", 3},
    {"fence.proxy.async", "dK.at(batch, kv_head).store(", 2},
    {"bar.sync", "dK.at(batch, kv_head).store(", 1},
};

std::vector<Explained> explainedIn(const Schedule &schedule, bool isBackward) {
  const bool pingpong = schedule.overlap == Overlap::pingpong;
  std::vector<Explained> explained;
  auto add = [&](std::span<const Explained> more) { explained.insert(explained.end(), more.begin(), more.end()); };
  if (schedule.roles != Roles::load)
    return explained;
  if (!isBackward && pingpong)
    add(kOfForward);
  if (isBackward && schedule.num_stages == (pingpong ? 2 : 1)) {
    add(kOfBackward);
    add(pingpong ? std::span<const Explained>(kOfPingpongBackward) : kOfSerialBackward);
  }
  return explained;
}

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

Expected<Sweep> sweep(std::vector<Mutant> mutants, std::span<const SimtRun> runs, std::span<const Explained> known) {
  std::erase_if(mutants, [](const Mutant &mutant) { return tools::ordersNoMemory(mutant.name); });
  Sweep sweep{.schedule = {}, .mutants = std::ssize(mutants), .survivors = {}};
  std::set<std::string> reached;
  for (const SimtInterleavings &interleavings : kInterleavings) {
    if (mutants.empty())
      break;
    TEGULA_RETURN_IF_ERROR(checkUnchanged(runs, interleavings));
    TEGULA_RETURN_IF_ERROR(keepSurvivors(mutants, runs, interleavings, reached));
    takeOutExplained(mutants, known, sweep.survivors);
  }
  // A delay that no lane has reached delays nothing: no access to shared memory follows.
  sweep.mutants -= std::ssize(mutants);
  std::erase_if(mutants,
                [&](const Mutant &mutant) { return tools::delaysNothing(mutant, reached.contains(mutant.name)); });
  sweep.mutants += std::ssize(mutants);
  std::ranges::move(namesOf(mutants), std::back_inserter(sweep.survivors));
  return sweep;
}

Expected<Sweep> sweep(const SweptKernel &kernel) {
  Expected<std::shared_ptr<Device>> device = tools::openDevice(kernel.target);
  if (!device)
    return device.status();
  auto simt = std::dynamic_pointer_cast<SimtDevice>(*device);
  auto compiler = makeInProcessCompiler();
  KernelCache cache(*compiler, *device);
  const AttentionCase attention = caseOf(kernel);
  Expected<KernelConfig> resolved = resolve(attention.problem, kernel.program, simt->target(), kernel.schedule);
  if (!resolved)
    return resolved.status();
  const Schedule &schedule = resolved->schedule;
  std::vector<AttentionRun> made;
  for (const tools::MutantTrial &trial : mutantTrials(attention, kernel.program, schedule)) {
    Expected<AttentionRun> run = AttentionRun::make(withTrial(attention, trial), *device, cache);
    if (!run)
      return run.status();
    made.push_back(std::move(*run));
  }
  std::vector<std::unique_ptr<Explored>> explored;
  std::vector<SimtRun> runs;
  for (const AttentionRun &run : made) {
    explored.push_back(std::make_unique<tools::ExploredAttention>(run, attention.problem.backward));
    runs.push_back(tools::runOf(*explored.back(), *simt));
  }
  std::vector<Mutant> mutants;
  for (const SimtSite &site : simt->sites())
    if (site.kernel == kernel.program)
      std::ranges::move(tools::mutantsOf(site), std::back_inserter(mutants));
  Expected<Sweep> result = sweep(std::move(mutants), runs, explainedIn(schedule, attention.problem.backward));
  if (result)
    result->schedule = schedule;
  return result;
}

std::string sourceLine(std::string_view mutant) {
  const size_t at = mutant.rfind(" at "), colon = mutant.rfind(':');
  if (at == std::string_view::npos || colon == std::string_view::npos || colon < at)
    return "";
  const std::string_view path = mutant.substr(at + 4, colon - at - 4); // The folder of the file, and the file.
  std::ifstream file;
  for (const char *root : {"/", "/bench/", "/tests/"})
    if (!file.is_open())
      file.open(TEGULA_SOURCE_DIR + std::string(root) + std::string(path));
  int number = 0;
  std::from_chars(mutant.data() + colon + 1, mutant.data() + mutant.size(), number);
  std::string line;
  while (number-- > 0 && std::getline(file, line))
    ;
  return line;
}

namespace {

/// Returns the part of a mutant's name that all mutants of its instruction share.
std::string_view siteOf(std::string_view mutant) {
  return mutant.substr(0, mutant.find_first_of(": ", mutant.find(':') + 1));
}

} // namespace

std::vector<std::string> unexplained(std::vector<std::string> mutants, std::span<const Explained> known) {
  for (const Explained &explained : known) {
    std::set<std::string, std::less<>> sites;
    std::erase_if(mutants, [&](const std::string &mutant) {
      const bool isMeant =
          isIn(mutant, " (" + std::string(explained.instruction) + " at") && isIn(sourceLine(mutant), explained.line);
      if (isMeant && std::ssize(sites) < explained.most)
        sites.emplace(siteOf(mutant));
      return isMeant && sites.contains(siteOf(mutant));
    });
  }
  return mutants;
}

std::vector<std::string> unexplained(const Sweep &sweep) {
  const bool isBackward = !sweep.survivors.empty() && sweep.survivors.front().starts_with("flash2_backward");
  return unexplained(sweep.survivors, explainedIn(sweep.schedule, isBackward));
}

} // namespace tegula::testing
