// SPDX-License-Identifier: MIT
#include "bench/attention/case_measurement.h"
#include "bench/attention/serving.h"
#include "workload/attention_check.h"
#include "workload/decode_case.h"

#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

namespace tegula::bench {
namespace {

using tools::AttentionCase;
using tools::AttentionRun;
using tools::PackedSequences;

/// Problems of one line: as many tokens as sequences have on average, times their number.
struct Varlen {
  const char *what; ///< Differences from the first line.
  int64_t tokens, mean;
  int64_t heads = 16, kv_heads = 16;
  int head_dim = 128;
  Causal causal = Causal::bottom_right;
  int page_size = 0; ///< The keys of a page, in the forward pass only; 0: no pages.
};

constexpr Varlen kProblems[] = {
    {"", 16384, 1024},
    {", full", 16384, 1024, 16, 16, 128, Causal::none},
    {", 64 columns", 16384, 1024, 32, 32, 64},
    {"", 65536, 3072},
    {", grouped heads", 65536, 3072, 32, 8},
    {", pages of 16", 65536, 3072, 16, 16, 128, Causal::bottom_right, 16},
    {", pages of 64", 65536, 3072, 16, 16, 128, Causal::bottom_right, 64},
};

/// Returns a problem that a machine without a GPU computes in a short time.
Varlen reduced(Varlen problem) {
  problem.tokens /= 32;
  problem.mean /= 32;
  problem.heads /= 4;
  problem.kv_heads /= 4;
  return problem;
}

AttentionCase caseOf(const Varlen &problem, DType dtype) {
  return {.problem = {.dtype = dtype,
                      .head_dim = problem.head_dim,
                      .value_dim = problem.head_dim,
                      .causal = problem.causal,
                      .backward = problem.page_size == 0,
                      .page_size = problem.page_size},
          .shape = {.batch = 1, .heads = problem.heads, .kv_heads = problem.kv_heads},
          .scale = float(1 / std::sqrt(double(problem.head_dim)))};
}

AttentionCase packed(AttentionCase attention, const std::vector<int32_t> &lengths) {
  const std::vector<int32_t> offsets = tools::offsetsOf(lengths);
  const Causal causal = attention.problem.causal;
  setPacked(attention, {.offsets_q = offsets, .offsets_k = offsets, .causal = causal});
  return attention;
}

Status check(const Machine &machine, const AttentionCase &attention) {
  Expected<AttentionRun> run = AttentionRun::make(attention, machine.device, machine.cache, machine.tuned);
  if (!run)
    return run.status();
  const bool backward = attention.problem.backward;
  TEGULA_RETURN_IF_ERROR(run->data().spoilUnusedRows());
  TEGULA_RETURN_IF_ERROR(run->forward());
  if (backward)
    TEGULA_RETURN_IF_ERROR(run->backward());
  Expected<tools::AttentionArrays> arrays = readArrays(run->data(), backward);
  return arrays ? verdict(checkAttention(attention, *arrays)) : arrays.status();
}

/// Returns a row from those of the packed and of the equal lengths.
ServingRow rowOf(const std::string &name, const Row &packed, const Row &equal) {
  const Row &bad = packed.error.empty() ? equal : packed;
  return {.problem = name,
          .pass = packed.pass,
          .ms = packed.ms,
          .speed = packed.tflops,
          .compared = equal.tflops,
          .error = bad.error,
          .failed = bad.failed};
}

/// Appends the rows of all passes.
void measure(const Machine &machine, const std::string &name, const AttentionCase &plain,
             const std::vector<int32_t> &lengths, double seconds, std::vector<ServingRow> &rows) {
  const auto count = int64_t(lengths.size());
  const int64_t length = std::accumulate(lengths.begin(), lengths.end(), int64_t{0}) / count;
  const AttentionCase ofPacked = packed(plain, lengths);
  AttentionCase equal = plain;
  equal.problem.page_size = 0;
  equal.shape.batch = count;
  equal.shape.seqlen_q = equal.shape.seqlen_k = length;
  equal.problem.expected = equal.shape;
  const double flops = forwardFlops(ofPacked),
               equalFlops = forwardFlops(packed(plain, std::vector(size_t(count), int32_t(length))));
  CaseMeasurement packedRun(machine, ofPacked, seconds), equalRun(machine, equal, seconds);
  rows.push_back(rowOf(name, packedRun.forward(flops), equalRun.forward(equalFlops)));
  if (plain.problem.backward)
    rows.push_back(rowOf(name, packedRun.backward(2.5 * flops), equalRun.backward(2.5 * equalFlops)));
}

} // namespace

Expected<ServingReport> measureVarlen(const Machine &machine, const ServingOptions &options,
                                      const ShowProblem &progress) {
  const bool gpu = machine.device->target().name == "cuda";
  const int64_t heads = gpu ? kProblems[0].heads : reduced(kProblems[0]).heads;
  ServingReport report{
      .dtype = std::string(toString(options.dtype)),
      .shape = fmt::format("causal, {} heads of {} columns, log-normal lengths", heads, kProblems[0].head_dim),
      .unit = "TFLOP/s",
      .compared = "equal lengths"};
  for (const Varlen &large : kProblems) {
    const Varlen problem = gpu ? large : reduced(large);
    const std::string name = fmt::format("{} tokens{}", problem.tokens, problem.what);
    progress(name);
    const AttentionCase plain = caseOf(problem, options.dtype);
    const Status status = options.check ? check(machine, packed(plain, {100, 1, 0, 57})) : Status();
    if (!status.ok())
      return Status(status.code(), name + ": " + status.message());
    measure(machine, name, plain, tools::logNormalLengths(problem.tokens / problem.mean, problem.mean, 1),
            options.seconds, report.rows);
  }
  return report;
}

} // namespace tegula::bench
