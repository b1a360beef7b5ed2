// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/status.h"

namespace tegula::tools {

/// `tegula devices`: a table of the machine's devices, and what assembles for them.
Status devicesCommand();

} // namespace tegula::tools
