// SPDX-License-Identifier: MIT
#include "compiler/cuda/Threads.h"

using namespace mlir;
using namespace tegula;

LogicalResult cuda::lower(Threads &, sm::CopyInOp op) { return op.emitError("is not lowered to threads yet"); }
LogicalResult cuda::lower(Threads &, sm::CopyOutOp op) { return op.emitError("is not lowered to threads yet"); }
