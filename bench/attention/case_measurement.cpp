// SPDX-License-Identifier: MIT
#include "bench/attention/case_measurement.h"

#include "bench/attention/traffic.h"
#include "tegula/attention_words.h"
#include "workload/gpu_monitor.h"
#include "workload/timing.h"

#include <algorithm>
#include <cmath>

namespace tegula::bench {

using tools::AttentionCase;
using tools::AttentionRun;

namespace {

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
  row.failed = why.code() != ErrorCode::resource_exhausted;
  return row;
}

} // namespace

void forEachCase(const ProblemSet &grid, int64_t tokens, const std::vector<int64_t> &seqlens,
                 const std::function<void(const AttentionCase &)> &visit) {
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

CaseMeasurement::CaseMeasurement(const Machine &machine, const AttentionCase &attention, double seconds)
    : attention_(attention), seconds_(seconds),
      run_(AttentionRun::make(attention, machine.device, machine.cache, machine.tuned)) {}

Row CaseMeasurement::forward(double flops) {
  return measured("forward", [&] { return run_->forward(); }, flops, forwardTraffic);
}

Row CaseMeasurement::backward(double flops) {
  if (Status status = run_ ? run_->forward() : Status(); !status.ok())
    return withoutFigures(rowFor(attention_, "backward"), status);
  return measured("backward", [&] { return run_->backward(); }, flops, backwardTraffic);
}

Row CaseMeasurement::measured(const char *pass, const std::function<Status()> &work, double flops,
                              double (*traffic)(const AttentionCase &, const AttentionPlan &)) const {
  Row row = rowFor(attention_, pass);
  if (!run_)
    return withoutFigures(row, run_.status());
  tools::GpuMonitor monitor(run_->device().target());
  Expected<double> ms = tools::medianMs(run_->device(), work, 1e3 * seconds_);
  tools::GpuMonitor::Average average = monitor.stop();
  if (!ms)
    return withoutFigures(row, ms.status());
  row.ms = *ms;
  row.tflops = tools::teraflops(flops, *ms);
  row.gigabytes = 1e-9 * traffic(attention_, run_->plan());
  row.clock_mhz = average.clock_mhz;
  row.watts = average.watts;
  return row;
}

} // namespace tegula::bench
