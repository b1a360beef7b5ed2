// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/program.h"
#include "tegula/status.h"

namespace tegula {

/// Records the program that sets a tensor of a plan's workspace to 0.
Expected<Program> recordZeroProgram();

} // namespace tegula
