// SPDX-License-Identifier: MIT
#include "tegula/tune_once.h"

#include "plan_subject.h"
#include "tegula/guard.h"

#include <utility>

namespace tegula {
namespace {

/// Saves a result, and notes what became of it.
template <class Result> void keep(const TuningStore &store, Result &result) {
  const Expected<bool> saved = store.save(result);
  result.store_error = saved.status();
  result.outranked = saved && !*saved;
}

/// Returns what the store has for a task, unless the caller stopped that search.
template <class Find> auto complete(Find find) -> decltype(find()) {
  auto known = find();
  return known && known->complete ? std::move(known) : std::nullopt;
}

/// Calls `tune` unless `find` returns a result, and `keep` for what it finds.
template <class Find, class Tune, class Keep>
auto findOrTune(const TuningDevice &machine, const TuningStore &store, const TuningOptions &options,
                const StoreOptions &stored, Find find, Tune tune, Keep keep) -> decltype(tune()) {
  // No stored result answers a question about all candidates, or about these.
  const bool again = stored.again || options.exhaustive || !options.given.empty();
  if (!again)
    if (auto known = complete(find))
      return std::move(*known);
  const bool isKept = options.given.empty();
  if (const Status status = isKept ? store.checkWritable() : Status(); !status.ok() && stored.not_writable)
    stored.not_writable(status);
  const std::shared_ptr<void> lock = store.lock(machine, stored.patience, options.stopped);
  if (!again)
    if (auto known = complete(find)) // Another process has measured it.
      return std::move(*known);
  auto result = tune();
  if (result && result->best && isKept)
    keep(*result);
  return result;
}

/// Returns the part of a result that is about the program of the winner, as a search of this program alone would.
Expected<PlanTuning> ofWinner(const PlanTuning &tuning, const KernelSpec &kernel) {
  const ProgramIdentity &program = *tuning.programOf(*tuning.winner());
  const KernelSpec alone = kernel.only(program.value);
  Expected<std::string> kernel_class = tuningClass(alone);
  if (!kernel_class)
    return kernel_class.status();
  PlanTuning result{{.machine = tuning.machine, .complete = tuning.complete, .seconds = tuning.seconds},
                    alone.name(),
                    std::move(*kernel_class),
                    tuning.sizes};
  for (const Candidate &candidate : tuning.candidates) {
    if (tuning.programOf(candidate) != &program)
      continue;
    if (&candidate == tuning.winner())
      result.best = result.candidates.size();
    result.candidates.push_back(candidate);
    result.candidates.back().tunables.clear();
  }
  return result;
}

void keepPlan(const TuningStore &store, const KernelSpec &kernel, PlanTuning &tuning) {
  keep(store, tuning);
  if (tuning.programs.empty() || !tuning.store_error.ok() || tuning.outranked)
    return;
  const Expected<PlanTuning> alone = ofWinner(tuning, kernel);
  tuning.store_error = alone ? store.save(*alone).status() : alone.status();
}

} // namespace

Expected<Tuning> tuneOnce(const TuningTask &task, const TuningDevice &machine, Compiler &compiler,
                          const TuningStore &store, const TuningOptions &options, const StoreOptions &stored) {
  return guarded([&] {
    return findOrTune(
        machine, store, options, stored, [&] { return store.find(task, machine); },
        [&] { return tune(task, machine, compiler, options); }, [&](Tuning &tuning) { keep(store, tuning); });
  });
}

Expected<PlanTuning> tuneOnce(const PlanTask &task, const TuningDevice &machine, Compiler &compiler,
                              const TuningStore &store, const TuningOptions &options, const StoreOptions &stored) {
  return guarded([&]() -> Expected<PlanTuning> {
    TEGULA_RETURN_IF_ERROR(task.plan.check());
    const KernelSpec *kernel = tuning::tunedKernel(task);
    const Expected<std::string> kernel_class = kernel ? tuningClass(*kernel) : Expected<std::string>(std::string());
    const auto find = [&]() -> std::optional<PlanTuning> {
      if (kernel == nullptr || !kernel_class)
        return std::nullopt;
      std::optional<PlanTuning> known = store.find(kernel->name(), *kernel_class, task.inputs.sizes, machine);
      if (known)
        known->programs = tuning::programsOf(*kernel); // Their files may have other names today.
      return known;
    };
    return findOrTune(
        machine, store, options, stored, find, [&] { return tune(task, machine, compiler, options); },
        [&](PlanTuning &tuning) { keepPlan(store, *kernel, tuning); });
  });
}

} // namespace tegula
