// SPDX-License-Identifier: MIT
// One decoding problem with its sizes, and what it reads.
#pragma once

#include "tegula/decode.h"
#include "workload/named_variants.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tegula::tools {

struct DecodeCase {
  DecodeProblem problem;
  int64_t heads = 8, kv_heads = 8, seqlen_q = 1;
  std::vector<int32_t> lengths;          ///< The keys of each sequence.
  int64_t prefix = 0;                    ///< The keys of the prefix, if the problem has one.
  std::optional<int64_t> num_spans = {}; ///< The plan chooses it if it is empty.
  const NamedVariant *variant = nullptr; ///< The maker of the problem's variant; null if it has none.
  float scale = 0;
  uint64_t seed = 0; ///< Decides all values, and the order of pages.
  /// Runs do not compute how sequences are cut, as all layers of a model but the first.
  bool prepared = false;
};

/// Returns the keys of the longest sequence, without the prefix.
int64_t longest(const DecodeCase &decode);

/// Returns the sizes of the batch. `seqlen_k` is that of the longest sequence, with the prefix.
AttentionShape shapeOf(const DecodeCase &decode);

/// Returns the bytes of the keys and values that queries see, each counted once.
double bytesRead(const DecodeCase &decode);

/// Makes it the variant of the problem.
void setVariant(DecodeCase &decode, const NamedVariant &variant);

/// Returns the names of the variants that decoding has.
std::vector<std::string> decodeVariantNames();

/// Returns random lengths from 1 to 8 times their mean, whose logarithms are normally distributed.
std::vector<int32_t> logNormalLengths(int64_t count, int64_t mean, uint64_t seed);

} // namespace tegula::tools
