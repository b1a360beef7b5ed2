// SPDX-License-Identifier: MIT
// The table of functions that kernels call.
#pragma once

#include "tegula/simt_ops.h"

namespace tegula::simt {

extern const SimtOps simtOps;

} // namespace tegula::simt
