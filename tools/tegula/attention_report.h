// SPDX-License-Identifier: MIT
// The output of `tegula attention`.
#pragma once

#include "tegula/exploration.h"
#include "workload/attention_case.h"
#include "workload/attention_check.h"
#include "workload/reruns.h"

#include <cstdint>
#include <optional>
#include <string>

namespace tegula::tools {

struct AttentionReport {
  AttentionCase attention;
  std::string target;
  std::string device;
  Schedule forward_schedule, backward_schedule; ///< Schedules of the first kernel, and of flash2_backward.
  double compile_ms = 0;                        ///< From recording to loaded kernels.
  int64_t compilations = 0;                     ///< Kernels that were compiled ...
  int64_t cached = 0;                           ///< ... and that were found on disk.
  double forward_ms = 0;
  std::optional<double> backward_ms;
  std::optional<AttentionErrors> errors;
  std::optional<Exploration> exploration; ///< simt only.
  std::optional<Reruns> reruns;
};

/// Returns one JSON object, indented. A number that is not finite becomes null.
std::string toJson(const AttentionReport &report);
/// Returns a table for people.
std::string toTable(const AttentionReport &report);

} // namespace tegula::tools
