// SPDX-License-Identifier: MIT
// Registration and generated code; recompiled only when a .td file changes.
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "compiler/tile/TileDialect.cpp.inc"
#include "compiler/tile/TileEnums.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/tile/TileTypes.cpp.inc"

#define GET_OP_CLASSES
#include "compiler/tile/TileOps.cpp.inc"

void tegula::tile::TileDialect::initialize() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "compiler/tile/TileTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "compiler/tile/TileOps.cpp.inc"
      >();
}
