// SPDX-License-Identifier: MIT
// Where the bytes of a bulk copy lie: a box of a tensor, row by row, and its image in shared memory.
#pragma once

#include "tegula/simt_ops.h"

#include <array>
#include <cstdint>

namespace tegula::simt {

/// Bytes of one row of a box that exist: [first, first + bytes), the first of which is at `address`.
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

/// Where 16 bytes that would be at `address` lie: in a row of `span` bytes (0, 32, 64, 128) they change places with
/// others.
constexpr uint32_t swizzled(uint32_t address, uint32_t span) {
  return span == 0 ? address : address ^ ((address >> 7 & (span / 16 - 1)) << 4);
}

} // namespace tegula::simt
