// SPDX-License-Identifier: MIT
#include "compiler/cuda/Threads.h"

using namespace mlir;
using namespace tegula;

LogicalResult cuda::lower(Threads &, sm::ReadOp op) { return op.emitError("is not lowered to threads yet"); }
LogicalResult cuda::lower(Threads &, sm::WriteOp op) { return op.emitError("is not lowered to threads yet"); }
