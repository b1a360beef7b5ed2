// SPDX-License-Identifier: MIT
// Compiles and runs one program on each target and compares its results with the interpreter's.
#pragma once

#include "random/description.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tegula::random_programs {

/// "cpu"; "sm_80" and "sm_90a", which run in the executor; and "ptx", which compiles for both and runs nothing. There are
/// also "unscheduled", which is sm_90a without a schedule, and "cuda".
extern const std::vector<std::string> kTargets;

/// The result of a check. Plain data, so that it may lie in memory that processes share.
struct Counts {
  int64_t programs = 0;
  int64_t launches = 0; ///< Programs that compiled and ran on a target.
  int64_t refusals = 0; ///< Schedules that the compiler refused with a reason.
  int64_t elements = 0; ///< Elements of results.
  int64_t vague = 0;    ///< Elements whose bound is so wide that nothing could be checked.

  Counts &operator+=(const Counts &other);
};

/// Checks a program on some targets. Returns an empty text if all is well; else what is wrong, which begins with a word
/// for the kind of defect and the target. Makes devices once per process, so only a process that does not fork may call
/// it.
std::string check(const Case &program, const std::vector<std::string> &targets, Counts &counts);

} // namespace tegula::random_programs
