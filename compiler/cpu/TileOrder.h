// SPDX-License-Identifier: MIT
// The order of the elements of a buffered tile, and the attributes that record it.
#pragma once

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace tegula::cpu {

/// The order of a tile's elements in memory. Row: the last dimension is contiguous. Column: the first dimension is
/// contiguous. Only tiles of rank 2 may have the order Column.
enum class Order { Row, Column };

inline constexpr llvm::StringLiteral kBufferAttr = "tile.buffer";    ///< On an op: the order of its result's buffer.
inline constexpr llvm::StringLiteral kBuffersAttr = "tile.buffers";  ///< On a loop or branch: one order per result.
inline constexpr llvm::StringLiteral kInPlaceAttr = "tile.in_place"; ///< The result overwrites a loop-carried tile.
inline constexpr llvm::StringLiteral kPackAttr = "tile.pack"; ///< On a dot: copy the operand along which vectors run.
/// On a dot: vectors run along the depth, in both operands. Without it they run along the result.
inline constexpr llvm::StringLiteral kAlongDepthAttr = "tile.along_depth";

/// On a load: dots read the tensor itself where it has the whole tile with contiguous rows.
inline constexpr llvm::StringLiteral kAliasAttr = "tile.alias";
/// On a load with an alias: the next iteration of its loop loads the rows that follow.
inline constexpr llvm::StringLiteral kContinuesAttr = "tile.continues";

/// On a module: the number of 32-bit elements in a vector register, 8 (AVX2) or 16 (AVX-512).
inline constexpr llvm::StringLiteral kLanesSetting = "tile.lanes";
inline constexpr int64_t kDefaultLanes = 8;

inline llvm::StringRef toWord(Order order) { return order == Order::Row ? "row" : "column"; }
inline Order toOrder(llvm::StringRef word) { return word == "column" ? Order::Column : Order::Row; }

inline mlir::RankedTensorType tileType(mlir::Value value) {
  return llvm::dyn_cast<mlir::RankedTensorType>(value.getType());
}

/// Returns true if `op` computes each element of its only result, a tile, from the same element of its operands.
bool isElementwise(mlir::Operation *op);

} // namespace tegula::cpu
