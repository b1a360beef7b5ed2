// SPDX-License-Identifier: MIT
#include "tune_command.h"
#include "tegula/tune_once.h"
#include "tuning_setup.h"

#include <cstdio>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

Expected<TuningTask> attentionTask(const AttentionOptions &options) {
  Expected<AttentionCase> attention = attentionCase(options);
  if (!attention)
    return attention.status();
  return TuningTask{attention->problem, attention->shape,
                    attention->problem.backward ? "flash2_backward" : "flash2_forward", attention->diagonal_offset,
                    attention->blocks};
}

Expected<PlanTask> programTask(const TuneOptions &options, Compiler &compiler) {
  ProgramOptions program = options.program;
  program.seed = options.attention.seed;
  return planTask(program, {}, compiler);
}

TuningOptions tuningOptions(const TuneOptions &options, Progress &progress) {
  TuningOptions tuning{
      .budget_seconds = options.budget, .seed = options.attention.seed, .exhaustive = options.exhaustive};
  if (options.candidates)
    tuning.max_candidates = *options.candidates;
  for (const Schedule &schedule : options.schedules)
    tuning.given.push_back({.schedule = schedule});
  tuning.rounds = options.rounds;
  tuning.window_seconds = options.seconds;
  watch(tuning, progress);
  return tuning;
}

/// Returns how results are kept. A result that cannot be is announced on stderr before it is measured.
StoreOptions storeOptions(const TuneOptions &options) {
  return {.again = options.again, .not_writable = [](const Status &why) {
            fmt::print(stderr, "tegula: warning: the result will be shown, but not kept: {}\n", why.message());
          }};
}

/// Tunes the task that `make` returns for a compiler.
template <class Make> Expected<Tuning> tuned(const TuneOptions &options, Make make) {
  InterruptFlag flag;
  Expected<TuningSetup> setup = makeTuningSetup(options.attention.target, options.attention.no_cache);
  if (!setup)
    return setup.status();
  const auto task = make(*setup->compiler);
  if (!task)
    return task.status();
  Progress progress;
  return tuneOnce(*task, setup->machine, *setup->compiler, TuningStore(), tuningOptions(options, progress),
                  storeOptions(options));
}

} // namespace

void watch(TuningOptions &options, Progress &progress) {
  options.progress = [&](const TuningProgress &step) {
    if (step.timed > 0)
      InterruptFlag::keepResults();
    progress.show(step.activity, step.fraction);
  };
  options.stopped = InterruptFlag::isSet;
}

Outcome report(const Expected<Tuning> &tuning, const ReportFiles &files) {
  if (!tuning)
    return tuning.status();
  Outcome outcome = tuning->best ? Status() : Status(ErrorCode::internal, "no schedule was timed");
  outcome.add(print(toTable(*tuning)));
  files.write(outcome, toJson(*tuning), toHtml(*tuning));
  outcome.add(tuning->store_error);
  return outcome;
}

Outcome tuneCommand(const TuneOptions &options) {
  TEGULA_RETURN_IF_ERROR(options.files.check());
  if (!options.program.files.empty())
    return report(tuned(options, [&](Compiler &compiler) { return programTask(options, compiler); }), options.files);
  const Expected<TuningTask> task = attentionTask(options.attention);
  return task ? report(tuned(options, [&](Compiler &) { return task; }), options.files) : task.status();
}

} // namespace tegula::tools
