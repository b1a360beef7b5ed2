// SPDX-License-Identifier: MIT
// One attention problem with its sizes, and what it costs.
#pragma once

#include "oracle/inputs.h"
#include "tegula/attention.h"
#include "workload/cache_layout.h"
#include "workload/checked_variant.h"
#include "workload/given_blocks.h"
#include "workload/packed_sequences.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

namespace tegula::tools {

struct NamedVariant;

/// Numbers between the rows of a tensor and of its gradient.
struct RowGaps {
  int64_t q = 0, k = 0, v = 0, o = 0;

  bool operator==(const RowGaps &) const = default;
};

struct AttentionCase {
  AttentionProblem problem;
  AttentionShape shape;
  float scale = 0;
  oracle::Family family = oracle::Family::normal; ///< The family of values of q, k and v.
  uint64_t seed = 0;
  Schedule schedule = {};                ///< The library chooses fields that are 0.
  const NamedVariant *variant = nullptr; ///< The maker of the problem's variant; null if it has none or no name.
  /// Returns the values of a tensor of the problem's variant, in C order. If the function is empty, or returns nothing,
  /// the tensor holds normally distributed values.
  std::function<std::vector<float>(std::string_view tensor, const std::vector<int64_t> &shape)> variant_values = {};
  /// The shapes of the tensors of the problem's variant. Empty: shapeOf().
  std::vector<std::vector<int64_t>> variant_shapes = {};
  /// Adds the rules of a variant that is none of the library's, so that `variant` is null. They say which scores exist
  /// even if calls give blocks.
  std::function<void(oracle::Rules &rules, const RuleInputs &inputs)> own_rules = {};
  RowGaps row_gaps = {};
  int64_t dropout_seed = 0, dropout_offset = 0; ///< The numbers of AttentionForward::dropout_state.
  std::shared_ptr<const GivenBlocks> blocks =
      {}; ///< The blocks that calls give, if the problem's block mask is `given`.
  /// Sequences of which the only batch entry consists. The problem then has no causal mask. Its variant is
  /// packedSequences(), or packedQueries() if the problem has pages.
  std::shared_ptr<const PackedSequences> packed = {};
  std::shared_ptr<const CacheLayout> pages = {}; ///< The pages of packed sequences, if the problem has pages.
  int64_t diagonal_offset = 0; ///< The number of AttentionForward::diagonal_offset, if the problem has it.
  std::shared_ptr<const std::atomic<bool>> abandoned = {}; ///< As oracle::Rules::abandoned, for an AttentionReference.
};

oracle::Shape oracleShape(const AttentionCase &attention);
/// Returns the sizes of the oracle's shape that launches differ in.
AttentionShape attentionShape(const oracle::Shape &shape);

/// Returns the causal mask that queries have, also in packed sequences.
Causal causalOf(const AttentionCase &attention);

/// Makes it a problem of packed sequences. Sets their sizes, the variant, and with a page size the pages.
void setPacked(AttentionCase &attention, PackedSequences sequences);

/// Floating-point operations by the convention of the FlashAttention papers: two matrix products forward, halved if
/// causal, and 2.5 times as many backward. Packed sequences count the scores that exist.
double forwardFlops(const AttentionCase &attention);
double backwardFlops(const AttentionCase &attention);

} // namespace tegula::tools
