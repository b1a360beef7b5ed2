// SPDX-License-Identifier: MIT
// What must hold of the machine code of warpgroups that multiply, whatever the assembler made of it.
#pragma once

#include "sass/sass.h"

namespace tegula::testing {

/// Names each product between whose instructions something moves numbers to uniform registers (R2UR), or jumps: the
/// tensor cores wait meanwhile. Empty if there is none.
std::string interruptedMmas(const Sass &sass);

/// Names each instruction that touches accumulators, or overwrites operands in registers, while a product that uses
/// them may be in flight, on any path. Registers count by the name of their first one. Empty if there is none.
std::string touchedInFlight(const Sass &sass);

/// Names each product with an operand in registers that may hold what was loaded or what was computed: two tiles that
/// live at the same time were given the same registers. Empty if there is none.
std::string sharedFragments(const Sass &sass);

/// The order of one iteration: `consumer_wait` (waits for a tile in shared memory), `product`, `wait N` (until at most
/// N products are in flight), `exponentials` (8 or more; fewer do not count), `release` (of a tile's place),
/// `sequence_wait` and `sequence_arrive` (a warpgroup's turn to start MMAs begins and ends).
std::string orderOf(const Sass &sass, const SassLoop &loop);

/// Exponentials of one iteration.
int exponentialsOf(const Sass &sass, const SassLoop &loop);

} // namespace tegula::testing
