// SPDX-License-Identifier: MIT
// Which layout each tile of a program gets: a map that closes itself under the rules that tie tiles together.
#pragma once

#include "compiler/sm/Sm.h"

#include "llvm/ADT/MapVector.h"

namespace tegula::cuda {

/// The rules: an elementwise operation's operands and results agree, as do what a loop or branch passes on; a
/// reduction, broadcast, transpose or change of unit dimensions maps one layout to another.
class LayoutMap {
public:
  sm::LayoutAttr lookup(mlir::Value tile) const { return layouts_.lookup(tile); }

  /// Gives `tile` a layout unless it has one, and then everything that follows from it. First come, first served: where
  /// two meet, `required` differs from `lookup`.
  void assign(mlir::Value tile, sm::LayoutAttr layout);

  /// Gives a new tile a layout from which nothing follows.
  void record(mlir::Value tile, sm::LayoutAttr layout) { layouts_[tile] = layout; }

  /// All tiles and their layouts.
  llvm::ArrayRef<std::pair<mlir::Value, sm::LayoutAttr>> all() const { return layouts_.getArrayRef(); }

  /// The layout in which an operation takes this operand, given its results' layouts; none if it takes any.
  sm::LayoutAttr required(mlir::OpOperand &operand) const;

private:
  void follow(mlir::Value tile);
  void followUse(mlir::OpOperand &use, sm::LayoutAttr layout);
  void followDefinition(mlir::Value tile);
  /// Adds to the map and to what is to be followed.
  void add(mlir::Value tile, sm::LayoutAttr layout);

  llvm::MapVector<mlir::Value, sm::LayoutAttr> layouts_;
  llvm::SmallVector<mlir::Value> pending_;
};

/// Whether `reshape` only adds or removes dimensions of size 1.
bool changesUnitDimsOnly(tile::ReshapeOp reshape);

} // namespace tegula::cuda
