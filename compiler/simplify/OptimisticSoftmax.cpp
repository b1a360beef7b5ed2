// SPDX-License-Identifier: MIT
// The optimistic softmax: P is computed relative to the maxima of the keys before, without a search for new maxima. The
// sum of a row, which is needed anyway, shows if some probability has become too large. The recompute path then
// computes the scores of the block again.
#include "compiler/simplify/Constants.h"
#include "compiler/simplify/ScaledScores.h"
#include "compiler/simplify/Softmax.h"
#include "compiler/sm/Elements.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

using LocBuilder = ImplicitLocOpBuilder;

namespace tegula::simplify {
namespace {

//===-- Scores a second time -------------------------------------------------------------------------------------===//

/// The treatment of branches (`tile.fast_path`) in a copy of the scores: keep them all, or replace each by one of its
/// sides. Else sides are always right. `take` copies the then side of the dividing branch, and the else sides of
/// others.
enum class FastPaths { keep, take, avoid };

/// The ops between the scores of an iteration and the only dot that they come from.
class ScoreChain {
public:
  ScoreChain(scf::ForOp loop, const ScaledScores &scores) : loop_(loop), scores_(scores) {
    isRepeatable_ = collect(sourceOf(scores.tile)) && (!scores.added || collect(sourceOf(scores.added)));
  }

  /// Returns true if the scores can be computed again. They must come from one dot without accumulator, whose columns
  /// fill whole fragments of warps, through arithmetic and loads from tensors that are not written.
  bool isRepeatable() const { return isRepeatable_ && product_; }

  /// Returns the branch between special functions of these scores and their exponentials, or null. ptxas would not
  /// interleave the two across it.
  scf::IfOp dividingBranch() const {
    const bool isSlow = llvm::any_of(between_, [](Operation *op) {
      return isa<math::MathDialect>(op->getDialect()) && !isa<math::FmaOp, math::AbsFOp>(op);
    });
    auto branch = scores_.tile.getDefiningOp<scf::IfOp>();
    return isSlow && branch && branch->hasAttr(tile::fastPath) ? branch : nullptr;
  }

  /// Copies the ops after the dot. The copies use the same dot.
  ScaledScores repeated(LocBuilder &b, FastPaths fastPaths) {
    IRMapping map;
    return repeated(b, fastPaths, map);
  }

  /// Copies the dot and the ops after it. Each warp computes its own rows of the copied dot. The position is opaque, so
  /// that ptxas keeps no registers for this path.
  ScaledScores again(LocBuilder &b) {
    IRMapping map;
    Value position = arith::IndexCastOp::create(b, b.getI32Type(), loop_.getInductionVar());
    Value opaque = sm::OpaqueOp::create(b, position);
    map.map(loop_.getInductionVar(), arith::IndexCastOp::create(b, b.getIndexType(), opaque).getResult());
    auto product = cast<tile::DotOp>(b.clone(*product_));
    product->setAttr(tile::warpLocal, b.getUnitAttr());
    map.map(product_.getResult(), product.getResult());
    return repeated(b, FastPaths::keep, map);
  }

private:
  ScaledScores repeated(LocBuilder &b, FastPaths fastPaths, IRMapping &map) {
    for (Operation *op : between_)
      clone(b, op, fastPaths, map);
    Value added = scores_.added ? map.lookupOrDefault(scores_.added) : Value();
    return {map.lookupOrDefault(scores_.tile), scores_.scale, added};
  }

  void clone(LocBuilder &b, Operation *op, FastPaths fastPaths, IRMapping &map) const {
    if (fastPaths == FastPaths::keep || !op->hasAttr(tile::fastPath)) {
      b.clone(*op, map);
      return;
    }
    auto branch = cast<scf::IfOp>(op);
    const bool isTaken = fastPaths == FastPaths::take && branch == dividingBranch();
    Block *side = isTaken ? branch.thenBlock() : branch.elseBlock();
    for (Operation &inside : side->without_terminator())
      clone(b, &inside, fastPaths, map);
    for (auto [result, value] : llvm::zip_equal(branch.getResults(), side->getTerminator()->getOperands()))
      map.map(result, map.lookupOrDefault(value));
  }

