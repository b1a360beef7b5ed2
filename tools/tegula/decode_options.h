// SPDX-License-Identifier: MIT
// The command line of `tegula decode`.
#pragma once

#include "kernel_options.h"
#include "tegula/artifact.h"
#include "tegula/status.h"
#include "workload/decode_case.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tegula::tools {

/// The options as the user gave them. An option that is empty follows from the others.
struct DecodeOptions {
  std::string target = "auto";
  std::optional<int64_t> batch, kv_heads;
  int64_t heads = 8, seqlen_q = 1, seqlen_k = 1024;
  std::vector<int32_t> lengths; ///< The keys of each sequence; empty: seqlen_k of all.
  bool log_normal = false;      ///< Lengths are random, and seqlen_k is their mean.
  KernelOptions kernel = {.causal = Causal::bottom_right};
  bool latent = false, page_table_v = false, prepared = false;
  CacheLengths lengths_count = CacheLengths::all;
  int page_size = 0, keys_per_part = 0;
  std::optional<int64_t> splits, prefix;
  float scale = 0; ///< As in AttentionForward.
  uint64_t seed = 0;
  Schedule schedule;
  bool check = false;
  int64_t repeat = 0; ///< Runs whose bits are compared with the first one.
  bool json = false;
  bool no_cache = false;
  FiniteCheck check_finite = FiniteCheck::none;
};

void addDecodeOptions(CLI::App &command, DecodeOptions &options);

/// Returns the problem and its sizes, with defaults for options that were left out. The error names the options that
/// contradict each other.
Expected<DecodeCase> decodeCase(const DecodeOptions &options);

} // namespace tegula::tools
