// SPDX-License-Identifier: MIT
// Rules for the machine code of warpgroups that multiply. They hold for every choice that ptxas makes.
#pragma once

#include "sass/sass.h"

namespace tegula::testing {

/// Returns a line for each instruction inside an MMA that moves numbers to uniform registers (R2UR) or jumps: the
/// tensor cores wait meanwhile. Returns an empty string if there is none.
std::string interruptedMmas(const Sass &sass);

/// Returns a line for each instruction that touches accumulators, or overwrites operands in registers, while an MMA
/// that uses them may be in flight on any path. A register range counts as its first register. Empty if there is none.
std::string touchedInFlight(const Sass &sass);

/// Returns a line for each MMA with an operand in registers that may hold loaded or computed numbers: two tiles that
/// live at the same time have the same registers. Empty if there is none.
std::string sharedFragments(const Sass &sass);

/// Returns the order of one iteration. Its words are `consumer_wait` (for a tile in shared memory), `product` (an MMA),
/// `wait N` (until at most N MMAs are in flight), `exponentials` (8 or more; fewer do not count), `release` (of a
/// slot), `sequence_wait` and `sequence_arrive` (a warpgroup takes and passes the mutex for MMAs).
std::string orderOf(const Sass &sass, const SassLoop &loop);

/// Returns how often one iteration has an opcode, such as MUFU.EX2, with or without modifiers.
int countOf(const Sass &sass, const SassLoop &loop, std::string_view opcode);

} // namespace tegula::testing
