// SPDX-License-Identifier: MIT
// Runs two PTX programs on the same inputs.
#pragma once

#include "ptx/program.h"
#include "ptx/verdict.h"

#include <cstdint>

namespace tegula::ptx_fuzz {

/// Compares two programs of the same kernel on random inputs that follow from `seed`.
Verdict compare(const Program &ours, const Program &theirs, uint64_t seed);

} // namespace tegula::ptx_fuzz
