// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/attention.h"

#include <string_view>
#include <vector>

namespace tegula {

/// `given`, with what is 0 in it chosen for one attention program on a target: by `tuned`, unless that is null or
/// something is given, else from a table. `problem` has passed checkProblem.
Schedule chooseSchedule(const Target &target, std::string_view program, const AttentionProblem &problem, Schedule given,
                        const TunedSchedules *tuned);

/// A problem of the largest head dimension that a row of the table is for, with a variant if only those meet it, and
/// what the row says.
struct ShippedSchedule {
  AttentionProblem problem;
  Schedule schedule;
};

/// The rows that one attention program meets on a target, each with every element type and with and without a causal
/// mask, where it is the row that is chosen.
std::vector<ShippedSchedule> shippedSchedules(const Target &target, std::string_view program);

} // namespace tegula
