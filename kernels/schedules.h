// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/attention.h"

#include <string_view>
#include <vector>

namespace tegula {

/// `given`, with what is 0 in it chosen for one attention program on a target: by `tuned`, unless that is null or
/// something is given, else from schedules.json. `problem` has passed checkProblem.
Schedule chooseSchedule(const Target &target, std::string_view program, const AttentionProblem &problem, Schedule given,
                        const TunedSchedules *tuned);

/// Returns the index of the row of schedules.json that a problem gets. `problem` has passed checkProblem.
size_t shippedRow(const Target &target, std::string_view program, const AttentionProblem &problem);

/// A problem of the largest head dimension that a row of the table is for, with a variant if only those meet it, and
/// what the row says.
struct ShippedSchedule {
  AttentionProblem problem;
  Schedule schedule;
};

/// Returns the rows of the table that are chosen for one attention program on a target: for each element type, with and
/// without a causal mask.
std::vector<ShippedSchedule> shippedSchedules(const Target &target, std::string_view program);

} // namespace tegula
