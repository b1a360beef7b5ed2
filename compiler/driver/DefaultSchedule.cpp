// SPDX-License-Identifier: MIT
#include "compiler/driver/DefaultSchedule.h"

#include "compiler/sm/Hopper.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#include <set>

namespace tegula {

using namespace mlir;

namespace {

bool isInnermost(LoopLikeOpInterface loop) {
  bool hasLoop = false;
  for (Region *region : loop.getLoopRegions())
    region->walk([&](LoopLikeOpInterface) { hasLoop = true; });
  return !hasLoop;
}

/// Returns the dots in innermost loops: most of the work.
SmallVector<tile::DotOp> hotDots(ModuleOp module) {
  SmallVector<tile::DotOp> dots;
  module.walk([&](tile::DotOp dot) {
    auto loop = dot->getParentOfType<LoopLikeOpInterface>();
    if (loop && isInnermost(loop))
      dots.push_back(dot);
  });
  return dots;
}

/// Returns true if wgmma can compute the dot with `warps` warps along its rows.
bool suitsWarpgroups(tile::DotOp dot, int64_t warps) {
  auto lhs = dot.getLhs().getType(), rhs = dot.getRhs().getType();
  return lhs.getElementType() == rhs.getElementType() && isa<BFloat16Type, Float16Type>(lhs.getElementType()) &&
         !dot.getTransposeLhs() && dot.getType().getDimSize(0) == sm::kRowsPerWarp * warps &&
         dot.getType().getDimSize(1) <= sm::kMaxMmaColumns;
}

int64_t bytesOf(RankedTensorType tile) { return tile.getNumElements() * tile.getElementTypeBitWidth() / 8; }

/// Returns the bytes of the tiles that an iteration loads for its dots.
int64_t bytesOfIteration(ArrayRef<tile::DotOp> dots) {
  std::set<Operation *> loads;
  for (tile::DotOp dot : dots)
    for (Value operand : {dot.getLhs(), dot.getRhs()}) {
      auto load = operand.getDefiningOp<tile::LoadOp>();
      if (!load)
        if (auto transpose = operand.getDefiningOp<tile::TransposeOp>())
          load = transpose.getSource().getDefiningOp<tile::LoadOp>();
      if (load && load->getParentOp() == dot->getParentOp())
        loads.insert(load);
    }
  int64_t bytes = 0;
  for (Operation *load : loads)
    bytes += bytesOf(cast<tile::LoadOp>(load).getType());
  return bytes;
}

/// Returns the bytes of tiles that loads outside innermost loops bring and that stores inside loops write: they may lie
/// beside the rings.
int64_t bytesBesideRings(ModuleOp module) {
  int64_t bytes = 0;
  module.walk([&](Operation *op) {
    auto loop = op->getParentOfType<LoopLikeOpInterface>();
    auto load = dyn_cast<tile::LoadOp>(op);
    auto store = dyn_cast<tile::StoreOp>(op);
    if (load && !(loop && isInnermost(loop)))
      bytes += bytesOf(load.getType()) * (loop ? 2 : 1);
    if (store && loop)
      bytes += bytesOf(cast<RankedTensorType>(store.getTile().getType()));
  });
  return bytes;
}

} // namespace

Schedule completeForHopper(ModuleOp module, Schedule schedule, int64_t sharedBytes) {
  constexpr int64_t mostWarps = 12, mostStages = 4, ofMbarriers = 1 << 10;
  SmallVector<tile::DotOp> dots = hotDots(module);
  if (dots.empty())
    return schedule;
  const int64_t warps = dots.front().getType().getDimSize(0) / sm::kRowsPerWarp;
  const int64_t bytes = bytesOfIteration(dots);
  if (warps % sm::kWarpsPerWarpgroup || warps == 0 || warps > mostWarps || bytes == 0 ||
      !llvm::all_of(dots, [&](tile::DotOp dot) { return suitsWarpgroups(dot, warps); }))
    return schedule;
  const int64_t fit = (sharedBytes - ofMbarriers - bytesBesideRings(module)) / bytes;
  if (fit < 2)
    return schedule;
  schedule.num_warps = static_cast<int>(warps);
  schedule.num_stages = static_cast<int>(std::min(fit, mostStages));
  schedule.roles = Roles::load;
  return schedule;
}

} // namespace tegula
