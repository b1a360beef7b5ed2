// SPDX-License-Identifier: MIT
// Which elements the threads of a block touch.
#pragma once

#include "compiler/sm/Sm.h"

#include "mlir/IR/OpDefinition.h"

#include <optional>

namespace tegula::cuda {

/// A coordinate of a tile's position.
struct Coordinate {
  mlir::Value fixed;             ///< Null if a loop counts.
  mlir::OpFoldResult first = {}; ///< The tiles of the loop begin here,
  int64_t step = 0;              ///< and do not overlap.

  bool operator==(const Coordinate &) const = default;
};

/// Of an access to a view, or to a buffer in shared memory. Two of the same tile and footprint in the same place
/// give each element to the same threads, as long as the values that it names are what they were.
struct Footprint {
  mlir::Value view = {}; ///< The copied one if a copy accesses a buffer, else null for those.
  mlir::Type tile = {};  ///< In registers or shared memory; null where only rows are known.
  llvm::SmallVector<Coordinate, 2> position = {};
  int64_t ofWarp[2] = {};   ///< If each warp accesses its own rows only: how many; and columns.
  bool ofMma = false;       ///< Of a warpgroup's, which all lanes wait for.
  bool ofFirstWarp = false; ///< No other warp accesses anything, wherever it is.

  bool operator==(const Footprint &) const = default;
  /// Keeps what does not depend on values of a loop, which are others in its next iteration.
  void forgetValuesOf(mlir::Operation *loop);
  /// Whether several threads load the same element; only one of them stores it.
  bool hasCopies() const;
  /// Whether those threads are of one warp.
  bool hasCopiesOfOneWarp() const;
  /// Whether each warp meets only its own accesses, if both have the same rows (`dim` 0) or columns (1).
  bool isOfSameWarps(const Footprint &other, unsigned dim) const;
};

/// Of the access of `op` to its operand `place`; none where threads and elements depend on more than a footprint says.
std::optional<Footprint> footprintOf(mlir::Operation *op, mlir::Value place);

} // namespace tegula::cuda
