// SPDX-License-Identifier: MIT
// The `sm` dialect in C++. SmOps.td describes each op.
#pragma once

#include "compiler/sm/Access.h"
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

/// Returns the registers that a launch gives to a thread block, summed over its warps for one lane each, if `blocks`
/// thread blocks share a multiprocessor. Roles can redistribute only these registers.
int64_t registersOfBlock(int64_t warps, int64_t blocks);
/// The registers that a thread needs beside the elements that it holds.
constexpr int64_t kForAddresses = 40;

/// The bytes of shared memory that a multiprocessor reserves for each thread block.
constexpr int64_t kReservedBytes = 1 << 10;
/// Returns the bytes of shared memory that a thread block may have if `blocks` of them share a multiprocessor on which
/// one alone may have `alone`.
constexpr int64_t sharedOfBlock(int64_t alone, int64_t blocks) {
  return (alone + kReservedBytes) / blocks - kReservedBytes;
}

/// Gives ops of other dialects their Order.
void attachOrders(mlir::MLIRContext &context);

/// Returns the buffer of a tile in shared memory; null if the tile does not come from an `sm.alloc`.
inline AllocOp allocOf(mlir::Value tile) { return tile::rootOf(tile).getDefiningOp<AllocOp>(); }

/// Returns the ops that let TMA store or add a buffer.
llvm::SmallVector<mlir::Operation *> tmaReadersOf(mlir::Value buffer);

/// Returns the commit of a copy: the next one after it in its block, or in a block around it. Null if there is none.
CommitOp commitOf(CopyInOp copy);

/// Returns the op that makes a channel.
inline ChannelOp channelOf(mlir::Value channel) { return channel.getDefiningOp<ChannelOp>(); }

} // namespace tegula::sm
