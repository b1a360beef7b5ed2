// SPDX-License-Identifier: MIT
#include "compiler/cuda/Threads.h"

using namespace mlir;
using namespace tegula;

LogicalResult cuda::lower(Threads &, tile::ReduceOp op) { return op.emitError("is not lowered to threads yet"); }
