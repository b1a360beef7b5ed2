// SPDX-License-Identifier: MIT
// The addresses of a thread in a tile in shared memory.
#pragma once

#include "compiler/cuda/threads/Threads.h"
#include "compiler/sm/Storage.h"

namespace tegula::cuda {

/// The first element of a thread in a tile: its coordinates (i32), and what is known about them at compile time.
struct Origin {
  llvm::SmallVector<mlir::Value, 5> coordinates;
  llvm::SmallVector<sm::Spread> spread;
};

/// Returns the type that an element has in memory: a byte for an i1.
mlir::Type storedType(mlir::Type element);

/// Returns the origin of this thread in a tile of rank `rank` with this layout.
Origin originOf(Threads &t, sm::LayoutAttr layout, unsigned rank);

/// The addresses of elements at constant distances from the thread's origin. Constants become immediates. At run time,
/// each distinct pattern of chunks costs one exclusive or and one addition of the tile's address.
class SharedTile {
public:
  SharedTile(Threads &t, SharedPlace shared, Origin origin)
      : SharedTile(t, shared, std::move(origin), shared.type.getShape()) {}
  /// Addresses the buffer, which must have no panels, as if it had the shape `shape`.
  SharedTile(Threads &t, SharedPlace shared, Origin origin, llvm::ArrayRef<int64_t> shape);

  mlir::Value at(llvm::ArrayRef<int64_t> distance);
  /// Returns the address of the element at `distance`. If the element is outside the buffer, returns the address of
  /// another element inside, which has at least `elements` elements from itself to the end of its row.
  mlir::Value atOrInside(llvm::ArrayRef<int64_t> distance, int64_t elements);
  /// Returns an i1: true if the element at `distance` is in the buffer. Null if it is in all threads.
  mlir::Value contains(llvm::ArrayRef<int64_t> distance);

  sm::SharedType type() const { return type_; }
  llvm::ArrayRef<int64_t> shape() const { return shape_; }
  llvm::ArrayRef<sm::Spread> spread() const { return origin_.spread; }

private:
  /// Emits the distance in bytes from the start of the tile.
  mlir::Value offset(mlir::ValueRange coordinates, llvm::ArrayRef<sm::Spread> spread);
  mlir::Value plainOffset(mlir::ValueRange coordinates);

  Scalars &s;
  sm::SharedType type_;
  llvm::SmallVector<int64_t, 5> shape_;
  Origin origin_;
  mlir::Value address_, place_;
};

/// Writes a tile of registers to a tile of shared memory, with zeros beyond the tile.
void writeTile(Threads &t, mlir::Value tile, SharedPlace shared);
/// Writes f32 accumulators to panels of 128 bytes. Odd rows write the two blocks of a panel in the other order: if all
/// threads wrote the same block, rows 2i and 2i + 1 would meet in the same banks, because the swizzle only swaps the
/// two chunks of 16 bytes that the 4 lanes of a row write.
void writeStaggered(Threads &t, mlir::Value held, SharedPlace place);

} // namespace tegula::cuda
