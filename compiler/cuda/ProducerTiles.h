// SPDX-License-Identifier: MIT
// Which tiles a producer can feed.
#pragma once

#include "compiler/sm/Sm.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace tegula::cuda {

/// What the values are computed from, operands first.
llvm::SetVector<mlir::Operation *> sliceOf(mlir::ValueRange values);

/// All that a loop needs but what it carries.
llvm::SmallVector<mlir::Value> boundsOf(mlir::scf::ForOp loop);

/// What claims the iterations of a loop, or null.
tile::NextWorkOp nextWorkOf(mlir::scf::WhileOp loop);

bool isInLoop(mlir::Operation *op);

/// Products of warps may read what those of warpgroups do, too.
bool isReadByMmas(sm::LoadSharedOp fetch);

/// By more than products of warpgroups, which read it for all lanes at once.
bool isReadByLanes(sm::LoadSharedOp fetch);

/// Of a tile that products read where it is fetched.
bool canProducerLoad(sm::LoadSharedOp fetch);

/// Of a tile that goes to registers, rows of its own to each warp, and beside which nothing has to become 0. Smaller
/// ones are not worth a ring.
bool canProducerLoad(tile::LoadOp load);

/// What a tile that goes to registers needs in shared memory.
sm::SharedType boxType(mlir::RankedTensorType tile);

/// The tile comes from shared memory. Where TMA cannot copy it there, the warps that read it do, as one could not move
/// it fast enough.
sm::LoadSharedOp loadThroughShared(tile::LoadOp load);

} // namespace tegula::cuda
