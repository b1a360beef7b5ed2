// SPDX-License-Identifier: MIT
#include "compiler/cuda/threads/lower/Lower.h"

using namespace mlir;
using namespace tegula::cuda;

const Lowerings &Lowerings::all() {
  static const Lowerings lowerings = [] {
    Lowerings known;
    for (auto add :
         {addViewLowerings, addShapeLowerings, addReductionLowerings, addCumsumLowerings, addGlobalMemoryLowerings,
          addBufferLowerings, addSharedAccessLowerings, addCopyLowerings, addBoxLowerings, addMmaLowerings,
          addWarpgroupLowerings, addTensorMemoryLowerings, addChannelLowerings, addNamedBarrierLowerings,
          addSequenceLowerings, addTurnLowerings, addRandomLowerings})
      add(known);
    return known;
  }();
  return lowerings;
}

LogicalResult Lowerings::lower(Threads &t, Operation *op) const {
  if (auto known = functions_.find(op->getName().getTypeID()); known != functions_.end())
    return known->second(t, op);
  auto view = dyn_cast<tile::ViewOpInterface>(op);
  if (!view)
    return lowerElementwise(t, op);
  lowerView(t, view);
  return success();
}
