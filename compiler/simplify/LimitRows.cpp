// SPDX-License-Identifier: MIT
// Finds the columns that the first rows of a tile still see, for warps that hold only these rows.
#include "compiler/simplify/AffineTile.h"
#include "compiler/simplify/Passes.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_LIMITROWS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

/// Returns the softmax if the loop does nothing else, otherwise null. An iteration whose scores are all -inf then
/// changes nothing.
static tile::SoftmaxUpdateOp softmaxOf(scf::ForOp loop) {
  auto update = loop.getNumResults() == 3 ? loop.getYieldedValues().front().getDefiningOp<tile::SoftmaxUpdateOp>()
                                          : tile::SoftmaxUpdateOp();
  if (!update || !llvm::equal(loop.getYieldedValues(), update->getResults()) ||
      !llvm::equal(loop.getRegionIterArgs(), ArrayRef<Value>{update.getMax(), update.getSum(), update.getOutput()}))
    return {};
  const bool hasOthers = tile::anyOp(*loop.getBody(), [](Operation *op) { return !sm::onlyReads(op); });
  return hasOthers ? tile::SoftmaxUpdateOp() : update;
}

/// Returns the mask outside which scores are -inf, or null.
static Value maskOf(Value scores) {
  auto select = scores.getDefiningOp<arith::SelectOp>();
  return select && matchPattern(select.getFalseValue(), m_NegInfFloat()) ? select.getCondition() : Value();
}

/// Calls `visit` with each value that `mask` is the conjunction of.
static void forEachConjunct(Value mask, function_ref<void(Value)> visit) {
  Operation *op = mask.getDefiningOp();
  if (!isConjunction(op))
    return visit(mask);
  for (Value operand : op->getOperands())
    forEachConjunct(operand, visit);
}

/// Returns the last position of the loop at which row 0 sees the tile's first column. Returns nothing unless `compare`
/// lets each row see one column more than the previous row, and the position does not change in the loop.
static std::optional<AffineTile> diagonalOf(Value compare, scf::ForOp loop) {
  constexpr int64_t steps[] = {-1, 1};
  std::optional<AffineTile> excess = AffineTiles().excess(compare);
  if (!excess || excess->steps() != ArrayRef(steps))
    return std::nullopt;
  AffineTile diagonal = AffineTile(2, loop.getInductionVar()).minus(*excess);
  const bool isFixed =
      llvm::all_of(diagonal.scalars(), [&](Value scalar) { return loop.isDefinedOutsideOfLoop(scalar); });
  return isFixed ? std::optional(diagonal) : std::nullopt;
}

static void limitRows(scf::ForOp loop) {
  if (loop.getUpperBound().getDefiningOp<sm::RowLimitOp>())
    return;
  tile::SoftmaxUpdateOp update = softmaxOf(loop);
  Value mask = update ? maskOf(update.getScores()) : Value();
  if (!mask)
    return;
  std::optional<AffineTile> diagonal;
  forEachConjunct(mask, [&](Value conjunct) {
    if (!diagonal)
      diagonal = diagonalOf(conjunct, loop);
  });
  if (!diagonal)
    return;
  ImplicitLocOpBuilder b(loop.getLoc(), loop);
  loop.setUpperBound(sm::RowLimitOp::create(b, loop.getUpperBound(), diagonal->first(b)));
}

namespace {
struct LimitRows : simplify::impl::LimitRowsBase<LimitRows> {
  void runOnOperation() override {
    if (tile::wantsRoles(getOperation()))
      getOperation()->walk(limitRows);
  }
};
} // namespace
