// SPDX-License-Identifier: MIT
#include "bench/attention/ladder.h"

#include "bench/attention/case_measurement.h"
#include "bench/attention/report_groups.h"

#include <fmt/format.h>

namespace tegula::bench {
namespace {

using tools::AttentionCase;

/// One step on the way.
struct Step {
  const char *name;
  Algorithm algorithm = Algorithm::flash2;
  Schedule (*schedule)(int head_dim) = [](int) { return Schedule(); };
};

Schedule ofAllGpus(int head_dim) {
  return {.block_m = 128, .block_n = head_dim <= 64 ? 96 : 64, .num_warps = head_dim <= 128 ? 4 : 8, .num_stages = 2};
}

Schedule withRoles(int block_m, int block_n) {
  return {.block_m = block_m, .block_n = block_n, .num_warps = block_m / 16, .num_stages = 2, .roles = Roles::load};
}

Schedule twoWarpgroups(int) { return withRoles(128, 128); }
Schedule threeWarpgroups(int) { return withRoles(192, 128); }

Schedule groupedHeads(int) {
  Schedule schedule = withRoles(192, 128);
  schedule.heads_in_l2 = 4;
  return schedule;
}

/// Where registers allow it with three warpgroups.
Schedule overlapped(int head_dim) {
  Schedule schedule = withRoles(head_dim <= 64 ? 192 : 128, 128);
  schedule.overlap = Overlap::pingpong;
  schedule.heads_in_l2 = 4;
  return schedule;
}

Schedule staticPersistent(int head_dim) {
  Schedule schedule = overlapped(head_dim);
  schedule.heads_in_l2 = 0;
  schedule.tile_scheduler = TileScheduler::static_persistent;
  return schedule;
}

std::vector<Step> stepsOf(const Target &target, DType dtype) {
  std::vector<Step> steps = {{"standard: S and P in memory", Algorithm::standard},
                             {"FlashAttention-1", Algorithm::flash1}};
  if (target.name == "cpu") {
    steps.push_back({"FlashAttention-2"});
    return steps;
  }
  steps.push_back({"FlashAttention-2: mma.sync, cp.async", Algorithm::flash2, ofAllGpus});
  if (target.arch != "sm_90a" || sizeOf(dtype) != 2)
    return steps;
  for (Step step : {Step{"a producer, TMA, wgmma; rows rescaled late", Algorithm::flash2, twoWarpgroups},
                    Step{"three warpgroups that compute", Algorithm::flash2, threeWarpgroups},
                    Step{"blocks by groups of heads", Algorithm::flash2, groupedHeads},
                    Step{"products that overlap", Algorithm::flash2, overlapped},
                    Step{"products that overlap, static persistent scheduler", Algorithm::flash2, staticPersistent}})
    steps.push_back(step);
  return steps;
}

} // namespace

std::vector<Row> measureLadder(const Machine &machine, const ProblemSet &grid,
                               const std::function<void(const std::string &)> &progress) {
  ProblemSet forward = grid;
  forward.algorithms = {Algorithm::flash2};
  forward.backward = false;
  const std::vector<Step> steps = stepsOf(machine.device->target(), grid.dtype);
  std::vector<Row> rows;
  forEachCase(forward, grid.tokens, grid.seqlens, [&](const AttentionCase &problem) {
    for (const Step &step : steps) {
      AttentionCase attention = problem;
      attention.problem.algorithm = step.algorithm;
      attention.schedule = step.schedule(attention.problem.head_dim);
      progress(fmt::format("{} D={} N={}", step.name, attention.problem.head_dim, attention.shape.seqlen_q));
      rows.push_back(CaseMeasurement(machine, attention, grid.seconds).forward(forwardFlops(attention)));
      rows.back().algorithm = step.name;
    }
  });
  return rows;
}

std::string toMarkdown(const Report &report) {
  std::string text = fmt::format("{}; {}, {} tokens a batch, hidden size {}; forward, TFLOP/s, medians\n",
                                 report.device, report.dtype, report.tokens, report.hidden);
  const std::vector<int64_t> lengths = lengthsOf(report.rows);
  for (const Group &group : distinct(report.rows, groupOf)) {
    text += fmt::format("\n| {} |", titleOf(group));
    std::string rule = "|---|";
    for (int64_t length : lengths) {
      text += fmt::format(" {} |", length);
      rule += "---|";
    }
    text += "\n" + rule + "\n";
    for (const std::string &step : distinct(report.rows, [](const Row &row) { return row.algorithm; })) {
      text += fmt::format("| {} |", step);
      for (int64_t length : lengths) {
        const Row *row = findRow(report.rows, group, step, length);
        text += row && row->error.empty() ? fmt::format(" {:.{}f} |", row->tflops, row->tflops < 10 ? 2 : 0) : " - |";
      }
      text += "\n";
    }
  }
  return text;
}

} // namespace tegula::bench
