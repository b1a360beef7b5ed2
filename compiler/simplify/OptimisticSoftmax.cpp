// SPDX-License-Identifier: MIT
// Probabilities relative to the maxima that rows had before. Nobody looks for new ones: the sum of a row, which is
// needed anyway, tells whether some probability has become too large; the block's scores are then computed a second
// time.
#include "compiler/simplify/Constants.h"
#include "compiler/simplify/ScaledScores.h"
#include "compiler/simplify/Softmax.h"
#include "compiler/sm/Sm.h"

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

/// What becomes of branches that save masks inside of the edges (`tile.fast_path`).
enum class FastPaths { keep, take, avoid };

/// How the scores of an iteration come out of the only product behind them.
class ScoreChain {
public:
  ScoreChain(scf::ForOp loop, const ScaledScores &scores) : loop_(loop), scores_(scores) {
    isRepeatable_ = collect(sourceOf(scores.tile)) && (!scores.added || collect(sourceOf(scores.added)));
  }

  /// Arithmetic, loads of what nobody writes, and products of whole fragments are.
  bool isRepeatable() const { return isRepeatable_ && product_; }

  /// The branch between special functions of these scores and their exponentials, or null. It would keep the assembler
  /// from interleaving the two.
  scf::IfOp dividingBranch() const {
    const bool isSlow = llvm::any_of(between_, [](Operation *op) {
      return isa<math::MathDialect>(op->getDialect()) && !isa<math::FmaOp, math::AbsFOp>(op);
    });
    auto branch = scores_.tile.getDefiningOp<scf::IfOp>();
    return isSlow && branch && branch->hasAttr(tile::fastPath) ? branch : nullptr;
  }

  /// From the same product.
  ScaledScores repeated(LocBuilder &b, FastPaths fastPaths) {
    IRMapping map;
    return repeated(b, fastPaths, map);
  }

  /// From a product that each warp computes for itself. The position is opaque, so that nothing is kept for this.
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

  static void clone(LocBuilder &b, Operation *op, FastPaths fastPaths, IRMapping &map) {
    if (fastPaths == FastPaths::keep || !op->hasAttr(tile::fastPath)) {
      b.clone(*op, map);
      return;
    }
    auto branch = cast<scf::IfOp>(op);
    Block *side = fastPaths == FastPaths::take ? branch.thenBlock() : branch.elseBlock();
    for (Operation &inside : side->without_terminator())
      clone(b, &inside, fastPaths, map);
    for (auto [result, value] : llvm::zip_equal(branch.getResults(), side->getTerminator()->getOperands()))
      map.map(result, map.lookupOrDefault(value));
  }

  /// The op of an iteration that `value` comes from, or null.
  Operation *sourceOf(Value value) {
    Operation *op = value.getDefiningOp();
    return op ? loop_.getBody()->findAncestorOpInBlock(*op) : nullptr;
  }

  bool collect(Operation *op) {
    if (!op || op == product_ || between_.contains(op))
      return true;
    if (auto dot = dyn_cast<tile::DotOp>(op)) {
      constexpr int64_t columnsOfWarps = 16; // Of 8 more, warpgroups read less than warps do.
      const bool isOnly = !product_ && !dot.getAcc();
      product_ = dot;
      return isOnly && dot.getType().getDimSize(1) % columnsOfWarps == 0;
    }
    auto load = dyn_cast<tile::LoadOp>(op);
    if (!isMemoryEffectFree(op) && !(load && tile::isReadOnly(load.getView())))
      return false;
    WalkResult search = op->walk([&](Operation *inside) {
      const bool areCollected = llvm::all_of(inside->getOperands(), [&](Value operand) {
        Operation *source = sourceOf(operand);
        return source == op || collect(source);
      });
      return areCollected && !isa<tile::DotOp>(inside) ? WalkResult::advance() : WalkResult::interrupt();
    });
    between_.insert(op);
    return !search.wasInterrupted();
  }

  scf::ForOp loop_;
  ScaledScores scores_;
  tile::DotOp product_;
  llvm::SetVector<Operation *> between_; ///< Operands first.
  bool isRepeatable_ = false;
};

//===-- Updates --------------------------------------------------------------------------------------------------===//

/// What the scores of a block make of rows: the maximum and the sum before, relative to it, the factor of the output
/// and whether that does anything; the block's probabilities and their sums.
struct BlockUpdate {
  Value m, l, alpha, any, p, sum;

  SmallVector<Value> values() const { return {m, l, alpha, any, p, sum}; }
  static BlockUpdate of(scf::IfOp branch) {
    ResultRange values = branch.getResults();
    return {values[0], values[1], values[2], values[3], values[4], values[5]};
  }
};

class OptimisticUpdate {
public:
  OptimisticUpdate(tile::SoftmaxUpdateOp op, scf::ForOp loop)
      : op_(op), loop_(loop), scores_(withoutScale(op.getScores(), /*andAdded=*/true)), rows_(op.getMax().getType()),
        hidesRounding_(hidesRounding(op)) {}

