// SPDX-License-Identifier: MIT
// The `tile` dialect in C++. TileOps.td says what each op means.
#pragma once

#include "compiler/tile/ColumnRange.h"
#include "compiler/tile/ViewParts.h"

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"

namespace tegula::tile {

/// The version of the vocabulary, which `tile.version` of a module must be.
constexpr int64_t programVersion = 1;
/// Marks a loop whose iterations access nothing that another iteration writes.
constexpr llvm::StringLiteral parallelLoop = "tile.parallel";
/// The names of the schedule's fields that the compiler chose, on the module.
constexpr llvm::StringLiteral chosen = "tile.chosen";
/// Marks a tile.dot of which each warp computes its own rows, independently of other warps.
constexpr llvm::StringLiteral warpLocal = "tile.warp_local";
/// A bool on a tile.dot: true if warpgroups compute it as its transpose, from exchanged operands.
constexpr llvm::StringLiteral flipped = "tile.flipped";
/// An array of two numbers on a tile.dot: the warpgroups along the rows and along the columns of what they compute.
/// With `tile.flipped`, these are the rows and columns of the transpose.
constexpr llvm::StringLiteral warpgroups = "tile.warpgroups";
/// On a module, true if the GPU has tensor memory. A unit attribute on a tile.dot: its accumulators are there.
constexpr llvm::StringLiteral hasTensorMemory = "tile.has_tensor_memory", inTensorMemory = "tile.in_tensor_memory";
/// The label of a product, which a tile.dot passes on to its MMA, and the step list of an scf.for, which says in which
/// order its MMAs start (sm/Steps.h). The step list of a module is for all loops whose MMAs have its labels.
constexpr llvm::StringLiteral label = "tile.label", steps = "tile.steps";
/// Marks an scf.if whose else side is always right. Its then side is a faster version for the case that the condition
/// is true.
constexpr llvm::StringLiteral fastPath = "tile.fast_path";
/// Marks an scf.if whose then side rarely runs: in the first iteration of a loop, or if a check of the compiler fails.
/// A tile.load or tile.atomic_add with it rarely runs, so it takes few registers and instructions.
constexpr llvm::StringLiteral rare = "tile.rare";

/// Gives an op that computes a product, or a part of it, what is known of the product: all discardable attributes of
/// the op that it replaces, such as `tile.label`. Leaves out those in `obeyed`, which the replacement has carried out.
void inheritAttributes(mlir::Operation *product, mlir::Operation *replaced,
                       llvm::ArrayRef<llvm::StringRef> obeyed = {});

/// Returns true if a tile may have this shape: 1 to 5 static, positive dimensions and at most 2^20 elements. Larger
/// tiles are mistakes, and every pass may keep one tile's elements in memory.
bool isTileShape(llvm::ArrayRef<int64_t> shape);

/// Returns the integer attribute `name`, such as `tile.num_warps`, of the module that `op` is or is in. Returns
/// `otherwise` if the module has no such attribute.
int64_t setting(mlir::Operation *op, llvm::StringRef name, int64_t otherwise);
/// Returns true if the module that `op` is or is in has the attribute `name`, such as `tile.lhs_in_registers`, with the
/// value true.
bool isOn(mlir::Operation *op, llvm::StringRef name);
/// Returns true if the module that `op` is or is in has the attribute `name` with the string `word`.
bool isWord(mlir::Operation *op, llvm::StringRef name, llvm::StringRef word);
/// Returns `setting`, such as "overlap=pingpong", as a remark names it. If the field is in the module's `tile.chosen`,
/// the remark says that the compiler chose it.
std::string nameSetting(mlir::Operation *op, llvm::StringRef setting);
/// Returns true if the program asks for warp specialization: `tile.roles = "load"`.
bool wantsRoles(mlir::Operation *op);

/// Returns what `place` is a view of, directly or through other views: of a view the tensor, which is a function
/// argument in most programs; of a tile in shared memory the `sm.alloc`.
mlir::Value rootOf(mlir::Value place);
/// Returns true if the first dimension of `view` is that of a `tile.pages`, or some rows of it.
bool isInPages(mlir::Value view);
/// Returns true if the tensor that `view` is sliced from is a function argument and is not written.
bool isReadOnly(mlir::Value view);
/// Returns true for a floating-point type of less than 32 bits, whose numbers arithmetic widens to f32.
bool isNarrowFloat(mlir::Type type);

} // namespace tegula::tile

#include "compiler/tile/TileDialect.h.inc"
#include "compiler/tile/TileEnums.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/tile/TileTypes.h.inc"

#include "compiler/tile/ViewInterface.h.inc"

#define GET_OP_CLASSES
#include "compiler/tile/TileOps.h.inc"
