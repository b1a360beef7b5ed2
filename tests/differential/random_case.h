// SPDX-License-Identifier: MIT
// Makes random configurations. Those of one plan share their compiled kernels and differ in everything known at run
// time.
#pragma once

#include "harness/case.h"
#include "kernels/schedules.h"

#include <random>

namespace tegula::testing {

using Random = std::mt19937_64;

/// Returns a case with random fields that decide the kernels: element type, algorithm, mask, variant, block sizes and
/// head dimensions. On a GPU, a program instance has about 200 kB, so blocks of wide rows stay small.
Case randomPlan(Random &random, bool on_gpu);

/// Returns a case of the forward pass with one schedule. Elements have 16 bits, and head dimensions are at most the
/// problem's.
Case randomPlan(Random &random, const ShippedSchedule &shipped);

/// Returns `plan` with random lengths, heads, numbers and memory layout. If the plan has a producer, most cases have 3
/// blocks of keys or more.
Case randomLaunch(const Case &plan, Random &random);

} // namespace tegula::testing
