// SPDX-License-Identifier: MIT
// One configuration of attention, which is run on the kernels and compared with the oracle.
#pragma once

#include "harness/block_run.h"
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
  BlockMask block_mask = {};      ///< As in AttentionProblem.
  /// The probability of dropping an element of P. The seed of its random numbers is `seed`, and the offset 2^33 + seed.
  double dropout_p = 0;
  bool sinks = false; ///< As in AttentionProblem. `seed` decides their values; each fourth seed has one of -inf.
  /// As in AttentionProblem. `seed` decides the numbers: from far before the first key to far beyond the last one.
  bool diagonal_offset = false;
  double slope = 0; ///< The largest of ALiBi's slopes, which grow in equal steps; 0: the paper's slopes.

  double scale() const;
};

std::string toString(const Case &c);
/// Parses the text of toString. Words that are left out keep their defaults. The error names the wrong word.
Expected<Case> parseCase(std::string_view text);

/// The tensors of one run, in the case's layout.
struct Tensors {
  TestTensor q, k, v, o, lse, d_o, dq, dk, dv;
  TestTensor d_lse;           ///< Empty unless the case has lse_gradient.
  TestTensor dropout_state;   ///< Empty unless the case has dropout.
  TestTensor diagonal_offset; ///< Empty unless the case has one. Some have one number for all batch entries.
  TestTensor sinks, d_sinks;  ///< Empty unless the case has sinks.
  VariantRun variant;
  BlockRun blocks;
  oracle::Inputs inputs;           ///< The numbers in q, k and v.
  std::vector<float> upstream;     ///< The numbers in d_o.
  std::vector<float> upstream_lse; ///< The numbers in d_lse.

  std::vector<TestTensor *> all();
  std::vector<TestTensor *> outputs();
};

/// Has each element type and each mask once, for options that depend on neither. Flash2.AllElementTypesMasksAndLengths
/// crosses them.
inline constexpr std::pair<DType, Causal> kTypesAndMasks[] = {
    {f32, Causal::none}, {f16, Causal::top_left}, {bf16, Causal::bottom_right}};

Tensors makeTensors(const Case &c);

/// Returns the plan of a case. Plans with equal kernels share these kernels.
Expected<AttentionPlan> planFor(const Case &c);

/// Launches the forward pass and, if `c.backward`, the backward pass. Waits until they have finished.
Status launch(const Case &c, Tensors &tensors);

struct NamedError {
  /// "o", "lse", "dq", "dk", "dv", "d_sinks", or "d" and the name of a variant's tensor. "dv of softmax" is dv,
  /// compared with another plain formula.
  std::string name;
  oracle::Error error;
};

/// Returns the errors of the results against the oracle, and the plain formula's errors in `plain_runs` runs.
std::vector<NamedError> measure(const Case &c, const Tensors &tensors, int plain_runs);
/// Does the same with as many runs as oracle::plainRuns says, and then with oracle::kManyPlainRuns if an error ratio may
/// be chance.
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
