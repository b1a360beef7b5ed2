// SPDX-License-Identifier: MIT
#include "bench_command.h"
#include "bench/attention/ladder.h"
#include "bench/attention/variants.h"
#include "compiler.h"
#include "files.h"
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

/// Appends the rows and machine limits of one file of --add.
Status addOthers(const std::string &file, Report &report) {
  Expected<std::string> text = readFile("--add", file);
  if (!text)
    return text.status();
  Expected<Report> others = bench::parseReport(*text);
  if (!others)
    return {ErrorCode::invalid_argument,
            fmt::format("--add: '{}' is no benchmark: {}", file, others.status().message())};
  report.limits.insert(report.limits.end(), others->limits.begin(), others->limits.end());
  report.rows.insert(report.rows.end(), others->rows.begin(), others->rows.end());
  return {};
}

Expected<Report> measure(const BenchOptions &options) {
  Expected<std::shared_ptr<Device>> device = openDevice(options.target);
  if (!device)
    return device.status();
  std::unique_ptr<Compiler> compiler = makeCompiler();
  KernelCache cache(*compiler, *device, {.artifacts = openKernels((*device)->target(), options.no_cache)});
  TunedSchedules tuned = tunedSchedules(options.target, options.untuned);
  bench::Machine machine{*device, cache, &tuned};
  bench::ProblemSet grid = problemGrid(options, (*device)->target().name);

  Progress progress;
  const bool isPlain = options.variants.empty() && !options.ladder;
  if (!options.no_check && isPlain) {
    progress.show("checking");
    TEGULA_RETURN_IF_ERROR(bench::checkGrid(machine, grid));
  }
  Report report{.device = describe(**device),
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

/// Returns the error of the first problem that failed, unless it was only too large.
Status failureOf(const Report &report) {
  auto failed = std::find_if(report.rows.begin(), report.rows.end(), [](const bench::Row &row) { return row.failed; });
  if (failed == report.rows.end())
    return {};
  return {ErrorCode::internal,
          fmt::format("{} with head dim {} failed: {}", failed->algorithm, failed->head_dim, failed->error)};
}

} // namespace

Status benchCommand(const BenchOptions &options) {
  if (!options.program.files.empty())
    return benchProgram(options);
  Expected<Report> report = measure(options);
  if (!report)
    return report.status();
  Status failure = failureOf(*report);
  for (const std::string &file : options.add)
    TEGULA_RETURN_IF_ERROR(addOthers(file, *report));
  if (!options.json.empty())
    TEGULA_RETURN_IF_ERROR(writeFile("--json", options.json, toJson(*report)));
  if (!options.svg.empty())
    TEGULA_RETURN_IF_ERROR(writeFile("--svg", options.svg, toSvg(*report)));
  TEGULA_RETURN_IF_ERROR(print(options.ladder ? bench::toMarkdown(*report) : toTable(*report)));
  return failure;
}

} // namespace tegula::tools
