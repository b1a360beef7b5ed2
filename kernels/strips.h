// SPDX-License-Identifier: MIT
// Blocks of queries or keys that are listed, because sequences lie one after another (Variant::sequences). A block that
// has rows of two long sequences visits the tiles of both.
#pragma once

#include "tegula/attention.h"
#include "tegula/size.h"

#include <optional>
#include <string_view>

namespace tegula {

/// The tensors of Variant::sequences.
inline constexpr const char *kQueryOffsets = "query_offsets", *kKeyOffsets = "key_offsets";

/// Returns true if the blocks of a program are listed.
bool hasStrips(const AttentionProblem &problem, std::string_view program);

/// The rows of a block.
struct BlockRows {
  Value first;
  std::optional<Value> end = {}; ///< None: the block ends with its size or the last row.

  /// Returns the rows of a view that come before the end.
  View of(View rows) const { return end ? rows.rows(constant(DType::index, 0), *end) : rows; }
};

/// Returns the number of listed blocks. `strips` is query_strips or key_strips.
Value countOfStrips(View strips);
/// Returns the rows of a listed block; none if there is no such block.
BlockRows rowsOfStrip(View strips, Value block);

/// Returns a bound of the number of listed blocks of `length` rows, whatever the sequences are.
Size mostStrips(const Size &length, int block);
/// Returns a bound for a number of sequences, counting what follows the last one.
Size mostStrips(const Size &length, int block, const Size &sequences);

} // namespace tegula
