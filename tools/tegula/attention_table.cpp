// SPDX-License-Identifier: MIT
#include "attention_report.h"
#include "check_report.h"
#include "exploration_table.h"
#include "lengths.h"
#include "tegula/attention_words.h"
#include "workload/timing.h"

#include <fmt/format.h>

namespace tegula::tools {
namespace {

std::string sizesOf(const AttentionCase &attention) {
  const AttentionShape &shape = attention.shape;
  const std::string heads = shape.kv_heads == shape.heads ? fmt::format("{} heads", shape.heads)
                                                          : fmt::format("{} heads on {}", shape.heads, shape.kv_heads);
  if (attention.packed)
    return fmt::format("{}, {}, {}", heads, inWords(lengthsOf(attention.packed->offsets_q), "queries"),
                       inWords(lengthsOf(attention.packed->offsets_k), "keys"));
  return fmt::format("batch {}, {}, {} queries, {} keys", shape.batch, heads, shape.seqlen_q, shape.seqlen_k);
}

std::string heading(const AttentionReport &report) {
  const AttentionProblem &problem = report.attention.problem;
  const RowGaps &gaps = report.attention.row_gaps;
  std::string dims = problem.value_dim == problem.head_dim
                         ? fmt::format("head dim {}", problem.head_dim)
                         : fmt::format("head dim {}, value dim {}", problem.head_dim, problem.value_dim);
  if (gaps.q + gaps.k + gaps.v + gaps.o > 0)
    dims += fmt::format(", gaps between rows {}, {}, {}, {}", gaps.q, gaps.k, gaps.v, gaps.o);
  const std::string variant = report.attention.variant ? fmt::format(", {}", report.attention.variant->name) : "";
  std::string options = problem.deterministic ? ", deterministic" : "";
  if (problem.block_mask.exists())
    options += fmt::format(", block mask {}", toString(problem.block_mask.source));
  if (problem.diagonal_offset)
    options += fmt::format(", diagonal offset {}", report.attention.diagonal_offset);
  if (problem.dropout_p != 0)
    options += fmt::format(", dropout {}", problem.dropout_p);
  if (problem.sinks)
    options += ", sinks";
  if (problem.page_size != 0)
    options += fmt::format(", pages of {} keys", problem.page_size);
  return fmt::format("Attention ({}, {}, causal: {}{}{}) on {}: {}\n"
                     "{}, {}\n",
                     toString(problem.algorithm), toString(problem.dtype), toString(causalOf(report.attention)),
                     variant, options, report.target, report.device, sizesOf(report.attention), dims);
}

std::string timeLine(const char *what, double ms, double flops, const Schedule &schedule) {
  return fmt::format("  {:<9} {:>10.3f} ms {:>9.4f} TFLOP/s  {}\n", what, ms, teraflops(flops, ms), toString(schedule));
}

} // namespace

std::string toTable(const AttentionReport &report) {
  std::string text = heading(report);
  text += fmt::format("\n  {:<9} {:>10.3f} ms, kernels: {} compiled, {} from the cache\n", "compile", report.compile_ms,
                      report.compilations, report.cached);
  text += timeLine("forward", report.forward_ms, forwardFlops(report.attention), report.forward_schedule);
  if (report.backward_ms)
    text += timeLine("backward", *report.backward_ms, backwardFlops(report.attention), report.backward_schedule);
  if (report.exploration)
    text += toTable(*report.exploration);
  if (report.reruns)
    text += toTable(*report.reruns);
  return report.errors ? text + toTable(*report.errors) : text;
}

} // namespace tegula::tools
