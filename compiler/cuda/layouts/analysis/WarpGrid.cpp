// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/analysis/WarpGrid.h"

#include "compiler/sm/Elements.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tegula::cuda {

bool onWarpgroups(tile::DotOp dot) {
  return tile::wantsRoles(dot) && dot->hasAttr(tile::warpgroups) && !dot->hasAttr(tile::warpLocal);
}

bool isInTensorMemory(tile::DotOp dot) { return tile::wantsRoles(dot) && dot->hasAttr(tile::inTensorMemory); }

bool hasColumnsInRows(Value rhs, bool transposes) {
  const std::optional<sm::MmaElement> element = sm::mmaElement(cast<RankedTensorType>(rhs.getType()).getElementType());
  return !transposes && element && !element->mustBeKMajor && rhs.getDefiningOp<tile::LoadOp>();
}

int64_t columnsOfWarpgroup(Value rhs, bool transposes, int64_t n, int64_t warpgroups) {
  const int64_t columns = llvm::alignTo(llvm::divideCeil(n, warpgroups), kColumnsOfBlock);
  if (warpgroups == 1 || !hasColumnsInRows(rhs, transposes))
    return columns;
  const int64_t ofPanel = sm::panelColumns(cast<RankedTensorType>(rhs.getType()).getElementType());
  return columns < ofPanel ? llvm::PowerOf2Ceil(columns) : llvm::alignTo(columns, ofPanel);
}

sm::LayoutAttr accumulatorLayout(tile::DotOp dot, WarpGrid grid) {
  MmaShape shape = covered(dot, grid);
  if (isInTensorMemory(dot))
    return sm::tensorLayout(dot.getContext(), shapeOf(dot).m, shapeOf(dot).n, grid.m * grid.n);
  auto layout = onWarpgroups(dot) ? sm::warpgroupLayout : sm::accumulatorLayout;
  return layout(dot.getContext(), shape.m, shape.n, grid.m, grid.n);
}

sm::LayoutAttr operandLayout(tile::DotOp dot, WarpGrid grid) {
  MmaShape shape = shapeOf(dot);
  if (onWarpgroups(dot) && grid.n == 1)
    return sm::warpgroupLayout(dot.getContext(), shape.m, shape.k, grid.m, grid.n);
  return sm::operandLayout(dot.getContext(), shape.m, shape.k, grid.m, grid.n);
}

MmaShape covered(tile::DotOp dot, WarpGrid grid) {
  auto up = [](int64_t size, int64_t unit) { return static_cast<int64_t>(llvm::alignTo(size, unit)); };
  const MmaShape shape = shapeOf(dot);
  const int64_t n = onWarpgroups(dot)
                        ? grid.n * columnsOfWarpgroup(dot.getRhs(), dot.getTransposeRhs(), shape.n, grid.n)
                        : up(shape.n, kColumnsOfBlock * grid.n);
  return {up(shape.m, 16 * grid.m), n, up(shape.k, 16)};
}

bool isReducedAlong(Value value, int64_t axis) {
  llvm::SetVector<Value> reached;
  reached.insert(value);
  for (size_t i = 0; i < reached.size(); ++i)
    for (OpOperand &use : reached[i].getUses()) {
      Operation *user = use.getOwner();
      if (auto reduce = dyn_cast<tile::ReduceOp>(user); reduce && static_cast<int64_t>(reduce.getAxis()) == axis)
        return true;
      if (user->hasTrait<OpTrait::Elementwise>())
        reached.insert(user->getResult(0));
      else if (isa<scf::YieldOp>(user) && isa<scf::IfOp>(user->getParentOp()))
        reached.insert(user->getParentOp()->getResult(use.getOperandNumber()));
    }
  return false;
}

namespace {
/// The modelled cost of an MMA in clocks, by rough rates of one multiprocessor.
struct CostModel {
  static constexpr double sharedBytesPerClock = 128, productsPerClock = 1024, clocksOfBarriers = 100;
  /// Exceeds any difference between grids, because warps then combine their partial results through shared memory.
  static constexpr double crossWarpReduction = 1e6;

  tile::DotOp dot;
  sm::LayoutAttr lhs;
  bool reducedRows = isReducedAlong(dot.getResult(), 1), reducedColumns = isReducedAlong(dot.getResult(), 0);

  bool takesLhsFromRegisters(WarpGrid grid) const {
    return lhs && !tile::DotOp(dot).getTransposeLhs() && lhs == operandLayout(dot, grid);
  }

  double operator()(WarpGrid grid) const {
    tile::DotOp dot = this->dot;
    MmaShape size = covered(dot, grid);
    double lhsBytes = dot.getLhs().getType().getElementTypeBitWidth() / 8.0 * size.m * size.k;
    double rhsBytes = dot.getRhs().getType().getElementTypeBitWidth() / 8.0 * size.n * size.k;
    double bytes = rhsBytes * grid.m, cost = size.m * size.n * size.k / productsPerClock;
    if (!takesLhsFromRegisters(grid)) {
      bytes += lhsBytes * grid.n;
      if (lhs) { // The lhs must be written to shared memory first.
        bytes += lhsBytes;
        cost += clocksOfBarriers;
      }
    }
    cost += bytes / sharedBytesPerClock;
    if ((reducedRows && grid.n > 1) || (reducedColumns && grid.m > 1))
      cost += crossWarpReduction;
    return cost;
  }
};
} // namespace

/// Returns all grids of `warps` warps. Those with more warps along the rows come first, so that ties keep rows within
/// one warp.
static SmallVector<WarpGrid> gridsOf(int64_t warps) {
  SmallVector<WarpGrid> grids;
  for (int64_t m = warps; m >= 1; --m)
    if (warps % m == 0)
      grids.push_back({m, warps / m});
  return grids;
}

WarpGrid chooseGrid(tile::DotOp dot, int64_t warps, sm::LayoutAttr lhs) {
  if (onWarpgroups(dot)) {
    auto split = dot->getAttrOfType<DenseI64ArrayAttr>(tile::warpgroups);
    return {sm::kWarpsPerWarpgroup * split[0], split[1]};
  }
  CostModel cost{dot, lhs};
  SmallVector<WarpGrid> grids = gridsOf(warps);
  return *llvm::min_element(grids, [&](WarpGrid a, WarpGrid b) { return cost(a) < cost(b); });
}

std::optional<WarpGrid> gridOf(tile::DotOp dot, int64_t warps, sm::LayoutAttr layout) {
  for (WarpGrid grid : gridsOf(warps))
    if (accumulatorLayout(dot, grid) == layout)
      return grid;
  return std::nullopt;
}

} // namespace tegula::cuda
