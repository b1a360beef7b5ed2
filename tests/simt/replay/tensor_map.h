// SPDX-License-Identifier: MIT
// Encodes tensor maps for a GPU.
#pragma once

#include "tegula/device.h"
#include "tegula/simt_ops.h"

#include <cstdint>

namespace tegula::test {

/// Writes a CUtensorMap of the tensor at `address` to the 128 bytes at `encoded`. The error has the driver's words and
/// all arguments.
Status encodeTensorMap(Device &gpu, const SimtTensorMap &map, uint64_t address, void *encoded);

} // namespace tegula::test
