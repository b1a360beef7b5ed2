// SPDX-License-Identifier: MIT
#include "compiler/cuda/Threads.h"

using namespace mlir;
using namespace tegula;

LogicalResult cuda::lowerElementwise(Threads &, Operation *op) { return op->emitError("is not lowered to threads yet"); }
