// SPDX-License-Identifier: MIT
#include "tune_command.h"
#include "compiler.h"
#include "files.h"
#include "progress.h"
#include "tegula/cpu_info.h"
#include "tegula/cuda_device.h"
#include "tegula/tuning_store.h"
#include "workload/open_device.h"

#include <csignal>

namespace tegula::tools {
namespace {

/// The longest wait for another process that tunes on the same machine.
constexpr std::chrono::minutes kPatience{10};

volatile std::sig_atomic_t interrupted = 0;

/// A scope in which Ctrl-C sets a flag. The second Ctrl-C ends the program.
class InterruptFlag {
public:
  InterruptFlag() {
    struct sigaction action = {};
    action.sa_handler = [](int) { interrupted = 1; };
    action.sa_flags = int(SA_RESETHAND);
    sigaction(SIGINT, &action, &before_);
  }
  ~InterruptFlag() { sigaction(SIGINT, &before_, nullptr); }
  InterruptFlag(const InterruptFlag &) = delete;
  InterruptFlag &operator=(const InterruptFlag &) = delete;

private:
  struct sigaction before_ = {};
};

Expected<Tuning> measure(const TuneOptions &options, const TuningTask &task, const TuningDevice &machine,
                         Compiler &compiler) {
  Progress progress;
  InterruptFlag flag;
  TuningOptions tuning{
      .budget_seconds = options.budget, .seed = options.attention.seed, .exhaustive = options.exhaustive};
  if (options.candidates)
    tuning.max_candidates = *options.candidates;
  tuning.schedules = options.schedules;
  tuning.rounds = options.rounds;
  tuning.window_seconds = options.seconds;
  tuning.progress = [&](const TuningProgress &step) { progress.show(step.activity, step.fraction); };
  tuning.stopped = [] { return interrupted != 0; };
  return tune(task, machine, compiler, tuning);
}

std::optional<Tuning> findKnown(const TuneOptions &options, const TuningStore &store, const TuningTask &task,
                                const TuningDevice &machine) {
  if (options.again || options.exhaustive || !options.schedules.empty())
    return std::nullopt;
  std::optional<Tuning> known = store.find(task, machine);
  return known && known->complete ? std::move(known) : std::nullopt;
}

/// Returns the result of Device::driver for the target. Does not open the device, because `tegula-measure` has the only
/// context on a GPU.
std::string driverOf(const Target &target) {
  if (target.name != "cuda")
    return "";
  Expected<std::vector<CudaDeviceInfo>> gpus = cudaDevices();
  return gpus && !gpus->empty() ? std::to_string(gpus->front().driver_version) : "";
}

Expected<Tuning> findOrMeasure(const TuneOptions &options) {
  Expected<AttentionCase> attention = attentionCase(options.attention);
  if (!attention)
    return attention.status();
  TuningTask task{attention->problem, attention->shape,
                  attention->problem.backward ? "flash2_backward" : "flash2_forward"};
  std::unique_ptr<Compiler> worker = makeCompiler(usableCores());
  Expected<TuningDevice> machine = tuningDevice(resolveTarget(options.attention.target), *worker);
  if (!machine)
    return machine.status();
  const std::shared_ptr<ArtifactCache> kernels = openKernels(machine->target, options.attention.no_cache);
  std::unique_ptr<Compiler> compiler = makeCachingCompiler(*worker, *kernels, driverOf(machine->target));
  TuningStore store;
  if (std::optional<Tuning> known = findKnown(options, store, task, *machine))
    return std::move(*known);
  std::shared_ptr<void> lock = store.lock(*machine, kPatience);
  if (std::optional<Tuning> known = findKnown(options, store, task, *machine)) // The owner of the lock has measured it.
    return std::move(*known);
  Expected<Tuning> tuning = measure(options, task, *machine, *compiler);
  if (tuning && !tuning->given) // Others were not looked for.
    TEGULA_RETURN_IF_ERROR(store.save(*tuning));
  return tuning;
}

} // namespace

Status tuneCommand(const TuneOptions &options) {
  Expected<Tuning> tuning = findOrMeasure(options);
  if (!tuning)
    return tuning.status();
  if (!options.json.empty())
    TEGULA_RETURN_IF_ERROR(writeFile("--json", options.json, toJson(*tuning)));
  if (!options.svg.empty())
    TEGULA_RETURN_IF_ERROR(writeFile("--svg", options.svg, toSvg(*tuning)));
  TEGULA_RETURN_IF_ERROR(print(toTable(*tuning)));
  return tuning->best ? Status() : Status(ErrorCode::internal, "no schedule was timed");
}

} // namespace tegula::tools
