// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace tegula::tile {

/// Some columns of a tile, which lie along its last dimension: `count` of its `size` columns, from `first` on and
/// `step` apart.
struct ColumnRange {
  int64_t first = 0, step = 1, count = 1, size = 1;
};

} // namespace tegula::tile
