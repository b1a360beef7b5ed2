// SPDX-License-Identifier: MIT
#include "tune_command.h"
#include "files.h"
#include "program_commands.h"
#include "tegula/tuning_store.h"
#include "tuning_setup.h"

#include <utility>

namespace tegula::tools {
namespace {

/// The longest wait for another process that tunes on the same machine.
constexpr std::chrono::minutes kPatience{10};

std::optional<Tuning> findKnown(const TuneOptions &options, const TuningStore &store, const TuningTask &task,
                                const TuningDevice &machine) {
  if (options.again || options.exhaustive || !options.schedules.empty())
    return std::nullopt;
  std::optional<Tuning> known = store.find(task, machine);
  return known && known->complete ? std::move(known) : std::nullopt;
}

Expected<Tuning> findOrMeasure(const TuneOptions &options) {
  Expected<AttentionCase> attention = attentionCase(options.attention);
  if (!attention)
    return attention.status();
  TuningTask task{attention->problem, attention->shape,
                  attention->problem.backward ? "flash2_backward" : "flash2_forward"};
  Expected<TuningSetup> setup = makeTuningSetup(options.attention.target, options.attention.no_cache);
  if (!setup)
    return setup.status();
  TuningStore store;
  if (std::optional<Tuning> known = findKnown(options, store, task, setup->machine))
    return std::move(*known);
  std::shared_ptr<void> lock = store.lock(setup->machine, kPatience);
  if (std::optional<Tuning> known = findKnown(options, store, task, setup->machine)) // Another process has measured it.
    return std::move(*known);
  Progress progress;
  InterruptFlag flag;
  Expected<Tuning> tuning = tune(task, setup->machine, *setup->compiler, tuningOptions(options, progress));
  if (tuning && !tuning->given) // Others were not looked for.
    TEGULA_RETURN_IF_ERROR(store.save(*tuning));
  return tuning;
}

} // namespace

TuningOptions tuningOptions(const TuneOptions &options, Progress &progress) {
  TuningOptions tuning{
      .budget_seconds = options.budget, .seed = options.attention.seed, .exhaustive = options.exhaustive};
  if (options.candidates)
    tuning.max_candidates = *options.candidates;
  for (const Schedule &schedule : options.schedules)
    tuning.given.push_back({.schedule = schedule});
  tuning.rounds = options.rounds;
  tuning.window_seconds = options.seconds;
  tuning.progress = [&](const TuningProgress &step) { progress.show(step.activity, step.fraction); };
  tuning.stopped = [] { return InterruptFlag::isSet(); };
  return tuning;
}

Status tuneCommand(const TuneOptions &options) {
  if (!options.program.files.empty())
    return tuneProgram(options);
  Expected<Tuning> tuning = findOrMeasure(options);
  return tuning ? report(*tuning, options.json, options.svg) : tuning.status();
}

} // namespace tegula::tools
