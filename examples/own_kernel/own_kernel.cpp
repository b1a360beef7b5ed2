// SPDX-License-Identifier: MIT
// What a kernel of one's own gets: each pass of sigmoid attention, plain and causal, is checked, tuned, timed, compared
// under two configurations, and run lane by lane as an H100 would run it.
#include "sigmoid.h"

#include "tegula/caching_compiler.h"
#include "tegula/plan_tools.h"
#include "tegula/worker_compiler.h"

#include <cstdio>
#include <cstdlib>

using namespace tegula;

namespace {

/// Ends the program with the message of an error, if there is one.
void require(const Status &status) {
  if (status.ok())
    return;
  std::fprintf(stderr, "%s\n", status.message().c_str());
  std::exit(1);
}

template <class T> T valueOf(Expected<T> expected) {
  require(expected.status());
  return std::move(*expected);
}

/// One pass: a plan with a reference, and the kernel that is worth tuning.
PlanTask taskOf(const Sigmoid &sigmoid, bool backward) {
  return {
      .plan = backward ? sigmoid.backward() : sigmoid.forward(),
      .inputs = {.sizes = {{"batch", 1}, {"heads", 2}, {"queries", 200}, {"keys", 200}}, .scalars = {{"scale", 0.125}}},
      .kernel = backward ? "sigmoid_backward" : "sigmoid_forward",
      .checked = {{"batch", 1}, {"heads", 2}, {"queries", 70}, {"keys", 90}},
      .reference = backward ? sigmoid.backwardReference() : sigmoid.forwardReference()};
}

/// Tunes, and makes the plan that a host would make. The second run of this program measures nothing.
void tuneAndPlan(const PlanTask &task, Compiler &compiler) {
  const TuningDevice machine = valueOf(tuningDevice("cpu", compiler));
  const TuningStore store;
  const Tuning tuning = valueOf(tuneOnce(task, machine, compiler, store, {.budget_seconds = 10, .max_candidates = 5}));
  std::fputs(toTable(tuning).c_str(), stdout);

  KernelCache cache(compiler, valueOf(cpuDevice()));
  const TunedConfigurations tuned = store.configurations(machine);
  const Plan plan = valueOf(Plan::make(task.plan, cache, {.expected = task.inputs.sizes, .tuned = &tuned}));
  std::printf("the plan has %s\n", toString(plan.configuration(task.kernel)).c_str());
}

/// Runs an H100's code under some orders of lanes, at small sizes.
void exploreOnSimt(PlanTask task, Compiler &compiler) {
  task.inputs.sizes = {{"batch", 1}, {"heads", 1}, {"queries", 70}, {"keys", 80}};
  const auto device = valueOf(simtDevice({.arch = "sm_90a"}));
  const PlanExploration found = valueOf(explore(task, {}, compiler, device, {.schedules = 2}));
  std::printf("simt: %zu findings; largest error %.1e\n", found.findings.size(), largestError(found.errors));
  require(verdict(found));
  require(verdict(found.errors, usualTolerance(task.plan)));

  const PlanOptions small{.configurations = {{task.kernel, {.tunables = {{"block_m", 32}, {"block_n", 32}}}}}};
  const auto differences = valueOf(compare(task, {}, small, compiler, device));
  std::printf("simt: two configurations differ by %.1e\n\n", largestError(differences));
  require(verdict(differences, usualTolerance(task.plan)));
}

} // namespace

int main() {
  const std::unique_ptr<Compiler> worker = makeWorkerCompiler();
  ArtifactCache kernels;
  const std::unique_ptr<Compiler> compiler = makeCachingCompiler(*worker, kernels); // For interrupted searches.
  for (const bool causal : {false, true})
    for (const bool backward : {false, true}) {
      const PlanTask task = taskOf({.causal = causal}, backward);
      tuneAndPlan(task, *compiler);
      exploreOnSimt(task, *worker); // Findings name lines of source, which the key of a kept kernel leaves out.
    }
}
