// SPDX-License-Identifier: MIT
#include "workload/crop.h"

#include <cstddef>

namespace tegula::tools {
namespace {

/// Appends the elements of the axes from `axis` on. `at` is the index along the axes before, in C order.
void append(const std::vector<float> &array, const std::vector<int64_t> &shape, const std::vector<IndexRange> &ranges,
            size_t axis, int64_t at, std::vector<float> &part) {
  const auto &[begin, end] = ranges[axis];
  if (axis + 1 == shape.size()) {
    const auto row = array.begin() + at * shape[axis];
    part.insert(part.end(), row + begin, row + end);
    return;
  }
  for (int64_t index = begin; index < end; ++index)
    append(array, shape, ranges, axis + 1, at * shape[axis] + index, part);
}

} // namespace

std::vector<float> crop(const std::vector<float> &array, const std::vector<int64_t> &shape,
                        const std::vector<IndexRange> &ranges) {
  std::vector<float> part;
  append(array, shape, ranges, 0, 0, part);
  return part;
}

} // namespace tegula::tools