  SoftmaxState run(LocBuilder &b) {
    ScoreChain chain(loop_, scores_);
    Value first = loop_.getLowerBound(), position = loop_.getInductionVar();
    Value isFirst = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, position, first);
    BlockUpdate update = optimisticPath(b, isFirst, chain);
    Value tooLarge =
        arith::CmpFOp::create(b, arith::CmpFPredicate::UGT, update.sum, floatConstant(b, rows_, largestSum()));
    Value isLater = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, position, first);
    Value isWrong = arith::AndIOp::create(b, tile::AnyOp::create(b, tooLarge), isLater);
    update = branch(
        b, isWrong, [&](LocBuilder &b) { return carefully(b, chain.again(b)); }, [&](LocBuilder &) { return update; });
    Value l = arith::AddFOp::create(b, update.l, update.sum);
    return {update.m, l, accumulate(b, op_, update.p, update.any, update.alpha)};
  }

private:
  using Build = function_ref<BlockUpdate(LocBuilder &)>;

  BlockUpdate optimisticPath(LocBuilder &b, Value isFirst, ScoreChain &chain) {
    scf::IfOp dividing = chain.dividingBranch();
    if (!dividing)
      return branch(
          b, isFirst, [&](LocBuilder &b) { return carefully(b, scores_); },
          [&](LocBuilder &b) { return fast(b, scores_); });
    auto inside = [&](LocBuilder &b) { return fast(b, chain.repeated(b, FastPaths::take)); };
    auto atEdge = [&](LocBuilder &b) { return fast(b, chain.repeated(b, FastPaths::avoid)); };
    return branch(
        b, isFirst, [&](LocBuilder &b) { return carefully(b, chain.repeated(b, FastPaths::keep)); },
        [&](LocBuilder &b) { return branch(b, dividing.getCondition(), inside, atEdge); });
  }

  static BlockUpdate branch(LocBuilder &b, Value condition, Build then, Build otherwise) {
    auto yield = [](Build build) {
      return [build](OpBuilder &builder, Location loc) {
        LocBuilder b(loc, builder);
        SmallVector<Value> values = build(b).values();
        scf::YieldOp::create(b, values);
      };
    };
    return BlockUpdate::of(scf::IfOp::create(b, condition, yield(then), yield(otherwise)));
  }

  /// Above it a probability may exceed what its type or sums of f32 can hold; below it none does. Far enough above what
  /// raises a maximum that each time some row's is raised, in tiles of up to 128 columns.
  double largestSum() const { return hidesRounding_ ? 0x1p40 : 0x1p15; }

  Value sums(LocBuilder &b, Value p) { return reduceRows(b, tile::Reduction::Add, p, rows_); }

  /// Relative to the old maxima. A row that has none yet, or one that is too large for a fused exponent, is relative to
  /// -1e37 instead: any score above that is then far too large.
  BlockUpdate fast(LocBuilder &b, const ScaledScores &scores) {
    Value m = op_.getMax(), p = math::Exp2Op::create(b, fusedExponents(b, scores, fastOrigin(b)));
    Value one = floatConstant(b, rows_, 1), none = arith::ConstantIntOp::create(b, b.getI1Type(), 0);
    return {m, op_.getSum(), one, none, p, sums(b, p)};
  }

  Value fastOrigin(LocBuilder &b) {
    constexpr double belowAll = -1e37;
    Value m = op_.getMax();
    if (hidesRounding_)
      return selectWhere(b, m, -infinity, belowAll, m);
    return arith::SelectOp::create(b, isFarFromZero(b, m), floatConstant(b, rows_, belowAll), m);
  }

  BlockUpdate carefully(LocBuilder &b, ScaledScores scores) {
    if (scores.added)
      scores = {computed(b, scores)};
    Value oldMax = op_.getMax();
    Value limit = arith::AddFOp::create(b, oldMax, floatConstant(b, rows_, raisedAbove * ln2));
    Value largest = scaled(b, reduceRows(b, tile::Reduction::Max, scores.tile, rows_), scores.scale);
    auto [m, l, alpha, any] = raisedTo(b, op_, largest, limit);
    auto exponents = hidesRounding_ ? fusedExponents : exactExponents;
    Value p = math::Exp2Op::create(b, exponents(b, scores, exponentOrigin(b, m)));
    return {m, l, alpha, any, p, sums(b, p)};
  }

  tile::SoftmaxUpdateOp op_;
  scf::ForOp loop_;
  ScaledScores scores_;
  Type rows_;
  bool hidesRounding_;
};

} // namespace

std::optional<SoftmaxState> optimisticUpdate(LocBuilder &b, tile::SoftmaxUpdateOp op) {
  auto loop = dyn_cast<scf::ForOp>(op->getParentOp());
  if (!loop || !ScoreChain(loop, {op.getScores()}).isRepeatable())
    return std::nullopt;
  return OptimisticUpdate(op, loop).run(b);
}

} // namespace tegula::simplify
