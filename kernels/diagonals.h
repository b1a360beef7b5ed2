// SPDX-License-Identifier: MIT
// The diagonal of a problem, from which its causal mask and all parts of its variant count.
#pragma once

#include "tegula/attention.h"
#include "tegula/attention_words.h"

namespace tegula {

/// The end of an error about two diagonals.
inline constexpr const char *kOneDiagonal =
    "; a problem has one diagonal: make all of them top_left, or all bottom_right";

/// Returns invalid_argument, with the two parts, if a part counts from another diagonal than the first part.
Status checkDiagonals(const AttentionProblem &problem);

} // namespace tegula
