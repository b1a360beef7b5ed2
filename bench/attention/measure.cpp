// SPDX-License-Identifier: MIT
#include "bench/attention/measure.h"

#include "bench/attention/case_measurement.h"
#include "tegula/attention_words.h"
#include "workload/attention_check.h"

#include <fmt/format.h>

namespace tegula::bench {
namespace {

using tools::AttentionCase;
using tools::AttentionRun;

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

} // namespace

Status checkGrid(const Machine &machine, const ProblemSet &grid) {
  Status first;
  constexpr int64_t small = 200; // Is no multiple of a block.
  forEachCase(grid, small, {small}, [&](const AttentionCase &attention) {
    Status status = first.ok() ? checkCase(machine, attention) : Status();
    if (!status.ok())
      first = Status(status.code(), nameOf(attention) + ": " + status.message());
  });
  return first;
}

std::vector<Row> measureGrid(const Machine &machine, const ProblemSet &grid,
                             const std::function<void(const std::string &)> &progress) {
  std::vector<Row> rows;
  forEachCase(grid, grid.tokens, grid.seqlens, [&](const AttentionCase &attention) {
    progress(nameOf(attention));
    CaseMeasurement measurement(machine, attention, grid.seconds);
    if (grid.forward)
      rows.push_back(measurement.forward(forwardFlops(attention)));
    if (attention.problem.backward)
      rows.push_back(measurement.backward(backwardFlops(attention)));
  });
  return rows;
}

} // namespace tegula::bench
