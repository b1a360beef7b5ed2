// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/attention.h"

#include <string_view>
#include <vector>

namespace tegula {

/// Checks that the tiles of one attention program fit into the shared memory of a target.
Status checkRoom(const Target &target, std::string_view program, const AttentionProblem &problem);

/// Returns `given` with a value in each field that has none, for one attention program on a target: from `tuned`,
/// unless that is null or something is given, else from schedules.json. `problem` has passed checkProblem.
Schedule chooseSchedule(const Target &target, std::string_view program, const AttentionProblem &problem, Schedule given,
                        const TunedConfigurations *tuned);

/// Returns the index of the row of schedules.json that a problem gets. `problem` has passed checkProblem.
size_t shippedRow(const Target &target, std::string_view program, const AttentionProblem &problem);

/// A schedule of the table, and a problem for which it is chosen, of the largest head dimension of its row, and with a
/// variant if only those meet it.
struct ShippedSchedule {
  AttentionProblem problem;
  Schedule schedule;
};

/// Returns the rows of the table that are chosen for one attention program on a target: for each element type, with and
/// without a causal mask.
std::vector<ShippedSchedule> shippedSchedules(const Target &target, std::string_view program);

} // namespace tegula
