// SPDX-License-Identifier: MIT
#include "compiler/sm/Slices.h"

#include "compiler/sm/Sm.h"

#include "mlir/Analysis/SliceAnalysis.h"

using namespace mlir;
using namespace tegula;

SetVector<Operation *> sm::sliceOf(ValueRange values, Block *block) {
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.inclusive = true;
  if (block)
    options.filter = [block](Operation *op) { return op->getBlock() == block; };
  SetVector<Operation *> slice;
  for (Value value : values)
    if (Operation *op = value.getDefiningOp())
      (void)getBackwardSlice(op, &slice, options);
  return slice;
}

bool sm::isPureScalar(Operation *op) {
  return op->getNumRegions() == 0 && isMemoryEffectFree(op) &&
         llvm::none_of(op->getResultTypes(), llvm::IsaPred<RankedTensorType, SharedType>);
}
