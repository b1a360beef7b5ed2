// SPDX-License-Identifier: MIT
// A tile in shared memory as one thread addresses it.
#pragma once

#include "compiler/cuda/Threads.h"
#include "compiler/sm/Storage.h"

namespace tegula::cuda {

/// Where a thread is in a tile: coordinates (i32), and what is known of them at compile time.
struct Origin {
  llvm::SmallVector<mlir::Value, 5> coordinates;
  llvm::SmallVector<sm::Spread> spread;
};

/// Of the threads of a layout in a tile of rank `rank`.
Origin originOf(Threads &t, sm::LayoutAttr layout, unsigned rank);

/// Addresses of elements that lie at constant distances from the thread's origin. Constants become immediates: what is
/// left to compute is one exclusive or for each distinct pattern of chunks, and one addition of the tile's address.
class SharedTile {
public:
  SharedTile(Threads &t, mlir::Value shared, Origin origin)
      : SharedTile(t, shared, std::move(origin), mlir::cast<sm::SharedType>(shared.getType()).getShape()) {}
  /// As if the buffer, which has no panels, had another shape.
  SharedTile(Threads &t, mlir::Value shared, Origin origin, llvm::ArrayRef<int64_t> shape);

  mlir::Value at(llvm::ArrayRef<int64_t> distance);
  /// The same; where that is not in the buffer, another place in it with as many elements behind it in its row.
  mlir::Value atOrInside(llvm::ArrayRef<int64_t> distance, int64_t elements);
  /// Whether the element at `distance` is in the buffer; null if it is for all threads.
  mlir::Value contains(llvm::ArrayRef<int64_t> distance);

  sm::SharedType type() const { return type_; }
  llvm::ArrayRef<int64_t> shape() const { return shape_; }
  llvm::ArrayRef<sm::Spread> spread() const { return origin_.spread; }

private:
  /// Bytes from the start of the tile.
  mlir::Value offset(mlir::ValueRange coordinates, llvm::ArrayRef<sm::Spread> spread);
  mlir::Value plainOffset(mlir::ValueRange coordinates);

  Scalars &s;
  sm::SharedType type_;
  llvm::SmallVector<int64_t, 5> shape_;
  Origin origin_;
  mlir::Value address_, place_;
};

} // namespace tegula::cuda
