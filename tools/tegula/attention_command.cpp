// SPDX-License-Identifier: MIT
#include "attention_command.h"
#include "attention_report.h"
#include "files.h"
#include "kernel_device.h"
#include "progress.h"
#include "tuned.h"
#include "workload/attention_exploration.h"
#include "workload/attention_launches.h"
#include "workload/attention_run.h"
#include "workload/open_device.h"
#include "workload/timing.h"

#include <list>
#include <optional>
#include <utility>

namespace tegula::tools {
namespace {

/// Measures the passes and fills in their times.
Status measure(const AttentionRun &run, AttentionReport &report, Progress &progress) {
  progress.show("running forward");
  Expected<double> forward = medianMs(run.device(), [&] { return run.forward(); });
  if (!forward)
    return forward.status();
  report.forward_ms = *forward;
  if (!report.attention.problem.backward)
    return {};
  progress.show("running backward");
  Expected<double> backward = medianMs(run.device(), [&] { return run.backward(); });
  if (!backward)
    return backward.status();
  report.backward_ms = *backward;
  return {};
}

/// Returns runs of the same kernels in which mutants show that the problem's own shape hides.
Expected<std::vector<AttentionRun>> trialRuns(const AttentionCase &attention, const AttentionPlan &plan,
                                              const std::shared_ptr<Device> &device, KernelCache &cache,
                                              const TunedConfigurations &tuned) {
  std::vector<AttentionRun> runs;
  for (const MutantTrial &trial : mutantTrials(attention, plan)) {
    Expected<AttentionRun> run = AttentionRun::make(withTrial(attention, trial), device, cache, &tuned);
    if (!run)
      return run.status();
    runs.push_back(std::move(*run));
  }
  return runs;
}

/// Runs different interleavings, and takes the times of the first one. Returns its results.
Expected<AttentionArrays> exploreOrders(const AttentionRun &run, std::span<const AttentionRun> others,
                                        SimtDevice &device, const AttentionOptions &options, AttentionReport &report,
                                        Progress &progress) {
  progress.show("running under different orders of lanes");
  ExploredAttention explored(run, options.backward);
  std::list<ExploredAttention> explored_others;
  std::vector<Explored *> pointers;
  for (const AttentionRun &other : others)
    pointers.push_back(&explored_others.emplace_back(other, options.backward));
  Expected<Exploration> exploration = explore(explored, pointers, device, options.exploration, options.seed);
  if (!exploration)
    return exploration.status();
  report.exploration = std::move(*exploration);
  report.forward_ms = explored.forwardMs();
  if (options.backward)
    report.backward_ms = explored.backwardMs();
  return *explored.arrays();
}

/// Returns the results of one run. Earlier runs have added to the gradients of the variant's tensors, so they are
/// computed again.
Expected<AttentionArrays> arraysOf(const AttentionRun &run, bool backward) {
  if (!run.tensors().variant_gradients.empty() && backward) {
    TEGULA_RETURN_IF_ERROR(run.data().clearVariantGradients());
    TEGULA_RETURN_IF_ERROR(run.backward());
  }
  return readArrays(run.data(), backward);
}

/// Does the work of --check and --save. `explored` are the results of the first interleaving.
Status inspect(const AttentionRun &run, const AttentionOptions &options, const std::optional<AttentionArrays> &explored,
               AttentionReport &report, Progress &progress) {
  if (!options.check && options.save.empty())
    return {};
  Expected<AttentionArrays> arrays = explored ? *explored : arraysOf(run, options.backward);
  if (!arrays)
    return arrays.status();
  if (!options.save.empty())
    TEGULA_RETURN_IF_ERROR(saveArrays(options.save, *arrays, run.data(), options.backward));
  if (options.check) {
    progress.show("computing the double-precision reference");
    report.errors = checkAttention(report.attention, *arrays);
  }
  return {};
}

/// Returns the program of the forward pass whose schedule a report has.
std::string_view forwardProgram(const AttentionProblem &problem) {
  return problem.algorithm == Algorithm::flash2 ? "flash2_forward" : programsOf(problem).front();
}

Expected<AttentionReport> runAttention(const AttentionOptions &options) {
  Expected<AttentionCase> attention = attentionCase(options);
  if (!attention)
    return attention.status();
  if (!options.save.empty())
    TEGULA_RETURN_IF_ERROR(createFolder("--save", options.save));
  Expected<KernelDevice> opened = openKernelDevice(options.target, options.no_cache, options.check_finite);
  if (!opened)
    return opened.status();
  const std::shared_ptr<Device> &device = opened->device;

  Progress progress;
  progress.show("compiling");
  TunedConfigurations tuned = tunedConfigurations(options.target, options.untuned);
  Expected<AttentionRun> run = AttentionRun::make(*attention, device, *opened->kernels, &tuned);
  if (!run)
    return run.status();
  if (options.check)
    TEGULA_RETURN_IF_ERROR(run->data().spoilUnusedRows());
  AttentionReport report;
  report.attention = *attention;
  report.target = device->target().name;
  report.device = describe(*device);
  report.compile_ms = run->compileMs();
  report.compilations = opened->artifacts->counters().compilations;
  report.cached = opened->artifacts->counters().hits;
  report.forward_schedule = run->plan().schedule(forwardProgram(attention->problem));
  report.backward_schedule = run->plan().schedule("flash2_backward");
  std::optional<AttentionArrays> explored;
  if (auto simt = std::dynamic_pointer_cast<SimtDevice>(device)) {
    Expected<std::vector<AttentionRun>> others = std::vector<AttentionRun>();
    if (!options.exploration.mutate.empty())
      others = trialRuns(*attention, run->plan(), device, *opened->kernels, tuned);
    if (!others)
      return others.status();
    Expected<AttentionArrays> first = exploreOrders(*run, *others, *simt, options, report, progress);
    if (!first)
      return first.status();
    explored = std::move(*first);
  } else {
    TEGULA_RETURN_IF_ERROR(measure(*run, report, progress));
  }
  if (options.repeat > 0) {
    progress.show("comparing reruns");
    Expected<Reruns> reruns = rerun(*run, attention->problem, options.repeat);
    if (!reruns)
      return reruns.status();
    report.reruns = std::move(*reruns);
  }
  TEGULA_RETURN_IF_ERROR(inspect(*run, options, explored, report, progress));
  return report;
}

} // namespace

Outcome attentionCommand(const AttentionOptions &options) {
  Expected<AttentionReport> report = runAttention(options);
  if (!report)
    return report.status();
  TEGULA_RETURN_IF_ERROR(print(options.json ? toJson(*report) : toTable(*report)));
  if (report->exploration)
    TEGULA_RETURN_IF_ERROR(verdict(*report->exploration));
  if (report->reruns)
    TEGULA_RETURN_IF_ERROR(verdict(*report->reruns));
  Outcome outcome = report->errors ? verdict(*report->errors) : Status();
  if (report->exploration)
    outcome.untried = reachVerdict(*report->exploration);
  return outcome;
}

} // namespace tegula::tools
