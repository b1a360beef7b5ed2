// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace tegula::ptx_fuzz {

/// Replaces one instruction of our texts by a similar one, and looks for a kernel among those from `seed` on whose
/// results then differ from LLVM's. Does so for each mutant of a list. Prints how many kernels it took, and returns the
/// number of mutants that no kernel shows.
int runMutants(uint64_t seed, uint64_t count);

} // namespace tegula::ptx_fuzz
