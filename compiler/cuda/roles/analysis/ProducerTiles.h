// SPDX-License-Identifier: MIT
// The tiles that a producer can load.
#pragma once

#include "compiler/sm/Slices.h"
#include "compiler/sm/Sm.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <string>

namespace tegula::cuda {

using sm::sliceOf;

/// Returns lower bound, upper bound and step of a loop.
llvm::SmallVector<mlir::Value> boundsOf(mlir::scf::ForOp loop);

/// Returns the op that draws the work index of each iteration of a loop, or null.
tile::NextWorkOp nextWorkOf(mlir::scf::WhileOp loop);

bool isInLoop(mlir::Operation *op);

/// Returns true if an sm.wgmma reads the tile that `tile` makes, and no other op than MMAs and sm.read does.
bool feedsWgmma(mlir::Operation *tile);

/// Returns true if only MMAs read the tile that `tile` makes, and at least one of them is an sm.wgmma.
bool isReadByMmas(mlir::Operation *tile);

/// Returns true if a reader of the tile is not an sm.wgmma. Such a reader loads shared memory lane by lane.
bool isReadByLanes(mlir::Operation *tile);

/// Returns the transpose that is all that a loaded tile is for, and that only MMAs read; null if there is none.
sm::TransposeOp transposeOf(sm::LoadSharedOp fetch);

/// Returns the op that makes, of a loaded tile, the tile that the computing role reads: its transpose or the load.
mlir::Operation *readTileOf(sm::LoadSharedOp fetch);

/// Returns why the producer cannot load a tile that MMAs read, as a clause for a remark; empty if it can.
std::string whyNotProducerLoaded(sm::LoadSharedOp fetch);

/// Returns true if the producer can load the tile for consumers that read it to registers. The elements have 1, 2 or 4
/// bytes. The tile is a matrix of at least 1,024 elements with the default fill value, of which each warp owns whole
/// rows, or a vector of whole 128 bytes. Columns of a matrix's box beyond the tile may hold any data. Smaller tiles are
/// not worth a ring.
bool canProducerLoad(tile::LoadOp load);

/// Returns the type in shared memory of a tile that goes to registers.
sm::SharedType boxType(mlir::RankedTensorType tile);

/// Lets `load` and later loads of the same tile in branches read it from shared memory. If TMA cannot copy a matrix
/// there, the warps that read it copy it, because a single warp would be too slow; a vector they load to registers.
/// Returns the load to shared memory.
sm::LoadSharedOp loadThroughShared(tile::LoadOp load);

} // namespace tegula::cuda
