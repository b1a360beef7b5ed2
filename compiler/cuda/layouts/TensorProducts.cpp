// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/TensorProducts.h"

#include "compiler/cuda/layouts/analysis/WarpGrid.h"
#include "compiler/sm/Elements.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace tegula::cuda {

/// Returns the accumulators of `dot` as the loop around it carries them; null if no scf.for does.
static BlockArgument carriedSums(tile::DotOp dot) {
  auto loop = dyn_cast<scf::ForOp>(dot->getParentOp());
  auto carried = dyn_cast_if_present<BlockArgument>(dot.getAcc());
  return loop && carried && carried.getOwner() == loop.getBody() && carried != loop.getInductionVar() ? carried
                                                                                                      : BlockArgument();
}

/// Returns true if the loop only adds to the accumulators, which begin with 0.
static bool onlyAccumulates(tile::DotOp dot) {
  BlockArgument carried = carriedSums(dot);
  if (!carried || !carried.hasOneUse() || !dot.getResult().hasOneUse())
    return false;
  auto loop = cast<scf::ForOp>(dot->getParentOp());
  return matchPattern(loop.getTiedLoopInit(carried)->get(), m_AnyZeroFloat()) &&
         loop.getTiedLoopYieldedValue(carried)->get() == dot.getResult();
}

/// Returns true if the operand is a loaded tile of this iteration that nothing else reads.
static bool isLoadedForDot(Value operand, tile::DotOp dot) {
  auto load = operand.getDefiningOp<tile::LoadOp>();
  return load && !load.getFill() && load->getBlock() == dot->getBlock() && operand.hasOneUse();
}

std::string obstacleToTensorMemory(tile::DotOp dot, int64_t warps) {
  constexpr int64_t columnsOfLoad = 32;
  const Type lhs = dot.getLhs().getType().getElementType(), rhs = dot.getRhs().getType().getElementType();
  if (lhs != rhs || !(lhs.isBF16() || lhs.isF16()))
    return "its operands are not both bf16 or both f16; cast them";
  const MmaShape shape = shapeOf(dot);
  const int64_t ofPanel = sm::panelColumns(lhs);
  if (shape.m != sm::kTensorLanes || shape.n > sm::kMaxMmaColumns || shape.n % ofPanel || shape.k % ofPanel)
    return llvm::formatv(
        "it has {0} rows, {1} columns and a depth of {2}; legal are {3} rows, and multiples of {4} for "
        "the others, of which at most {5} columns",
        shape.m, shape.n, shape.k, sm::kTensorLanes, ofPanel, sm::kMaxMmaColumns);
  const int64_t warpgroups = warps / sm::kWarpsPerWarpgroup;
  if (warps % sm::kWarpsPerWarpgroup || shape.n % (columnsOfLoad * warpgroups))
    return llvm::formatv(
        "{0} warps cannot read its {1} columns: four of them read all rows, and a multiple of {2} columns", warps,
        shape.n, columnsOfLoad);
  if (!onlyAccumulates(dot))
    return "it is not all that adds to its accumulators in a loop, from 0 on";
  if (!isLoadedForDot(dot.getLhs(), dot) || !isLoadedForDot(dot.getRhs(), dot))
    return "its operands are not tiles that its iteration loads for it alone";
  return {};
}

TensorSums accumulateInTensorMemory(tile::DotOp dot, Value lhs, Value rhs, bool transposesLhs, bool transposesRhs) {
  const MmaShape shape = shapeOf(dot);
  auto loop = cast<scf::ForOp>(dot->getParentOp());
  BlockArgument carried = carriedSums(dot);
  ImplicitLocOpBuilder b(dot.getLoc(), loop);
  Value sums = sm::TensorAllocOp::create(b, sm::TensorMemoryType::get(b.getContext(), /*slots=*/1, shape.m, shape.n));
  Value slot = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  Value isAny = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, loop.getLowerBound(), loop.getUpperBound());
  b.setInsertionPoint(dot);
  Value isLater = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, loop.getInductionVar(), loop.getLowerBound());
  auto product = sm::Tcgen05Op::create(b, lhs, rhs, shape.k, sums, slot, isLater, transposesLhs, transposesRhs);
  tile::inheritAttributes(product, dot, {tile::inTensorMemory});
  b.setInsertionPointAfter(loop);
  Value read = sm::TensorReadOp::create(b, dot.getType(), sums, slot, isAny);
  dot.replaceAllUsesWith(Value(carried));
  dot.erase();
  return {loop.getTiedLoopResult(loop.getTiedLoopInit(carried)), read};
}

} // namespace tegula::cuda
