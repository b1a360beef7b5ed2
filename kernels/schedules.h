// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/attention.h"

#include <string_view>

namespace tegula {

/// `given`, with what is 0 in it chosen for one attention program on a target: by `tuned`, unless that is null or
/// something is given, else from a table. `problem` has passed checkProblem.
Schedule chooseSchedule(const Target &target, std::string_view program, const AttentionProblem &problem, Schedule given,
                        const TunedSchedules *tuned);

} // namespace tegula
