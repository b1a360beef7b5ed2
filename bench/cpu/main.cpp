// SPDX-License-Identifier: MIT
// tegula-bench-cpu: how fast attention is on this machine's cores, beside the matrix product that it is made of.
#include "bench.h"
#include "compiler/client/InProcessCompiler.h"
#include "tegula/cpu_info.h"

#include <cstdio>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

using namespace tegula;
using namespace tegula::bench;

namespace {

struct Options {
  int gemm_size = 2048;
  int64_t headline_seqlen = 2048;
  int64_t memory_seqlen = 4096;
  int64_t max_seqlen = 16384;
  bool json = false;
};

constexpr int64_t kMinSeqlen = 512;
constexpr int kHeadDims[] = {64, 128};

Status measureGrid(const Machine &machine, const Options &options, Report &report) {
  for (int head_dim : kHeadDims)
    for (int64_t seqlen = kMinSeqlen; seqlen <= options.max_seqlen; seqlen *= 2) {
      Expected<Throughput> row = attentionThroughput(machine, seqlen, head_dim, /*backward=*/true);
      if (!row)
        return row.status();
      report.grid.push_back(*row);
    }
  return {};
}

Status measureMemory(const Machine &machine, const Options &options, Report &report) {
  for (Algorithm algorithm : {Algorithm::flash2, Algorithm::standard}) {
    Expected<ExtraMemory> row = extraMemory(machine, algorithm, options.memory_seqlen);
    if (!row)
      return row.status();
    report.memory.push_back(*row);
  }
  return {};
}

Expected<Report> measure(const Options &options) {
  Expected<std::shared_ptr<Device>> device = cpuDevice();
  if (!device)
    return device.status();
  Machine machine{*device, makeInProcessCompiler(), nullptr};
  machine.cache = std::make_unique<KernelCache>(*machine.compiler, machine.device);

  Report report;
  report.device = cpuDescription();
  // Memory first: what later parts leave with the allocator would hide it.
  TEGULA_RETURN_IF_ERROR(measureMemory(machine, options, report));
  report.gemm_size = options.gemm_size;
  report.sgemm_gflops = sgemmGflops(options.gemm_size);
  Expected<Throughput> headline = attentionThroughput(machine, options.headline_seqlen, 64, /*backward=*/false);
  if (!headline)
    return headline.status();
  report.headline = *headline;
  TEGULA_RETURN_IF_ERROR(measureGrid(machine, options, report));
  return report;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Attention on this machine's cores beside OpenBLAS: speed, memory. Takes minutes.");
  app.add_option("--max-seqlen", options.max_seqlen, "Longest sequence of the grid; below 512 there is none (16384)");
  app.add_option("--gemm-size", options.gemm_size, "Rows and columns of the matrix product (2048)");
  app.add_option("--headline-seqlen", options.headline_seqlen, "Sequence compared with the matrix product (2048)");
  app.add_option("--memory-seqlen", options.memory_seqlen, "Sequence whose memory is measured (4096)");
  app.add_flag("--json", options.json, "Print one JSON object");
  CLI11_PARSE(app, argc, argv);

  Expected<Report> report = measure(options);
  if (!report) {
    fmt::print(stderr, "tegula-bench-cpu: {}\n", report.status().message());
    return 1;
  }
  fmt::print("{}", options.json ? toJson(*report) : toTable(*report));
}
