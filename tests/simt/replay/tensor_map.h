// SPDX-License-Identifier: MIT
// Tensor maps of a GPU.
#pragma once

#include "tegula/simt_ops.h"

#include <cstdint>

namespace tegula::test {

/// Writes 128 bytes, a CUtensorMap of the tensor at `address`; false if the driver cannot.
bool encodeTensorMap(const SimtTensorMap &map, uint64_t address, void *encoded);

} // namespace tegula::test
