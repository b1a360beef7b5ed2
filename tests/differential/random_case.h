// SPDX-License-Identifier: MIT
// Random configurations. Those of one plan share their compiled kernels and differ in all that is known at run time.
#pragma once

#include "harness/case.h"
#include "kernels/schedules.h"

#include <random>

namespace tegula::testing {

using Random = std::mt19937_64;

/// Fields that decide the kernels: element type, algorithm, mask, variant, block sizes and head dimensions. On a GPU a
/// program instance has some 200 kB: blocks of wide rows stay small.
Case randomPlan(Random &random, bool on_gpu);

/// The same for the forward pass with one schedule: 16-bit elements, and head dimensions up to those of its problem.
Case randomPlan(Random &random, const ShippedSchedule &shipped);

/// `plan` with random lengths, heads, numbers and memory layout; most have 3 blocks of keys or more if the plan has
/// roles.
Case randomLaunch(const Case &plan, Random &random);

} // namespace tegula::testing
