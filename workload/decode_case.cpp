// SPDX-License-Identifier: MIT
#include "workload/decode_case.h"

#include "oracle/inputs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tegula::tools {
namespace {

/// Returns the problem of attention that has the same scores.
AttentionProblem attentionOf(const DecodeProblem &problem) {
  return {.dtype = problem.dtype, .causal = problem.causal ? Causal::bottom_right : Causal::none};
}

/// Returns how many of the last keys of a sequence some query sees, as far as bands tell.
int64_t mostSeen(const DecodeCase &decode) {
  int64_t most = std::numeric_limits<int64_t>::max();
  for (const Band &band : decode.problem.variant.bands)
    if (band.left)
      most = std::min(most, *band.left + decode.seqlen_q);
  return most;
}

} // namespace

int64_t longest(const DecodeCase &decode) { return *std::ranges::max_element(decode.lengths); }

AttentionShape shapeOf(const DecodeCase &decode) {
  return {.batch = int64_t(decode.lengths.size()),
          .heads = decode.heads,
          .kv_heads = decode.kv_heads,
          .seqlen_q = decode.seqlen_q,
          .seqlen_k = decode.prefix + longest(decode)};
}

double bytesRead(const DecodeCase &decode) {
  const DecodeProblem &problem = decode.problem;
  const int64_t most = mostSeen(decode), shortest = *std::ranges::min_element(decode.lengths);
  double keys = double(std::clamp<int64_t>(most - shortest, 0, decode.prefix));
  for (const int64_t length : decode.lengths)
    keys += double(std::min(length, most));
  const int columns = problem.head_dim + (decode.problem.latent ? 0 : problem.value_dim);
  return keys * double(decode.kv_heads) * double(columns) * double(sizeOf(problem.dtype));
}

void setVariant(DecodeCase &decode, const NamedVariant &variant) {
  decode.problem.variant = variant.make(attentionOf(decode.problem));
  decode.variant = &variant;
}

std::vector<std::string> decodeVariantNames() {
  std::vector<std::string> names;
  for (const NamedVariant &variant : namedVariants()) {
    DecodeCase decode{.problem = {.dtype = f32, .head_dim = 64, .value_dim = 64}, .lengths = {}};
    setVariant(decode, variant);
    if (decodeAttention(decode.problem, {"cpu", "", ""}))
      names.emplace_back(variant.name);
  }
  return names;
}

std::vector<int32_t> logNormalLengths(int64_t count, int64_t mean, uint64_t seed) {
  std::vector<double> sizes;
  for (const float number : oracle::normalNumbers(count, f32, seed))
    sizes.push_back(std::exp(double(number)));
  const double scale = double(mean) * double(count) / std::accumulate(sizes.begin(), sizes.end(), 0.0);
  std::vector<int32_t> lengths;
  for (const double size : sizes)
    lengths.push_back(int32_t(std::clamp(std::round(size * scale), 1.0, 8.0 * double(mean))));
  return lengths;
}

} // namespace tegula::tools
