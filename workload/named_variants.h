// SPDX-License-Identifier: MIT
// The library's variants by name, with the numbers that the command line and the benchmarks run them with.
#pragma once

#include "tegula/attention.h"
#include "workload/attention_case.h"
#include "workload/checked_variant.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::tools {

/// The corner of a problem's diagonal: that of its causal mask, or top_left if there is none.
oracle::Corner cornerOf(const AttentionProblem &problem);

/// softcap (30), alibi, sliding_window (causal, 1024 keys back), window_with_globals (the same window, or 64 global
/// tokens), given_window, prefix_lm, documents, key_intervals, bias (for each head and batch), mask (the same) and
/// added_product. tools/bench-rounds has some of them by the same names. They have the diagonal of the problem's
/// causal mask, and top_left if there is none.
struct NamedVariant {
  std::string_view name;
  /// The variant for a problem, of which only the element type and the mask count.
  CheckedVariant (*checked)(const AttentionProblem &problem);
  /// The keys that some query from `first` to `last` sees without a causal mask, if tensors hold measuredValues:
  /// ascending spans with keys between them that all these queries do not see.
  std::vector<KeyInterval> (*measured_keys)(const AttentionShape &shape, int64_t first, int64_t last);

  /// Returns the variant, whose ranges the tuner's model expects to be those of measured_keys.
  Variant make(const AttentionProblem &problem) const;
};

std::span<const NamedVariant> namedVariants();
/// Null if none is called so.
const NamedVariant *findVariant(std::string_view name);
std::vector<std::string> variantNames();

/// Returns the values of a tensor of any variant when time is measured: half of the keys as a prefix, documents of 2048
/// tokens, whose keys are the key intervals, too, and the window of sliding_window; otherwise the values of
/// randomValues.
std::vector<float> measuredValues(std::string_view tensor, const std::vector<int64_t> &shape,
                                  const AttentionShape &attention);
/// The same where results are checked: `seed` decides the prefix, the window and where documents begin. The slopes are
/// alibiSlopes. Empty where any normal numbers will do.
std::vector<float> randomValues(std::string_view tensor, const AttentionShape &attention, uint64_t seed);

/// Makes it the variant of the problem, with randomValues in its tensors.
void setVariant(AttentionCase &attention, const NamedVariant &variant);
/// Makes it the variant of the problem, with measuredValues in its tensors.
void setMeasuredVariant(AttentionCase &attention, const NamedVariant &variant);

} // namespace tegula::tools
