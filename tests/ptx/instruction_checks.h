// SPDX-License-Identifier: MIT
#pragma once

#include "ptx/program.h"

namespace tegula::ptx_fuzz {

/// Finds out what an instruction with the given name and operands does, and completes it. Returns why ptxas or the
/// interpreter would refuse it, or "".
std::string complete(Instruction &instruction, const std::vector<unsigned> &registers);

} // namespace tegula::ptx_fuzz
