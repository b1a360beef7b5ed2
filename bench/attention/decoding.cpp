// SPDX-License-Identifier: MIT
#include "bench/attention/limits.h"
#include "bench/attention/serving.h"
#include "workload/decode_run.h"
#include "workload/timing.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace tegula::bench {
namespace {

using tools::DecodeCase;
using tools::DecodeRun;

constexpr int kHeadDim = 128, kLatentDim = 576, kLatentValues = 512;

struct NamedCase {
  std::string name;
  DecodeCase decode;
};

/// The problems of a kind of machine.
class Cases {
public:
  Cases(DType dtype, bool gpu) : dtype_(dtype), gpu_(gpu) {}

  int64_t heads() const { return gpu_ ? 32 : 8; }
  int64_t kvHeads() const { return gpu_ ? 8 : 2; }

  std::vector<NamedCase> all() {
    for (const auto &[batch, keys] : {std::pair(1, 131072), {16, 16384}, {64, 4096}, {64, 512}, {64, 128}})
      add(same(batch, keys), "", plain());
    DecodeCase prepared = plain();
    prepared.prepared = true;
    for (const auto &[batch, keys] : {std::pair(1, 131072), {16, 16384}, {64, 4096}})
      add(same(batch, keys), ", prepared", prepared);
    for (const int page : {1, 8, 16, 32, 64, 128, 256}) {
      DecodeCase paged = plain();
      paged.problem.page_size = page;
      add(same(64, 4096), fmt::format(", pages of {}", page), paged);
    }
    const std::vector<int32_t> equal = same(64, 4096);
    cases_.push_back({fmt::format("{} x log-normal, {} on average", equal.size(), equal.front()), plain()});
    cases_.back().decode.lengths = tools::logNormalLengths(int64_t(equal.size()), equal.front(), 1);
    for (const int heads : {gpu_ ? 16 : 4, gpu_ ? 128 : 16})
      for (const int keys : {4096, 16384})
        add(same(64, keys), fmt::format(", latent, {} heads", heads), latent(heads));
    DecodeCase shared = plain();
    shared.problem.prefix = true;
    shared.prefix = gpu_ ? 8192 : 256;
    add(same(64, 512), fmt::format(", after a prefix of {}", shared.prefix), shared);
    for (const int queries : {2, 4, 8, 16}) {
      DecodeCase several = plain();
      several.seqlen_q = queries;
      several.problem.expected_rows *= queries;
      add(same(16, 16384), fmt::format(", {} queries", queries), several);
    }
    return std::move(cases_);
  }

private:
  /// Returns as many equal lengths; fewer and shorter ones if there is no GPU.
  std::vector<int32_t> same(int batch, int keys) const {
    return std::vector<int32_t>(size_t(gpu_ ? batch : (batch + 7) / 8), gpu_ ? keys : keys / 32);
  }
  DecodeCase plain() const { return caseOf(heads(), kvHeads(), kHeadDim, kHeadDim); }
  DecodeCase latent(int64_t heads) const {
    DecodeCase decode = caseOf(heads, 1, kLatentDim, kLatentValues);
    decode.problem.latent = true;
    return decode;
  }
  DecodeCase caseOf(int64_t heads, int64_t kv_heads, int head_dim, int value_dim) const {
    return {.problem = {.dtype = dtype_,
                        .head_dim = head_dim,
                        .value_dim = value_dim,
                        .expected_rows = int(heads / kv_heads)},
            .heads = heads,
            .kv_heads = kv_heads,
            .lengths = {},
            .scale = float(1 / std::sqrt(double(head_dim)))};
  }
  void add(std::vector<int32_t> lengths, const std::string &what, DecodeCase decode) {
    cases_.push_back({fmt::format("{} x {}{}", lengths.size(), lengths.front(), what), std::move(decode)});
    cases_.back().decode.lengths = std::move(lengths);
  }

  DType dtype_;
  bool gpu_;
  std::vector<NamedCase> cases_;
};

/// Compares a problem with double precision, with a few short sequences.
Status check(const Machine &machine, DecodeCase decode) {
  decode.lengths = {200, 1, 77, 0};
  Expected<DecodeRun> run = DecodeRun::make(decode, machine.device, machine.cache);
  if (!run)
    return run.status();
  TEGULA_RETURN_IF_ERROR(run->spoilUnused());
  TEGULA_RETURN_IF_ERROR(run->run());
  Expected<std::vector<tools::CheckedRun>> sequences = run->sequences();
  return sequences ? verdict(checkAttention(*sequences)) : sequences.status();
}

Expected<double> millisecondsOf(const Machine &machine, const DecodeCase &decode, double seconds) {
  Expected<DecodeRun> run = DecodeRun::make(decode, machine.device, machine.cache);
  return run ? tools::medianMs(*machine.device, [&] { return run->run(); }, 1e3 * seconds) : run.status();
}

} // namespace

Expected<ServingReport> measureDecoding(const Machine &machine, const ServingOptions &options,
                                        const ShowProblem &progress) {
  Cases cases(options.dtype, machine.device->target().name == "cuda");
  const Expected<double> copy = copySpeed(*machine.device);
  if (!copy)
    return copy.status();
  ServingReport report{.dtype = std::string(toString(options.dtype)),
                       .shape =
                           fmt::format("{} heads on {}, {} columns, one query; latent: {} columns, of which {} are v",
                                       cases.heads(), cases.kvHeads(), kHeadDim, kLatentDim, kLatentValues),
                       .unit = "GB/s",
                       .compared = "copy"};
  for (const auto &[name, decode] : cases.all()) {
    progress(name);
    if (const Status status = options.check ? check(machine, decode) : Status(); !status.ok())
      return Status(status.code(), name + ": " + status.message());
    ServingRow row{.problem = name, .pass = "decode"};
    if (const Expected<double> ms = millisecondsOf(machine, decode, options.seconds); ms) {
      row.ms = *ms;
      row.speed = 1e-6 * bytesRead(decode) / *ms;
      row.compared = *copy;
    } else {
      row.error = ms.status().message();
      row.failed = ms.status().code() != ErrorCode::resource_exhausted;
    }
    report.rows.push_back(std::move(row));
  }
  return report;
}

} // namespace tegula::bench
