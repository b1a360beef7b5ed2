// SPDX-License-Identifier: MIT
// Whether runs on the same inputs give the same bits.
#pragma once

#include "workload/attention_run.h"

#include <functional>
#include <string>
#include <vector>

namespace tegula::tools {

/// A result whose bits are compared.
struct RerunTensor {
  std::string name;      ///< "o", "lse", "dq", "dk", "dv", or "d" and the name of a variant's tensor.
  bool promised;         ///< Each run has the same bits. Without AttentionProblem::deterministic, only sums have not.
  int64_t different = 0; ///< Runs that have other bits than the first one.
};

struct Reruns {
  int64_t runs = 0; ///< After the first one.
  std::vector<RerunTensor> tensors;
};

/// A result and its place on the device.
struct RerunResult {
  RerunTensor tensor;
  const DeviceTensor *place;
};

/// Work that runs again and again.
struct RerunWork {
  Device &device;
  std::vector<RerunResult> results;
  std::function<Status()> spoil; ///< Fills the results with NaN.
  std::function<Status()> run;
};

/// Runs the work once, and then `runs` more times, and compares the bits of the results.
Expected<Reruns> rerun(const RerunWork &work, int64_t runs);

/// Runs all passes once, and then `runs` more times, and compares the bits of all results.
Expected<Reruns> rerun(const AttentionRun &run, const AttentionProblem &problem, int64_t runs);

/// Names a tensor that differs although it is promised not to; ok if there is none.
Status verdict(const Reruns &reruns);

} // namespace tegula::tools
