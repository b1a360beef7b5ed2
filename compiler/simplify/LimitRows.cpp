// SPDX-License-Identifier: MIT
// Which columns the first rows of a tile still see, for warps that hold no others.
#include "compiler/simplify/AffineTile.h"
#include "compiler/simplify/Passes.h"
#include "compiler/sm/Sm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Pass/Pass.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_LIMITROWS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

/// The softmax that is all that the loop does, or null: an iteration whose scores are -inf changes nothing.
static tile::SoftmaxUpdateOp softmaxOf(scf::ForOp loop) {
  auto update = loop.getNumResults() == 3 ? loop.getYieldedValues().front().getDefiningOp<tile::SoftmaxUpdateOp>()
                                          : tile::SoftmaxUpdateOp();
  if (!update || !llvm::equal(loop.getYieldedValues(), update->getResults()) ||
      !llvm::equal(loop.getRegionIterArgs(), ArrayRef<Value>{update.getMax(), update.getSum(), update.getOutput()}))
    return {};
  WalkResult search = loop.getBody()->walk([](Operation *op) {
    return isMemoryEffectFree(op) || isa<tile::LoadOp>(op) ? WalkResult::advance() : WalkResult::interrupt();
  });
  return search.wasInterrupted() ? tile::SoftmaxUpdateOp() : update;
}

/// The mask of scores that are -inf elsewhere, or null.
static Value maskOf(Value scores) {
  auto select = scores.getDefiningOp<arith::SelectOp>();
  return select && matchPattern(select.getFalseValue(), m_NegInfFloat()) ? select.getCondition() : Value();
}

/// Calls `visit` with what `mask` is the conjunction of.
static void forEachConjunct(Value mask, function_ref<void(Value)> visit) {
  Operation *op = mask.getDefiningOp();
  if (!isConjunction(op))
    return visit(mask);
  for (Value operand : op->getOperands())
    forEachConjunct(operand, visit);
}

/// The last position of the loop whose first column row 0 sees, if `compare` shows each row one column more than the
/// row before.
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
