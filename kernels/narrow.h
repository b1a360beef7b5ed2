// SPDX-License-Identifier: MIT
// Casts between the widths of positions. Positions, and numbers of heads, blocks and tiles fit into 32 bits. 64-bit
// divisions take longer than the start of a tile should.
#pragma once

#include "tegula/dsl.h"

#include <initializer_list>

namespace tegula {

/// Returns an integer as i32.
inline Value narrow(Value x) { return cast(i32, x); }
/// Returns scalars of type i32 as a tile, for messages with several numbers.
inline Value listed(std::initializer_list<Value> scalars) {
  const int count = int(scalars.size());
  Var list = fill({count}, 0);
  for (int n = 0; n < count; ++n)
    list = select(iota(count) == n, scalars.begin()[n], list);
  return list;
}
/// Returns an integer as `index`, the type of a loop's positions.
inline Value wide(Value x) { return cast(DType::index, x); }

} // namespace tegula