  /// Returns the op of the loop body that `value` comes from, or null.
  Operation *sourceOf(Value value) {
    Operation *op = value.getDefiningOp();
    return op ? loop_.getBody()->findAncestorOpInBlock(*op) : nullptr;
  }

  bool collect(Operation *op) {
    if (!op || op == product_ || between_.contains(op))
      return true;
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      constexpr int64_t columnsOfWarps = 16; // Warps read 16 columns at a time, warpgroups 8.
      const bool isOnly = !product_ && !dot.getAcc();
      product_ = dot;
      return isOnly && dot.getType().getDimSize(1) % columnsOfWarps == 0;
    }
    auto load = dyn_cast<tile::LoadOp>(op);
    if (!isMemoryEffectFree(op) && !(load && tile::isReadOnly(load.getView())))
      return false;
    const bool hasOthers = tile::anyOp(*op, [&](Operation *inside) {
      const bool areCollected = llvm::all_of(inside->getOperands(), [&](Value operand) {
        Operation *source = sourceOf(operand);
        return source == op || collect(source);
      });
      return !areCollected || isa<tile::DotOp>(inside);
    });
    between_.insert(op);
    return !hasOthers;
  }

  scf::ForOp loop_;
  ScaledScores scores_;
  tile::DotOp product_;
  llvm::SetVector<Operation *> between_; ///< Operands first.
  bool isRepeatable_ = false;
};

//===-- Updates --------------------------------------------------------------------------------------------------===//

/// The effect of a block of keys on the rows. `m` is the maximum, and `l` the sum of earlier blocks relative to it.
/// `alpha` is the factor of the output, and `any` is true if it changes some row. `p` are the block's probabilities,
/// and `sum` are their row sums.
struct BlockUpdate {
  Value m, l, alpha, any, p, sum;

  SmallVector<Value> values() const { return {m, l, alpha, any, p, sum}; }
  static BlockUpdate of(ResultRange values) {
    return {values[0], values[1], values[2], values[3], values[4], values[5]};
  }
};

class OptimisticUpdate {
public:
  OptimisticUpdate(tile::SoftmaxUpdateOp op, scf::ForOp loop)
      : op_(op), scores_(withoutScale(op.getScores(), /*andAdded=*/true)), chain_(loop, scores_),
        rows_(op.getMax().getType()), loop_(loop) {}

  SoftmaxState run(LocBuilder &b) {
    Value first = loop_.getLowerBound(), position = loop_.getInductionVar();
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, position, first);
    Value anyFar = tile::AnyOp::create(b, exceedsFusedRange(b, op_, op_.getMax()));
    Value isExact = arith::OrIOp::create(b, isFirst, anyFar);
    Attempt attempt = attempted(b, isExact);
    Value tooLarge =
        arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, attempt.sum, floatConstant(b, rows_, largestSum()));
    Value isWrong = arith::OrIOp::create(b, isExact, tile::AnyOp::create(b, tooLarge));
    auto exact = [&](LocBuilder &b) { return exactUpdate(b, scoresAfter(b, attempt, isFirst, isExact)).values(); };
    auto optimistic = [&](LocBuilder &b) {
      Value one = floatConstant(b, rows_, 1), none = arith::ConstantIntOp::create(b, b.getI1Type(), 0);
      return BlockUpdate{op_.getMax(), op_.getSum(), one, none, attempt.tile, attempt.sum}.values();
    };
    BlockUpdate update = BlockUpdate::of(rareBranch(b, isWrong, exact, optimistic));
    Value l = arith::AddFOp::create(b, update.l, update.sum);
    return {update.m, l, accumulate(b, op_, update.p, update.any, update.alpha)};
  }

