// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/status.h"

namespace tegula::tools {

/// Runs `tegula devices`: prints a table of the machine's devices, and the assembler that is used for them.
Status devicesCommand();

} // namespace tegula::tools
