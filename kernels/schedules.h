// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/attention.h"

#include <string_view>
#include <vector>

namespace tegula {

/// Returns `given` with a value in each field that is 0, for one attention program on a target. If `given` is empty and
/// `tuned` is not null and knows the problem, returns the tuned schedule. Otherwise the values come from a table.
/// `problem` has passed checkProblem.
Schedule chooseSchedule(const Target &target, std::string_view program, const AttentionProblem &problem, Schedule given,
                        const TunedSchedules *tuned);

/// A schedule of the table, and a problem for which it is chosen. The problem has the row's largest head dimension, and
/// a variant if the row is only for variants.
struct ShippedSchedule {
  AttentionProblem problem;
  Schedule schedule;
};

/// Returns the rows of the table that are chosen for one attention program on a target: for each element type, with and
/// without a causal mask.
std::vector<ShippedSchedule> shippedSchedules(const Target &target, std::string_view program);

} // namespace tegula
