// SPDX-License-Identifier: MIT
// The command line of `tegula attention`.
#pragma once

#include "exploration_options.h"
#include "kernel_options.h"
#include "tegula/artifact.h"
#include "tegula/status.h"
#include "workload/attention_case.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tegula::tools {

/// The options as the user gave them. An option that is empty follows from the others.
struct AttentionOptions {
  std::string target = "auto";
  Algorithm algorithm = Algorithm::flash2;
  int64_t batch = 1;
  int64_t heads = 8;
  std::optional<int64_t> kv_heads, seqlen_q, seqlen_k;
  std::vector<int32_t> cu_seqlens, cu_seqlens_k; ///< Offsets of packed sequences, or empty.
  int page_size = 0;                             ///< The keys of a page of packed sequences; 0: they have no pages.
  KernelOptions kernel;
  float scale = 0; ///< As in AttentionForward.
  uint64_t seed = 0;
  Schedule schedule;
  std::vector<int64_t> row_gaps = {0}; ///< One for all, or one each for q, k, v and o.
  ExplorationOptions exploration;      ///< simt only.
  bool backward = false;
  bool check = false;
  std::string blocks; ///< The file with the blocks of the block mask, or empty.
  int64_t repeat = 0; ///< Runs whose bits are compared with the first one.
  bool json = false;
  bool untuned = false;
  bool no_cache = false;
  FiniteCheck check_finite = FiniteCheck::none;
  std::string save;
};

/// Adds the options of the problem and its sizes, which other commands have too.
void addProblemOptions(CLI::App &command, AttentionOptions &options);
void addAttentionOptions(CLI::App &command, AttentionOptions &options);

/// Returns the problem and its sizes, with defaults for options that were left out. The error names the options that
/// contradict each other.
Expected<AttentionCase> attentionCase(const AttentionOptions &options);

} // namespace tegula::tools
