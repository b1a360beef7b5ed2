// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace tegula {

/// Returns the number of blocks that cover a length.
constexpr int64_t blocks(int64_t length, int block) { return length / block + (length % block != 0); }

} // namespace tegula
