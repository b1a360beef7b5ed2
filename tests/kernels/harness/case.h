// SPDX-License-Identifier: MIT
// One configuration of attention, which is run on the kernels and compared with the oracle.
#pragma once

#include "harness/variant_case.h"
#include "oracle/inputs.h"
#include "workload/attention_check.h"

#include <string>

namespace tegula::testing {

/// All parameters of a run. One line of text holds them: `dtype=bf16 algorithm=flash2 batch=1 ...`.
struct Case {
  DType dtype = f32;
  Algorithm algorithm = Algorithm::flash2;
  Causal causal = Causal::none;
  std::string variant = "none";
  Schedule schedule = {};
  bool backward = true;
  bool lse_gradient = false; ///< The backward pass also takes the gradient of lse.
  oracle::Shape shape = {};
  oracle::Family family = oracle::Family::normal;
  Layout layout = Layout::contiguous;
  Poison poison = Poison::nan;
  uint64_t seed = 1;
  double sharpness = 1;           ///< The scale is sharpness / sqrt(head_dim).
  bool contain_nonfinite = false; ///< As in AttentionProblem.
  bool deterministic = false;     ///< As in AttentionProblem.
  double slope = 0;               ///< The largest of ALiBi's slopes, which grow in equal steps; 0: the paper's slopes.

  double scale() const;
};

std::string toString(const Case &c);
/// Parses the text of toString. Words that are left out keep their defaults. The error names the wrong word.
Expected<Case> parseCase(std::string_view text);

/// The tensors of one run, in the case's layout.
struct Tensors {
  TestTensor q, k, v, o, lse, d_o, dq, dk, dv;
  TestTensor d_lse; ///< Empty unless the case has lse_gradient.
  VariantRun variant;
  oracle::Inputs inputs;           ///< The numbers in q, k and v.
  std::vector<float> upstream;     ///< The numbers in d_o.
  std::vector<float> upstream_lse; ///< The numbers in d_lse.

  std::vector<TestTensor *> all();
  std::vector<TestTensor *> outputs();
};

Tensors makeTensors(const Case &c);

/// Returns the plan of a case. Plans with equal kernels share these kernels.
Expected<AttentionPlan> planFor(const Case &c);

/// Launches the forward pass and, if `c.backward`, the backward pass. Waits until they have finished.
Status launch(const Case &c, Tensors &tensors);

struct NamedError {
  /// "o", "lse", "dq", "dk", "dv" or "dbias". "dv of softmax" is dv, compared with another plain formula.
  std::string_view name;
  oracle::Error error;
};

/// Returns the errors of the results against the oracle, and the plain formula's errors in `plain_runs` runs.
std::vector<NamedError> measure(const Case &c, const Tensors &tensors, int plain_runs);
/// Does the same with oracle::plainRuns(c.shape) runs of the plain formula.
std::vector<NamedError> measure(const Case &c, const Tensors &tensors);
/// Returns an empty string, or what is wrong: results that are too far off, memory outside a tensor that was written.
std::string check(Tensors &tensors, const std::vector<NamedError> &errors);
/// Calls makeTensors, launch, measure and check, and then rerun, `reruns` times. Returns an empty string, or the case
/// and what is wrong with it.
std::string runCase(const Case &c, std::vector<NamedError> *errors = nullptr, int reruns = 0);

/// Poisons the outputs and launches again, `times` times. Returns an empty string, or which output differs from what
/// `tensors` held before, bit for bit. A backward pass must be deterministic, because other sums have no fixed order.
std::string rerun(const Case &c, Tensors &tensors, int times);

/// The worst error ratio that check() accepts.
inline constexpr double kMaxRatio = tools::kMaxErrorRatio;

} // namespace tegula::testing
