// SPDX-License-Identifier: MIT
// A problem has one diagonal, from which its causal mask and all parts of its variant count.
#pragma once

#include "tegula/attention.h"
#include "tegula/attention_words.h"

namespace tegula {

/// Ends an error about two diagonals.
inline constexpr const char *kOneDiagonal =
    "; a problem has one diagonal: make all of them top_left, or all bottom_right";

/// Returns invalid_argument, with the two parts, if a part counts from another diagonal than one before it.
Status checkDiagonals(const AttentionProblem &problem);

} // namespace tegula
