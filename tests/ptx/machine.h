// SPDX-License-Identifier: MIT
// Executes one thread of a PTX program.
#pragma once

#include "ptx/program.h"

namespace tegula::ptx_fuzz {

/// Where the memory of a run starts.
inline constexpr uint64_t kMemoryAddress = 0x7f0000001000;

/// Runs the program on `memory`, and changes it. `parameters` is the block of parameters, each at a multiple of its
/// size. Returns why the program cannot go on, or "" if it ends.
std::string execute(const Program &program, const std::vector<uint8_t> &parameters, std::vector<uint8_t> &memory);

} // namespace tegula::ptx_fuzz
