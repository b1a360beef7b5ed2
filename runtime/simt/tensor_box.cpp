// SPDX-License-Identifier: MIT
#include "simt/tensor_box.h"

#include <algorithm>

namespace tegula::simt {

uint32_t TensorBox::rows() const {
  uint32_t rows = 1;
  for (uint32_t d = 1; d < map_.rank; ++d)
    rows *= map_.box[d];
  return rows;
}

BoxRow TensorBox::row(uint32_t index) const {
  uint64_t offset = 0; // TMA adds strides modulo 2^64.
  for (uint32_t d = 1; d < map_.rank; ++d) {
    const int64_t at = int64_t{corner_[d]} + index % map_.box[d];
    index /= map_.box[d];
    if (at < 0 || at >= static_cast<int64_t>(map_.size[d]))
      return {};
    offset += static_cast<uint64_t>(at) * map_.stride[d - 1];
  }
  const auto size = static_cast<int64_t>(map_.size[0]);
  const int64_t from = std::clamp<int64_t>(corner_[0], 0, size);
  const int64_t to = std::clamp<int64_t>(int64_t{corner_[0]} + map_.box[0], from, size);
  const int64_t width = map_.element_bytes;
  return {.address = map_.address + offset + static_cast<uint64_t>(from * width),
          .first = static_cast<uint32_t>((from - corner_[0]) * width),
          .bytes = static_cast<uint32_t>((to - from) * width)};
}

} // namespace tegula::simt
