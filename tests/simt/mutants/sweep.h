// SPDX-License-Identifier: MIT
// Which mutants of shipped kernels no launch shows.
#pragma once

#include "tegula/attention.h"
#include "workload/attention_case.h"

#include <string>
#include <string_view>
#include <vector>

namespace tegula::testing {

/// How the tensors of a launch look.
struct SweptLaunch {
  AttentionShape shape;
  tools::RowGaps row_gaps = {}; ///< 3 keeps TMA from addressing a tensor.
  oracle::Family family = oracle::Family::normal;
};

/// A kernel of attention: one program with the schedule that the library chooses for a problem, or with `schedule`.
struct SweptKernel {
  std::string target; ///< As for openDevice: "simt" or "simt:ARCH".
  std::string_view program;
  AttentionProblem problem;
  std::string_view variant = ""; ///< Of tools::namedVariants; empty: none.
  Schedule schedule = {};

  std::string name() const; ///< Such as "flash2_forward D=64 bf16 causal softcap".
};

struct Sweep {
  Schedule schedule;
  int64_t mutants = 0;
  std::vector<std::string> survivors; ///< Mutants that no launch shows, as `tegula attention --mutate` names them.
};

/// All that ship: for sm_80, what GPUs with less shared memory or with more have instead, and sm_90a's own.
std::vector<SweptKernel> sweptKernels();

/// With full and ragged blocks, with none at all, with one head and with two that share keys. Where there are roles:
/// with tensors that TMA cannot address, and with several turns for each program.
std::vector<SweptLaunch> launchesOf(const SweptKernel &kernel, const Schedule &schedule);

/// Tries all mutants under the first launch, and under each other one those that have survived so far. Fails if a
/// kernel that is not changed has findings.
Expected<Sweep> sweep(const SweptKernel &kernel);

/// The line of source that a mutant's instruction belongs to; empty if there is none.
std::string sourceLine(std::string_view mutant);

/// Survivors, but for the fence of the second one of two products that are started together, at most one in a kernel:
/// that it is missing only the assembler notices (C7519; tests/kernels/assembled_test.cpp).
std::vector<std::string> unexplained(const Sweep &sweep);

} // namespace tegula::testing
