// SPDX-License-Identifier: MIT
// How far outputs of a plan are from the right ones.
#pragma once

#include "tegula/plan_run.h"

#include <string>
#include <vector>

namespace tegula {

/// The error of one output.
struct OutputError {
  std::string name;
  double error = 0;                ///< The largest difference; infinite if a NaN or an infinity is in another place.
  double largest = 0;              ///< The largest finite number of the right output.
  std::vector<int64_t> at = {};    ///< The position of the largest difference.
  double result = 0, expected = 0; ///< The numbers there.
  int64_t different = 0;           ///< The number of elements that differ at all.

  /// Returns the error as a part of the largest number. Numbers below 1e-30 count as 0.
  double relative() const;
};

/// Compares outputs of the same names and shapes.
std::vector<OutputError> compareOutputs(const std::vector<HostTensor> &results,
                                        const std::vector<HostTensor> &expected);

/// Returns the largest relative error.
double largestError(const std::vector<OutputError> &errors);
/// Names the first output whose relative error exceeds `tolerance`; ok if there is none.
Status verdict(const std::vector<OutputError> &errors, double tolerance);

} // namespace tegula
