// SPDX-License-Identifier: MIT
#pragma once

#include "compiler/tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace tegula {

/// Returns the side of a branch that usually runs: the else side if the branch is `tile.rare`, which is null if there
/// is none, and otherwise the then side.
inline mlir::Block *commonSide(mlir::scf::IfOp branch) {
  return branch->hasAttr(tile::rare) ? branch.elseBlock() : branch.thenBlock();
}

} // namespace tegula
