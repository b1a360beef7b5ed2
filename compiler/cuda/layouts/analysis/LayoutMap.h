// SPDX-License-Identifier: MIT
// The layout of each tile of a program: a map that is closed under the rules that relate the layouts of tiles.
#pragma once

#include "compiler/sm/Sm.h"

#include "llvm/ADT/MapVector.h"

namespace tegula::cuda {

/// The layouts of tiles. An elementwise op has one layout for its operands and results. The init, body argument,
/// yielded value and result of a loop have one layout, and so have the yielded values and the result of a branch. A
/// reduction, broadcast, transpose or change of unit dimensions maps one layout to another.
class LayoutMap {
public:
  sm::LayoutAttr lookup(mlir::Value tile) const { return layouts_.lookup(tile); }

  /// Gives `tile` a layout unless it has one, then assigns all layouts that follow from it. Earlier assignments win:
  /// where two layouts meet, `required` differs from `lookup`.
  void assign(mlir::Value tile, sm::LayoutAttr layout);

  /// Gives a new tile a layout from which nothing follows.
  void record(mlir::Value tile, sm::LayoutAttr layout) { layouts_[tile] = layout; }

  /// Returns all tiles and their layouts.
  llvm::ArrayRef<std::pair<mlir::Value, sm::LayoutAttr>> all() const { return layouts_.getArrayRef(); }

  /// Returns the layout that an op requires of this operand, given the layouts of its results; null if it takes any
  /// layout.
  sm::LayoutAttr required(mlir::OpOperand &operand) const;

private:
  void follow(mlir::Value tile);
  void followUse(mlir::OpOperand &use, sm::LayoutAttr layout);
  void followDefinition(mlir::Value tile);
  /// Adds a tile to the map and to the list of tiles whose consequences are still to be found.
  void add(mlir::Value tile, sm::LayoutAttr layout);

  llvm::MapVector<mlir::Value, sm::LayoutAttr> layouts_;
  llvm::SmallVector<mlir::Value> pending_;
};

/// Returns true if `reshape` only adds or removes dimensions of size 1.
bool changesUnitDimsOnly(tile::ReshapeOp reshape);

} // namespace tegula::cuda
