// SPDX-License-Identifier: MIT
#include "bench/attention/measure.h"

#include "bench/attention/gpu_monitor.h"
#include "bench/attention/traffic.h"
#include "tegula/attention_words.h"
#include "workload/attention_check.h"
#include "workload/attention_run.h"
#include "workload/timing.h"

#include <cmath>

#include <fmt/format.h>

namespace tegula::bench {
namespace {

using tools::AttentionCase;
using tools::AttentionRun;

/// Calls visit(case) for every problem, with its batch and heads from `tokens` and `hidden`.
template <class Visit>
void forEachCase(const ProblemGrid &grid, int64_t tokens, const std::vector<int64_t> &seqlens, Visit visit) {
  for (int64_t head_dim : grid.head_dims)
    for (Causal causal : grid.causals)
      for (int64_t seqlen : seqlens)
        for (Algorithm algorithm : grid.algorithms) {
          int64_t heads = std::max<int64_t>(1, grid.hidden / head_dim);
          AttentionCase attention{.problem = {.dtype = grid.dtype,
                                              .algorithm = algorithm,
                                              .head_dim = int(head_dim),
                                              .value_dim = int(head_dim),
                                              .causal = causal,
                                              .backward = grid.backward && algorithm == Algorithm::flash2},
                                  .shape = {.batch = std::max<int64_t>(1, tokens / seqlen),
                                            .heads = heads,
                                            .kv_heads = heads,
                                            .seqlen_q = seqlen,
                                            .seqlen_k = seqlen},
                                  .scale = float(1 / std::sqrt(double(head_dim))),
                                  .schedule = grid.schedule};
          attention.problem.expected = attention.shape;
          visit(attention);
        }
}

std::string nameOf(const AttentionCase &attention) {
  return fmt::format("{} D={} causal={} N={}", toString(attention.problem.algorithm), attention.problem.head_dim,
                     toString(attention.problem.causal), attention.shape.seqlen_q);
}

Status checkCase(const Machine &machine, AttentionCase attention) {
  attention.shape.heads = attention.shape.kv_heads = 2;
  Expected<AttentionRun> run = AttentionRun::make(attention, machine.device, machine.cache, machine.tuned);
  if (!run)
    return run.status();
  TEGULA_RETURN_IF_ERROR(run->forward());
  if (attention.problem.backward)
    TEGULA_RETURN_IF_ERROR(run->backward());
  Expected<tools::AttentionArrays> arrays = readArrays(run->data(), attention.problem.backward);
  return arrays ? verdict(checkAttention(attention, *arrays)) : arrays.status();
}

Row rowFor(const AttentionCase &attention, const char *pass) {
  return {.pass = pass,
          .algorithm = std::string(toString(attention.problem.algorithm)),
          .head_dim = attention.problem.head_dim,
          .causal = std::string(toString(attention.problem.causal)),
          .batch = attention.shape.batch,
          .heads = attention.shape.heads,
          .seqlen = attention.shape.seqlen_q};
}

Row withoutFigures(Row row, const Status &why) {
  row.error = why.message();
  row.failed = why.code() != ErrorCode::ResourceExhausted;
  return row;
}

/// Both passes of one problem.
class CaseMeasurement {
public:
  CaseMeasurement(const Machine &machine, const ProblemGrid &grid, const AttentionCase &attention)
      : grid_(grid), attention_(attention),
        run_(AttentionRun::make(attention, machine.device, machine.cache, machine.tuned)) {}

  std::vector<Row> rows() {
    std::vector<Row> rows;
    if (grid_.forward)
      rows.push_back(row(
          "forward", [&] { return run_->forward(); }, forwardFlops(attention_),
          [&] { return forwardTraffic(attention_, run_->plan()); }));
    else if (run_)
      prepared_ = run_->forward(); // The backward pass reads what it wrote.
    if (attention_.problem.backward)
      rows.push_back(row(
          "backward", [&] { return run_->backward(); }, backwardFlops(attention_),
          [&] { return backwardTraffic(attention_, run_->plan()); }));
    return rows;
  }

private:
  template <class Work, class Traffic> Row row(const char *pass, Work work, double flops, Traffic traffic) {
    Row row = rowFor(attention_, pass);
    if (Status status = run_ ? prepared_ : run_.status(); !status.ok())
      return withoutFigures(row, status);
    GpuMonitor monitor(run_->device());
    Expected<double> ms = tools::medianMs(run_->device(), work, 1e3 * grid_.seconds);
    GpuMonitor::Average average = monitor.stop();
    if (!ms)
      return withoutFigures(row, ms.status());
    row.ms = *ms;
    row.tflops = tools::teraflops(flops, *ms);
    row.gigabytes = 1e-9 * traffic();
    row.clock_mhz = average.clock_mhz;
    row.watts = average.watts;
    return row;
  }

  const ProblemGrid &grid_;
  const AttentionCase &attention_;
  Expected<AttentionRun> run_;
  Status prepared_;
};

} // namespace

Status checkGrid(const Machine &machine, const ProblemGrid &grid) {
  Status first;
  constexpr int64_t small = 200; // Is no multiple of a block.
  forEachCase(grid, small, {small}, [&](const AttentionCase &attention) {
    Status status = first.ok() ? checkCase(machine, attention) : Status();
    if (!status.ok())
      first = Status(status.code(), nameOf(attention) + ": " + status.message());
  });
  return first;
}

std::vector<Row> measureGrid(const Machine &machine, const ProblemGrid &grid,
                             const std::function<void(const std::string &)> &progress) {
  std::vector<Row> rows;
  forEachCase(grid, grid.tokens, grid.seqlens, [&](const AttentionCase &attention) {
    progress(nameOf(attention));
    for (Row &row : CaseMeasurement(machine, grid, attention).rows())
      rows.push_back(std::move(row));
  });
  return rows;
}

} // namespace tegula::bench
