// SPDX-License-Identifier: MIT
// The launches of an attention problem that together take every path of its kernels.
#pragma once

#include "tegula/attention.h"
#include "workload/attention_case.h"

#include <string>
#include <string_view>
#include <vector>

namespace tegula::tools {

/// The sizes, gaps and values of the tensors of one launch. A mutant may show only there.
struct MutantTrial {
  AttentionShape shape;
  RowGaps row_gaps = {};
  oracle::Family family = oracle::Family::normal;

  bool operator==(const MutantTrial &) const = default;
};

/// Returns the same problem with the sizes, gaps and values of a trial.
AttentionCase withTrial(AttentionCase attention, const MutantTrial &trial);

/// Returns trials for a program with a schedule: full, ragged and no blocks; one head, no head, and two heads that
/// share keys; rows that start at multiples of 16 bytes, and rows that do not. If there is a producer, some trials have
/// enough blocks that each slot of its rings is filled again.
std::vector<MutantTrial> mutantTrials(const AttentionCase &attention, std::string_view program,
                                      const Schedule &schedule);

/// Returns the trials of all programs of a plan for the problem, each trial once.
std::vector<MutantTrial> mutantTrials(const AttentionCase &attention, const AttentionPlan &plan);

/// Returns the sizes, gaps and family of values of a launch, such as "batch=1 heads=2 kv_heads=1 seqlen_q=72
/// seqlen_k=168 row_gaps=3,3,3,3".
std::string launchName(const AttentionCase &attention);

} // namespace tegula::tools
