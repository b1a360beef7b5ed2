// SPDX-License-Identifier: MIT
#include "tune_command.h"
#include "program_commands.h"
#include "tuning_setup.h"

#include <cstdio>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

Expected<Tuning> tuneAttention(const TuneOptions &options) {
  InterruptFlag flag;
  Expected<AttentionCase> attention = attentionCase(options.attention);
  if (!attention)
    return attention.status();
  TuningTask task{attention->problem, attention->shape,
                  attention->problem.backward ? "flash2_backward" : "flash2_forward", attention->diagonal_offset,
                  attention->blocks};
  Expected<TuningSetup> setup = makeTuningSetup(options.attention.target, options.attention.no_cache);
  if (!setup)
    return setup.status();
  Progress progress;
  return tuneOnce(task, setup->machine, *setup->compiler, TuningStore(), tuningOptions(options, progress),
                  storeOptions(options));
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
  watch(tuning, progress);
  return tuning;
}

StoreOptions storeOptions(const TuneOptions &options) {
  return {.again = options.again, .not_writable = [](const Status &why) {
            fmt::print(stderr, "tegula: warning: the result will be shown, but not kept: {}\n", why.message());
          }};
}

void watch(TuningOptions &options, Progress &progress) {
  options.progress = [&](const TuningProgress &step) {
    if (step.timed > 0)
      InterruptFlag::keepResults();
    progress.show(step.activity, step.fraction);
  };
  options.stopped = InterruptFlag::isSet;
}

Outcome tuneCommand(const TuneOptions &options) {
  TEGULA_RETURN_IF_ERROR(options.files.check());
  return options.program.files.empty() ? report(tuneAttention(options), options.files) : tuneProgram(options);
}

} // namespace tegula::tools
