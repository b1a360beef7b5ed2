// SPDX-License-Identifier: MIT
// Which elements the threads of a block touch.
#pragma once

#include "compiler/sm/Sm.h"

#include <optional>

namespace tegula::cuda {

/// A coordinate of a tile's position.
struct Coordinate {
  mlir::Value fixed; ///< The same throughout the program instance; null if a loop counts.
  int64_t first = 0; ///< The tiles of the loop begin here,
  int64_t step = 0;  ///< and do not overlap.

  bool operator==(const Coordinate &) const = default;
};

/// Of a load or store, or of a copy to a buffer in shared memory. Two of the same footprint give each element to the
/// same threads, in all iterations of all loops.
struct Footprint {
  mlir::Value view;
  mlir::Type tile; ///< In registers or shared memory.
  llvm::SmallVector<Coordinate, 2> position;
  int64_t rowsOfWarp = 0; ///< Of shared memory, if each warp accesses its own rows only.
  bool ofProduct = false; ///< Of a warpgroup's, which all lanes wait for.

  bool operator==(const Footprint &) const = default;
  /// Whether several threads load the same element; only one of them stores it.
  bool hasCopies() const;
  /// Whether those threads are of one warp.
  bool hasCopiesOfOneWarp() const;
  /// Whether each warp meets only its own accesses, if both begin in the same place.
  bool isOfSameWarps(const Footprint &other) const;
};

/// Of the access of `op` to its operand `place`; none where threads and elements depend on more than a footprint says.
std::optional<Footprint> footprintOf(mlir::Operation *op, mlir::Value place);

} // namespace tegula::cuda