private:
  /// The optimistic probabilities with their row sums. If they cannot be right: the scores, with sums of no meaning.
  struct Attempt {
    Value tile, sum;
  };

  /// Returns the largest sum for which the optimistic path is right. Up to it, no probability exceeds what its type or
  /// f32 sums can hold. Above it, in tiles of up to 128 columns, some probability exceeds 2^8, so that the recompute
  /// path raises some row's maximum.
  double largestSum() {
    constexpr double ofSums = 0x1p40;
    return std::min(ofSums, sm::largestPower(getElementTypeOrSelf(op_.getValues())));
  }

  SmallVector<Value> withSums(LocBuilder &b, Value tile) {
    return {tile, reduceRows(b, tile::Reduction::Add, tile, rows_)};
  }

  Attempt attempted(LocBuilder &b, Value isExact) {
    scf::IfOp dividing = chain_.dividingBranch();
    auto copied = [&](FastPaths paths) {
      return [this, paths](LocBuilder &b) { return optimistic(b, chain_.repeated(b, paths)); };
    };
    auto scores = [&](LocBuilder &b) {
      return withSums(b, dividing ? chain_.repeated(b, FastPaths::keep).tile : scores_.tile);
    };
    auto probabilities = [&](LocBuilder &b) -> SmallVector<Value> {
      if (!dividing)
        return optimistic(b, scores_);
      return llvm::to_vector_of<Value>(
          branch(b, dividing.getCondition(), copied(FastPaths::take), copied(FastPaths::avoid)));
    };
    ResultRange values = rareBranch(b, isExact, scores, probabilities);
    return {values[0], values[1]};
  }

  /// Returns P relative to the old maxima, and its row sums.
  SmallVector<Value> optimistic(LocBuilder &b, const ScaledScores &scores) {
    return withSums(b, math::Exp2Op::create(b, fusedExponents(b, scores, op_.getMax())));
  }

  /// Returns the scores, with the term that is added to them. Takes them from `attempt` if they are there. A term would
  /// have to be kept in registers; only the first iteration, which has no optimistic path, uses it.
  ScaledScores scoresAfter(LocBuilder &b, const Attempt &attempt, Value isFirst, Value isExact) {
    Value scale = scores_.added ? Value() : scores_.scale;
    auto completed = [&](LocBuilder &b, const ScaledScores &s) { return s.added ? computed(b, s) : s.tile; };
    auto held = [&](LocBuilder &b) -> SmallVector<Value> {
      return {completed(b, {attempt.tile, scores_.scale, scores_.added})};
    };
    auto again = [&](LocBuilder &b) -> SmallVector<Value> { return {completed(b, chain_.again(b))}; };
    return {branch(b, scores_.added ? isFirst : isExact, held, again)[0], scale};
  }

  /// Finds the maxima of the block's scores before the exponentials.
  BlockUpdate exactUpdate(LocBuilder &b, const ScaledScores &scores) {
    Value limit = arith::AddFOp::create(b, op_.getMax(), floatConstant(b, rows_, kRescaleThresholdLog2 * ln2));
    Value largest = scaled(b, reduceRows(b, tile::Reduction::Max, scores.tile, rows_), scores.scale);
    auto [m, l, alpha, any] = updateMax(b, op_, largest, limit);
    auto [tile, origin] = withinFusedRange(b, op_, scores, subtractedMax(b, m));
    Value p = math::Exp2Op::create(b, fusedExponents(b, {tile, scores.scale}, origin));
    return {m, l, alpha, any, p, reduceRows(b, tile::Reduction::Add, p, rows_)};
  }

  tile::SoftmaxUpdateOp op_;
  ScaledScores scores_;
  ScoreChain chain_;
  Type rows_;
  scf::ForOp loop_;
};

} // namespace

std::optional<SoftmaxState> optimisticUpdate(LocBuilder &b, tile::SoftmaxUpdateOp op) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!loop || !ScoreChain(loop, {op.getScores()}).isRepeatable())
    return std::nullopt;
  return OptimisticUpdate(op, loop).run(b);
}

} // namespace tegula::simplify
