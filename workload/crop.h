// SPDX-License-Identifier: MIT
// Parts of arrays on the host.
#pragma once

#include <cstdint>
#include <vector>

namespace tegula::tools {

/// The indices from `begin` up to, not including, `end`.
struct IndexRange {
  int64_t begin = 0, end = 0;
};

/// Returns the elements of an array in C order whose indices lie in `ranges`, one range for each axis.
std::vector<float> crop(const std::vector<float> &array, const std::vector<int64_t> &shape,
                        const std::vector<IndexRange> &ranges);

} // namespace tegula::tools
