// SPDX-License-Identifier: MIT
// How far results are from attention in double precision.
#pragma once

#include "oracle/oracle.h"
#include "workload/attention_arrays.h"
#include "workload/named_variants.h"

#include <span>
#include <string>
#include <vector>

namespace tegula::tools {

/// Tegula's promise: at most this many times the error of the plain formula in the same precision.
inline constexpr double kMaxErrorRatio = 2;

/// Returns whether an error ratio above the limit may come from few runs of the plain formula. It counts after
/// oracle::kManyPlainRuns.
constexpr bool mayBeChance(double ratio) { return ratio > kMaxErrorRatio && ratio < 2 * kMaxErrorRatio; }

struct TensorError {
  std::string name;
  oracle::Error error;

  double ratio() const { return error.ratio(); }
  bool acceptable() const { return ratio() <= kMaxErrorRatio; } ///< False for NaN.
};

struct AttentionErrors {
  std::vector<TensorError> forward;  ///< o and lse.
  std::vector<TensorError> backward; ///< dq, dk, dv, those of the variant's tensors and d_sinks, or empty.
};

/// The numbers that results are compared with.
struct AttentionResults {
  oracle::Outputs outputs;
  oracle::Gradients gradients;
  VariantGradients variant_gradients;

  /// o, lse, dq, dk, dv and those of the variant's tensors. Without d_sinks, which are sums over the batch.
  std::vector<std::vector<double> *> all();
};

/// The exact and the plain results for the inputs in `arrays`, to compare any number of results with. A variant needs
/// to have a name.
class AttentionReference {
public:
  /// Computes on all cores; takes seconds for a thousand rows and grows with the square of their number. `plain_runs`
  /// is the number of runs of the plain formula, 0 for what oracle::plainRuns says.
  AttentionReference(const AttentionCase &attention, const AttentionArrays &arrays, int plain_runs = 0);

  /// Returns the errors of results for the same inputs.
  AttentionErrors errors(const AttentionArrays &arrays) const;

private:
  AttentionCase attention_;
  AttentionResults exact_;
  std::vector<double> plain_; ///< The plain formula's errors, in the order of AttentionResults::all.
  double plain_d_sinks_ = 0;  ///< The same for d_sinks.
};

/// A problem, and the inputs and results of a run of it.
struct CheckedRun {
  AttentionCase attention;
  AttentionArrays arrays;
};

/// Does both at once, and again with more runs of the plain formula if an error ratio may be chance. Looks at packed
/// sequences one by one.
AttentionErrors checkAttention(const AttentionCase &attention, const AttentionArrays &arrays);
/// Returns the largest errors in `runs` of problems that have the same tensors, such as the sequences of a batch.
AttentionErrors checkAttention(std::span<const CheckedRun> runs);

/// Names the tensors whose error is not acceptable; ok if there are none.
Status verdict(const AttentionErrors &errors);

} // namespace tegula::tools
