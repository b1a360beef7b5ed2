// SPDX-License-Identifier: MIT
#include "decode_command.h"
#include "bench/attention/limits.h"
#include "decode_report.h"
#include "files.h"
#include "kernel_device.h"
#include "progress.h"
#include "workload/decode_run.h"
#include "workload/open_device.h"
#include "workload/timing.h"

#include <utility>

namespace tegula::tools {
namespace {

/// Measures the problem and the copy.
Status measure(const DecodeRun &run, DecodeReport &report, Progress &progress) {
  progress.show("running");
  Expected<double> ms = medianMs(run.device(), [&] { return run.run(); });
  if (!ms)
    return ms.status();
  report.ms = *ms;
  progress.show("copying");
  Expected<double> copy = bench::copySpeed(run.device());
  if (!copy)
    return copy.status();
  report.copy_gb_per_s = *copy;
  return {};
}

/// Does the work of --check and --repeat.
Status inspect(const DecodeRun &run, const DecodeOptions &options, DecodeReport &report, Progress &progress) {
  if (options.check) {
    progress.show("computing the double-precision reference");
    Expected<std::vector<CheckedRun>> sequences = run.sequences();
    if (!sequences)
      return sequences.status();
    report.errors = checkAttention(*sequences);
  }
  if (options.repeat == 0)
    return {};
  progress.show("comparing reruns");
  Expected<Reruns> reruns = run.rerun(options.repeat);
  if (!reruns)
    return reruns.status();
  report.reruns = std::move(*reruns);
  return {};
}

Expected<DecodeReport> runDecode(const DecodeOptions &options) {
  Expected<DecodeCase> decode = decodeCase(options);
  if (!decode)
    return decode.status();
  Expected<KernelDevice> opened = openKernelDevice(options.target, options.no_cache, options.check_finite);
  if (!opened)
    return opened.status();
  Progress progress;
  progress.show("compiling");
  Expected<DecodeRun> run = DecodeRun::make(*decode, opened->device, *opened->kernels);
  if (!run)
    return run.status();
  DecodeReport report;
  report.decode = std::move(*decode);
  report.target = opened->device->target().name;
  report.device = describe(*opened->device);
  report.schedule = run->schedule();
  report.compile_ms = run->compileMs();
  report.compilations = opened->artifacts->counters().compilations;
  report.cached = opened->artifacts->counters().hits;
  if (options.check)
    TEGULA_RETURN_IF_ERROR(run->spoilUnused());
  TEGULA_RETURN_IF_ERROR(measure(*run, report, progress));
  TEGULA_RETURN_IF_ERROR(inspect(*run, options, report, progress));
  return report;
}

} // namespace

Outcome decodeCommand(const DecodeOptions &options) {
  Expected<DecodeReport> report = runDecode(options);
  if (!report)
    return report.status();
  TEGULA_RETURN_IF_ERROR(print(options.json ? toJson(*report) : toTable(*report)));
  if (report->reruns)
    TEGULA_RETURN_IF_ERROR(verdict(*report->reruns));
  return report->errors ? verdict(*report->errors) : Status();
}

} // namespace tegula::tools
