// SPDX-License-Identifier: MIT
// One configuration of attention: run on the kernels, and compared with the oracle.
#pragma once

#include "harness/variant_case.h"
#include "oracle/inputs.h"

#include <string>

namespace tegula::testing {

/// All that decides a run. One line of text holds it: `dtype=bf16 algorithm=flash2 batch=1 ...`.
struct Case {
  DType dtype = f32;
  Algorithm algorithm = Algorithm::flash2;
  Causal causal = Causal::none;
  std::string variant = "none";
  Schedule schedule = {};
  bool backward = true;
  bool lse_gradient = false; ///< The backward pass takes the gradient of lse, too.
  oracle::Shape shape = {};
  oracle::Family family = oracle::Family::normal;
  Layout layout = Layout::contiguous;
  Poison poison = Poison::nan;
  uint64_t seed = 1;
  double sharpness = 1;           ///< The scale is this over sqrt(head_dim).
  bool contain_nonfinite = false; ///< As in AttentionProblem.
  double slope = 0;               ///< ALiBi's slopes go up to this in equal steps; 0: they are those of its paper.

  double scale() const;
};

std::string toString(const Case &c);
/// The inverse of toString; words that are left out keep their defaults. The error names the word.
Expected<Case> parseCase(std::string_view text);

/// The tensors of one run, in the case's layout.
struct Tensors {
  TestTensor q, k, v, o, lse, d_o, dq, dk, dv;
  TestTensor d_lse; ///< Empty unless the case has lse_gradient.
  VariantRun variant;
  oracle::Inputs inputs;           ///< The numbers in q, k and v.
  std::vector<float> upstream;     ///< Those in d_o.
  std::vector<float> upstream_lse; ///< Those in d_lse.

  std::vector<TestTensor *> all();
  std::vector<TestTensor *> outputs();
};

Tensors makeTensors(const Case &c);

/// The plan of a case; plans with equal kernels share them.
Expected<AttentionPlan> planFor(const Case &c);

/// Launches the forward pass, and the backward one if the case asks for it, and waits for them.
Status launch(const Case &c, Tensors &tensors);

struct NamedError {
  std::string_view name; ///< "o", "lse", "dq", "dk", "dv" or "dbias"; "dv of softmax": dv beside another plain formula.
  oracle::Error error;
};

/// How far the results are from the oracle's, with so many runs of the plain formula.
std::vector<NamedError> measure(const Case &c, const Tensors &tensors, int plain_runs);
/// With as many runs as show how large the plain formula's error is.
std::vector<NamedError> measure(const Case &c, const Tensors &tensors);
/// Empty, or what is wrong: results that are too far off, memory that was touched.
std::string check(Tensors &tensors, const std::vector<NamedError> &errors);
/// makeTensors, launch, measure and check. Empty, or the case and what is wrong with it.
/// With `reruns`, also reruns the case so often.
std::string runCase(const Case &c, std::vector<NamedError> *errors = nullptr, int reruns = 0);

/// Poisons the outputs and launches again, so many times. Empty, or which output is not what `tensors` held before, bit
/// for bit. Without a backward pass, whose sums have no fixed order.
std::string rerun(const Case &c, Tensors &tensors, int times);

/// The worst error ratio that check() accepts.
inline constexpr double kMaxRatio = 2.0;

} // namespace tegula::testing
