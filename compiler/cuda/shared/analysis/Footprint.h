// SPDX-License-Identifier: MIT
// Footprints of accesses: the elements that each thread of a thread block touches.
#pragma once

#include "compiler/sm/Sm.h"

#include "mlir/IR/OpDefinition.h"

#include <optional>

namespace tegula::cuda {

/// A coordinate of a tile's position: a value, or the variable of a loop whose tiles do not overlap.
struct Coordinate {
  mlir::Value fixed;             ///< The coordinate; null if it is the variable of a loop.
  mlir::OpFoldResult first = {}; ///< The lower bound of the loop.
  int64_t step = 0;              ///< The step of the loop.

  bool operator==(const Coordinate &) const = default;
};

/// The elements that each thread touches in one access to a view or a shared buffer. Two accesses to the same address
/// with equal tiles and footprints give each element to the same thread, as long as the values named here have not
/// changed.
struct Footprint {
  mlir::Value view = {}; ///< The view, or the view that is copied to the buffer; null for other accesses to buffers.
  mlir::Type tile = {};  ///< In registers or shared memory; null if only the rows are known.
  llvm::SmallVector<Coordinate, 2> position = {};
  int64_t ofWarp[2] = {};   ///< Rows and columns of each warp, if it accesses only its own; otherwise 0.
  bool ofMma = false;       ///< True for an operand of `sm.wgmma`, which all lanes wait for.
  bool ofFirstWarp = false; ///< True if only the first warp accesses elements.
  bool byOneLane = false;   ///< True if one lane accesses all elements of its warp.

  bool operator==(const Footprint &) const = default;
  /// Forgets everything that depends on values of `loop`, because they differ in its next iteration.
  void forgetValuesOf(mlir::Operation *loop);
  /// Returns true if several threads have the same element. All of them load it; only one stores it.
  bool isReplicated() const;
  /// Returns true if several threads have the same element and all of them are in one warp.
  bool hasCopiesOfOneWarp() const;
  /// Returns true if each warp meets only its own accesses. Both accesses must have the same rows (`dim` 0) or columns
  /// (1).
  bool isOfSameWarps(const Footprint &other, unsigned dim) const;
};

/// Returns the footprint of the access of `op` to its operand `place`; none if a footprint cannot describe it.
std::optional<Footprint> footprintOf(mlir::Operation *op, mlir::Value place);

} // namespace tegula::cuda
