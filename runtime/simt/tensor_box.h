// SPDX-License-Identifier: MIT
// The bytes of a bulk copy: a box of a tensor, row by row, and its image in shared memory.
#pragma once

#include "tegula/simt_ops.h"

#include <array>
#include <cstdint>

namespace tegula::simt {

/// The bytes of a row of a box that lie inside the tensor: [first, first + bytes) of the row, from `address` on.
struct BoxRow {
  uint64_t address = 0;
  uint32_t first = 0, bytes = 0;
};

class TensorBox {
public:
  TensorBox(const SimtTensorMap &map, const std::array<int32_t, 5> &corner) : map_(map), corner_(corner) {}

  uint32_t rowBytes() const { return map_.box[0] * map_.element_bytes; }
  uint32_t rows() const;
  uint32_t bytes() const { return rows() * rowBytes(); }
  BoxRow row(uint32_t index) const;

private:
  SimtTensorMap map_;
  std::array<int32_t, 5> corner_;
};

/// Returns the address at which a swizzle puts the 16 bytes of `address`. They change places with others in a row of
/// `span` bytes: 32, 64, 128, or 0 for no swizzle.
constexpr uint32_t swizzled(uint32_t address, uint32_t span) {
  return span == 0 ? address : address ^ ((address >> 7 & (span / 16 - 1)) << 4);
}

} // namespace tegula::simt
