// SPDX-License-Identifier: MIT
// Tuned schedules of attention: what decides which of the TunedConfigurations a problem gets.
#pragma once

#include "tegula/attention.h"

#include <optional>
#include <string>
#include <string_view>

namespace tegula {

/// Returns the part of a problem that decides which schedules are fast, as one line: "flash2 bf16 128 128 none", or for
/// a variant "flash2 bf16 128 128 none score peak f32[heads] alibi". `contain_nonfinite` stands before the mask if the
/// problem has it, because containment takes registers and shared memory. So do `dropout` and `decode`. A decode step
/// expects 16 queries or fewer, which fill at most one block. The line of a variant has
/// - the parts that take registers: a score, a mask, a peak, and the number of ranges,
/// - the element types and axes of the tensors that it reads,
/// - the reach of its bands, rounded up to powers of two, which decides what is visited,
/// - its name, which stands for what its functions compute. A parameter such as the cap of softcap does not count.
std::string problemClass(const AttentionProblem &problem);

/// Returns the sizes of a shape by the names of Axis: batch, heads, kv_heads, seqlen_q and seqlen_k.
Sizes attentionSizes(const AttentionShape &shape);

/// Returns the nearest schedule for the program and the class of a problem, and for its expected lengths. Heads and
/// entries of the batch may differ by any factor, because hosts rarely know them when they make a plan. Returns nullopt
/// if there is none, and for variants that have functions and no name, which cannot be told apart.
std::optional<Schedule> tunedSchedule(const TunedConfigurations &tuned, std::string_view program,
                                      const AttentionProblem &problem);

} // namespace tegula
