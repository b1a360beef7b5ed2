// SPDX-License-Identifier: MIT
// Tensor maps of a GPU.
#pragma once

#include "tegula/device.h"
#include "tegula/simt_ops.h"

#include <cstdint>

namespace tegula::test {

/// Writes 128 bytes, a CUtensorMap of the tensor at `address`. The error has the driver's words and all arguments.
Status encodeTensorMap(Device &gpu, const SimtTensorMap &map, uint64_t address, void *encoded);

} // namespace tegula::test
