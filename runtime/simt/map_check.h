// SPDX-License-Identifier: MIT
// The rules that a GPU's driver has for tensor maps.
#pragma once

#include "tegula/simt_ops.h"

#include <string>

namespace tegula::simt {

/// Returns the first rule of cuTensorMapEncodeTiled (CUDA driver API; not interleaved) that the map breaks, as a clause
/// that says what is legal. Returns an empty string if the map keeps all rules.
std::string problemOf(const SimtTensorMap &map);

} // namespace tegula::simt
