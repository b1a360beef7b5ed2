// SPDX-License-Identifier: MIT
// The output of `tegula decode`.
#pragma once

#include "workload/attention_check.h"
#include "workload/decode_case.h"
#include "workload/reruns.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tegula::tools {

struct DecodeReport {
  DecodeCase decode;
  std::string target;
  std::string device;
  Schedule schedule;        ///< Schedule of the kernel that reads the cache.
  double compile_ms = 0;    ///< From recording to loaded kernels.
  int64_t compilations = 0; ///< Kernels that were compiled ...
  int64_t cached = 0;       ///< ... and that were found on disk.
  double ms = 0;
  double copy_gb_per_s = 0; ///< The speed of a copy, as bench::copySpeed has it.
  std::optional<AttentionErrors> errors;
  std::optional<Reruns> reruns;

  double gigabytesPerSecond() const;
};

/// Returns one JSON object, indented. A number that is not finite becomes null.
std::string toJson(const DecodeReport &report);
/// Returns a table for people.
std::string toTable(const DecodeReport &report);

} // namespace tegula::tools
