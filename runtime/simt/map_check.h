// SPDX-License-Identifier: MIT
// What a GPU's driver asks of a tensor map.
#pragma once

#include "tegula/simt_ops.h"

#include <string>

namespace tegula::simt {

/// The first rule of cuTensorMapEncodeTiled (CUDA driver API; not interleaved) that the map breaks, as a clause that
/// says what is legal; empty if it keeps them all.
std::string problemOf(const SimtTensorMap &map);

} // namespace tegula::simt
