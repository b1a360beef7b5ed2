// SPDX-License-Identifier: MIT
// The `sm` dialect in C++. SmOps.td says what each op means.
#pragma once

#include "compiler/sm/Layout.h"
#include "compiler/tile/Tile.h"

#include "compiler/sm/SmDialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/sm/SmAttributes.h.inc"

#define GET_TYPEDEF_CLASSES
#include "compiler/sm/SmTypes.h.inc"

#define GET_OP_CLASSES
#include "compiler/sm/SmOps.h.inc"

namespace tegula::sm {

/// The registers of one lane in all warps together, of a block that shares a multiprocessor with `blocks` - 1 others:
/// what roles may share out is what its threads have been started with.
int64_t registersOfBlock(int64_t warps, int64_t blocks);
/// Of a thread: a role needs so many.
constexpr int64_t leastRegisters = 24;

/// The buffer in which a tile in shared memory lies, as slot, columns or received tile of it; null if it is none's.
AllocOp allocOf(mlir::Value tile);

} // namespace tegula::sm
