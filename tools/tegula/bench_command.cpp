// SPDX-License-Identifier: MIT
#include "bench_command.h"
#include "bench/attention/ladder.h"
#include "bench/attention/serving.h"
#include "bench/attention/variants.h"
#include "files.h"
#include "kernel_device.h"
#include "program_commands.h"
#include "progress.h"
#include "tuned.h"
#include "workload/open_device.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

using bench::Report;

void append(const Report &others, Report &report) {
  report.limits.insert(report.limits.end(), others.limits.begin(), others.limits.end());
  report.rows.insert(report.rows.end(), others.rows.begin(), others.rows.end());
}

/// Returns the rows and machine limits of one file of --add.
Expected<Report> readOthers(const std::string &file) {
  Expected<std::string> text = readFile("--add", file);
  if (!text)
    return text.status();
  Expected<Report> others = bench::parseReport(*text);
  if (!others)
    return Status(ErrorCode::invalid_argument,
                  fmt::format("--add: '{}' is no benchmark: {}", file, others.status().message()));
  return others;
}

/// Returns the limits and rows of all files of --add.
Expected<Report> readOthers(const std::vector<std::string> &files) {
  Report all;
  for (const std::string &file : files) {
    Expected<Report> others = readOthers(file);
    if (!others)
      return others.status();
    append(*others, all);
  }
  return all;
}

Expected<Report> measure(const BenchOptions &options) {
  Expected<KernelDevice> opened = openKernelDevice(options.target, options.no_cache);
  if (!opened)
    return opened.status();
  TunedConfigurations tuned = tunedConfigurations(options.target, options.untuned);
  bench::Machine machine{opened->device, *opened->kernels, &tuned};
  bench::ProblemSet grid = problemGrid(options, opened->device->target().name);

  Progress progress;
  const bool isPlain = options.variants.empty() && !options.ladder;
  if (!options.no_check && isPlain) {
    progress.show("checking");
    TEGULA_RETURN_IF_ERROR(bench::checkGrid(machine, grid));
  }
  Report report{.device = describe(*opened->device),
                .dtype = std::string(toString(grid.dtype)),
                .tokens = grid.tokens,
                .hidden = grid.hidden};
  progress.show("measuring limits");
  report.limits = bench::measureCeilings(machine, grid.dtype);
  auto show = [&](const std::string &problem) { progress.show(problem); };
  report.rows = options.ladder ? bench::measureLadder(machine, grid, show)
                : isPlain      ? bench::measureGrid(machine, grid, show)
                               : bench::measureVariants(machine, grid, options.variants, show);
  return report;
}

/// Runs --decode and --varlen.
Expected<bench::ServingReport> measureServing(const BenchOptions &options) {
  Expected<KernelDevice> opened = openKernelDevice(options.target, options.no_cache);
  if (!opened)
    return opened.status();
  TunedConfigurations tuned = tunedConfigurations(options.target, options.untuned);
  bench::Machine machine{opened->device, *opened->kernels, &tuned};
  Progress progress;
  const bench::ServingOptions serving{.dtype = benchDType(options, opened->device->target().name),
                                      .seconds = options.seconds,
                                      .check = !options.no_check};
  Expected<bench::ServingReport> report = (options.decode ? bench::measureDecoding : bench::measureVarlen)(
      machine, serving, [&](const std::string &problem) { progress.show(problem); });
  if (report)
    report->device = describe(*opened->device);
  return report;
}

Outcome benchServing(const BenchOptions &options) {
  Expected<bench::ServingReport> report = measureServing(options);
  if (!report)
    return report.status();
  const auto failed = std::ranges::find_if(report->rows, &bench::ServingRow::failed);
  Outcome outcome =
      failed == report->rows.end()
          ? Status()
          : Status(ErrorCode::internal, fmt::format("{}, {} failed: {}", failed->problem, failed->pass, failed->error));
  outcome.add(print(toTable(*report)));
  options.files.write(outcome, toJson(*report), "");
  return outcome;
}

/// Returns the error of the first problem that failed, unless it was only too large.
Status failureOf(const Report &report) {
  auto failed = std::find_if(report.rows.begin(), report.rows.end(), [](const bench::Row &row) { return row.failed; });
  if (failed == report.rows.end())
    return {};
  return {ErrorCode::internal,
          fmt::format("{} with head dim {} failed: {}", failed->algorithm, failed->head_dim, failed->error)};
}

} // namespace

Outcome benchCommand(const BenchOptions &options) {
  TEGULA_RETURN_IF_ERROR(options.files.check());
  if (!options.program.files.empty())
    return benchProgram(options);
  if (options.decode || options.varlen)
    return benchServing(options);
  const Expected<Report> others = readOthers(options.add);
  if (!others)
    return others.status();
  Expected<Report> report = measure(options);
  if (!report)
    return report.status();
  Outcome outcome = failureOf(*report);
  append(*others, *report);
  outcome.add(print(options.ladder ? bench::toMarkdown(*report) : toTable(*report)));
  options.files.write(outcome, toJson(*report), toHtml(*report));
  return outcome;
}

} // namespace tegula::tools
