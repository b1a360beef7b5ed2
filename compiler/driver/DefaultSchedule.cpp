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

bool is16Bit(tile::DotOp dot) {
  Type lhs = dot.getLhs().getType().getElementType(), rhs = dot.getRhs().getType().getElementType();
  return lhs == rhs && isa<BFloat16Type, Float16Type>(lhs);
}

/// Returns true if wgmma can compute the dot with `warps` warps along its rows.
bool suitsRows(tile::DotOp dot, int64_t warps) {
  return is16Bit(dot) && !dot.getTransposeLhs() && dot.getType().getDimSize(0) == sm::kRowsPerWarp * warps &&
         dot.getType().getDimSize(1) <= sm::kMaxMmaColumns;
}

/// Returns true if two warpgroups can compute the dot, perhaps transposed: they share its rows or its columns.
bool suitsTwoWarpgroups(tile::DotOp dot) {
  const int64_t rows = dot.getType().getDimSize(0), columns = dot.getType().getDimSize(1);
  return is16Bit(dot) && rows % sm::kRowsPerWarpgroup == 0 && columns % sm::kRowsPerWarpgroup == 0 &&
         std::max(rows, columns) <= sm::kMaxMmaColumns;
}

/// The most registers of a thread that accumulators may take. The others are for addresses and arithmetic.
constexpr int64_t kMostAccumulators = 160;

/// Returns the number of accumulators that live at the same time: those that a loop carries, and two of the others.
int64_t accumulators(ArrayRef<tile::DotOp> dots) {
  int64_t carried = 0, largest = 0;
  for (tile::DotOp dot : dots)
    if (const int64_t size = dot.getType().getNumElements(); isa_and_present<BlockArgument>(dot.getAcc()))
      carried += size;
    else
      largest = std::max(largest, size);
  return carried + 2 * largest;
}

int64_t bytesOf(RankedTensorType tile) { return tile.getNumElements() * tile.getElementTypeBitWidth() / 8; }

/// Returns the load of a dot's operand; null if the operand is computed.
tile::LoadOp loadOf(Value operand) {
  if (auto transpose = operand.getDefiningOp<tile::TransposeOp>())
    operand = transpose.getSource();
  return operand.getDefiningOp<tile::LoadOp>();
}

/// Returns the bytes of the tiles that an iteration loads for its dots.
int64_t bytesOfIteration(ArrayRef<tile::DotOp> dots) {
  std::set<Operation *> loads;
  for (tile::DotOp dot : dots)
    for (Value operand : {dot.getLhs(), dot.getRhs()})
      if (tile::LoadOp load = loadOf(operand); load && load->getParentOp() == dot->getParentOp())
        loads.insert(load);
  int64_t bytes = 0;
  for (Operation *load : loads)
    bytes += bytesOf(cast<tile::LoadOp>(load).getType());
  return bytes;
}

/// Returns the bytes of computed operands, which may have to lie in shared memory.
int64_t bytesOfComputed(ArrayRef<tile::DotOp> dots) {
  int64_t bytes = 0;
  for (tile::DotOp dot : dots)
    for (Value operand : {dot.getLhs(), dot.getRhs()})
      if (!loadOf(operand))
        bytes += bytesOf(cast<RankedTensorType>(operand.getType()));
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

/// Returns true if each of `warps` warps can have 16 rows of each dot: one to three warpgroups.
bool haveRowsFor(ArrayRef<tile::DotOp> dots, int64_t warps) {
  constexpr int64_t mostWarps = 12;
  return warps % sm::kWarpsPerWarpgroup == 0 && warps != 0 && warps <= mostWarps &&
         llvm::all_of(dots, [&](tile::DotOp dot) { return suitsRows(dot, warps); });
}

/// Returns true if two warpgroups can share each dot and have the registers for it.
bool canBeShared(ArrayRef<tile::DotOp> dots, int64_t warps) {
  return llvm::all_of(dots, suitsTwoWarpgroups) && accumulators(dots) <= kMostAccumulators * sm::kWarpSize * warps;
}

} // namespace

std::optional<HopperChoice> chooseForHopper(ModuleOp module, Schedule schedule, int64_t sharedBytes) {
  constexpr int64_t mostStages = 4, ofMbarriers = 1 << 10;
  SmallVector<tile::DotOp> dots = hotDots(module);
  if (dots.empty())
    return std::nullopt;
  tile::DotOp first = dots.front();
  int64_t warps = first.getType().getDimSize(0) / sm::kRowsPerWarp, beside = bytesBesideRings(module);
  if (!haveRowsFor(dots, warps)) {
    warps = 2 * sm::kWarpsPerWarpgroup;
    beside += bytesOfComputed(dots);
    if (!canBeShared(dots, warps))
      return std::nullopt;
  }
  const int64_t bytes = bytesOfIteration(dots);
  if (bytes == 0)
    return std::nullopt;
  const int64_t fit = (sharedBytes - ofMbarriers - beside) / bytes;
  if (fit < 2)
    return std::nullopt;
  schedule.num_warps = static_cast<int>(warps);
  schedule.num_stages = static_cast<int>(std::min(fit, mostStages));
  schedule.roles = Roles::load;
  return HopperChoice{std::move(schedule), first.getLoc()};
}

} // namespace tegula
