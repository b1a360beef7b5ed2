// SPDX-License-Identifier: MIT
#include "compiler/cuda/Threads.h"

using namespace mlir;
using namespace tegula;

LogicalResult cuda::lower(Threads &, arith::ConstantOp op) { return op.emitError("is not lowered to threads yet"); }
LogicalResult cuda::lower(Threads &, tile::IotaOp op) { return op.emitError("is not lowered to threads yet"); }
LogicalResult cuda::lower(Threads &, tile::BroadcastOp op) { return op.emitError("is not lowered to threads yet"); }
LogicalResult cuda::lower(Threads &, tile::ReshapeOp op) { return op.emitError("is not lowered to threads yet"); }
LogicalResult cuda::lower(Threads &, tile::TransposeOp op) { return op.emitError("is not lowered to threads yet"); }
