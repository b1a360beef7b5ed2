// SPDX-License-Identifier: MIT
#include "compiler/cuda/Threads.h"

using namespace mlir;
using namespace tegula;

LogicalResult cuda::lower(Threads &, tile::LoadOp op) { return op.emitError("is not lowered to threads yet"); }
LogicalResult cuda::lower(Threads &, tile::StoreOp op) { return op.emitError("is not lowered to threads yet"); }
LogicalResult cuda::lower(Threads &, tile::AtomicAddOp op) { return op.emitError("is not lowered to threads yet"); }
LogicalResult cuda::lower(Threads &, tile::GatherOp op) { return op.emitError("is not lowered to threads yet"); }
LogicalResult cuda::lower(Threads &, tile::ScatterAddOp op) { return op.emitError("is not lowered to threads yet"); }
