// SPDX-License-Identifier: MIT
// How far results are from attention in double precision.
#pragma once

#include "oracle/oracle.h"
#include "workload/attention_arrays.h"
#include "workload/attention_case.h"

#include <array>
#include <string>
#include <vector>

namespace tegula::tools {

/// Tegula's promise: at most this many times the error of the plain formula in the same precision.
inline constexpr double kLargestErrorRatio = 2;

struct TensorError {
  std::string name;
  oracle::Error error;

  double ratio() const { return error.ratio(); }
  bool acceptable() const { return ratio() <= kLargestErrorRatio; } ///< False for NaN.
};

struct AttentionErrors {
  std::vector<TensorError> forward;  ///< o and lse.
  std::vector<TensorError> backward; ///< dq, dk and dv, or empty.
};

/// What the inputs in `arrays` should give, to compare any number of results with.
class AttentionReference {
public:
  /// Computes on all cores; takes seconds for a thousand rows and grows with the square of their number.
  AttentionReference(const AttentionCase &attention, const AttentionArrays &arrays);

  /// Of results for the same inputs.
  AttentionErrors errors(const AttentionArrays &arrays) const;

private:
  AttentionCase attention_;
  oracle::Outputs outputs_;
  oracle::Gradients gradients_;
  std::array<double, 5> plain_ = {}; ///< The plain formula's error in o, lse, dq, dk and dv.
};

/// Both at once.
AttentionErrors checkAttention(const AttentionCase &attention, const AttentionArrays &arrays);

/// Names the tensors whose error is not acceptable; ok if there are none.
Status verdict(const AttentionErrors &errors);

} // namespace tegula::tools
