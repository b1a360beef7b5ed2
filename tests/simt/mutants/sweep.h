// SPDX-License-Identifier: MIT
// Finds the mutants of shipped kernels that no launch detects.
#pragma once

#include "tegula/attention.h"
#include "workload/mutants.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::testing {

/// A kernel of attention: one program with the schedule that the library chooses for a problem, or with `schedule`.
struct SweptKernel {
  std::string target; ///< As for openDevice: "simt" or "simt:ARCH".
  std::string_view program;
  AttentionProblem problem;
  std::string_view variant = ""; ///< One of tools::namedVariants, or empty for none.
  Schedule schedule = {};

  std::string name() const; ///< Returns a name such as "flash2_forward D=64 bf16 causal softcap".
};

/// Mutants at one instruction of one line that are no errors, or that another test shows. docs/testing.md says why.
struct Explained {
  std::string_view instruction, line;
  int64_t most; ///< The most instructions of a kernel that this explains.
};

struct Sweep {
  Schedule schedule; ///< The schedule of a shipped kernel.
  int64_t mutants = 0;
  std::vector<std::string> survivors; ///< Mutants that no launch detects, as `tegula attention --mutate` names them.
};

/// Returns the kernels that ship for sm_80, the ones that differ for GPUs with less or more shared memory, and
/// sm_90a's.
std::vector<SweptKernel> sweptKernels();

/// Tries mutants in all runs, with the interleavings of several schedulers; those that are `known` only with the first.
/// Fails if the unchanged kernel has findings.
Expected<Sweep> sweep(std::vector<tools::Mutant> mutants, std::span<const tools::SimtRun> runs,
                      std::span<const Explained> known);
/// Tries all mutants of a kernel in the launches of mutantTrials.
Expected<Sweep> sweep(const SweptKernel &kernel);

/// Returns the line of source that a mutant's instruction belongs to: a line of a kernel, a benchmark or a test.
/// Returns an empty string if there is none.
std::string sourceLine(std::string_view mutant);

/// Returns the mutants without those that are known.
std::vector<std::string> unexplained(std::vector<std::string> mutants, std::span<const Explained> known);

/// Returns the survivors without those that docs/testing.md explains: they are no errors, or only ptxas notices them
/// (C7519; tests/kernels/assembled_test.cpp).
std::vector<std::string> unexplained(const Sweep &sweep);

} // namespace tegula::testing
