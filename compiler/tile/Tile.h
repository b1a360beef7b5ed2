// SPDX-License-Identifier: MIT
// The `tile` dialect in C++. TileOps.td says what each op means.
#pragma once

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace tegula::tile {

/// What `tile.version` of a module must be.
constexpr int64_t programVersion = 1;
/// Of a loop whose iterations access nothing that another one writes.
constexpr llvm::StringLiteral parallelLoop = "tile.parallel";
/// Of a tile.dot that warps compute by themselves.
constexpr llvm::StringLiteral warpLocal = "tile.warp_local";
/// Of an scf.if whose second side is right in any case, and only slower than the first where that may be taken.
constexpr llvm::StringLiteral fastPath = "tile.fast_path";

/// A tile has 1 to 5 static, positive dimensions and at most 2^20 elements: larger ones are mistakes, and every pass
/// may hold one tile's elements in memory.
bool isTileShape(llvm::ArrayRef<int64_t> shape);

/// Returns a number on the module that `op` is or is in, such as `tile.num_warps`; `otherwise` if it has none of this
/// name.
int64_t setting(mlir::Operation *op, llvm::StringRef name, int64_t otherwise);
/// Returns whether the module that `op` is or is in has the attribute `name`, such as `tile.lhs_in_registers`, with the
/// value true.
bool isOn(mlir::Operation *op, llvm::StringRef name);
/// Returns whether the attribute `name` of the module that `op` is or is in is the string `word`.
bool isWord(mlir::Operation *op, llvm::StringRef name, llvm::StringRef word);
/// Returns whether some warps shall only load: `tile.roles = "load"`.
bool wantsRoles(mlir::Operation *op);

/// The view that `view` is sliced from, in the end: a tensor that the program was given.
mlir::Value tensorOf(mlir::Value view);
/// Whether the program only reads the tensor behind `view`.
bool isReadOnly(mlir::Value view);

} // namespace tegula::tile

#include "compiler/tile/TileDialect.h.inc"
#include "compiler/tile/TileEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/tile/TileTypes.h.inc"

#define GET_OP_CLASSES
#include "compiler/tile/TileOps.h.inc"
