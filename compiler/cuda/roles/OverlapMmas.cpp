// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"

#include "compiler/sm/Sm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_OVERLAPMMAS
#include "compiler/cuda/roles/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

using LocBuilder = ImplicitLocOpBuilder;

static sm::AwaitOp waitOf(sm::WgmmaOp product) { return cast<sm::AwaitOp>(*product->user_begin()); }

namespace {

/// A loop whose last MMA only adds to an accumulator that the loop carries:
///
///     for j: { head; a = first MMA; body; b = last MMA; yield ..., b }
///
/// becomes, if there is an iteration at all,
///
///     head; a; body
///     for later j: { head; start a; start the previous b; wait for both; body }
///     the last b
///
/// If there are several warpgroups, they start their MMAs one after another.
class Overlap {
public:
  Overlap(scf::ForOp loop, bool isSequenced) : loop_(loop), isSequenced_(isSequenced), b_(loop.getLoc(), loop) {}

  /// Returns why the last MMA cannot start one iteration later, or an empty string if it can.
  StringRef obstacle() {
    SmallVector<sm::WgmmaOp> products = llvm::to_vector(loop_.getBody()->getOps<sm::WgmmaOp>());
    if (products.size() < 2)
      return "the loop has fewer than two MMAs";
    first_ = products.front();
    last_ = products.back();
    Value sum = waitOf(last_).getResult();
    auto yield = cast<scf::YieldOp>(loop_.getBody()->getTerminator());
    if (!sum.hasOneUse() || *sum.user_begin() != yield)
      return "the iteration itself needs the accumulator of its last MMA";
    sum_ = sum.use_begin()->getOperandNumber();
    divide();
    if (!isSumFreeUntil(waitOf(first_)))
      return "the first MMA needs the accumulator of the last MMA of the iteration before";
    if (llvm::any_of(handedOver_, [](Value value) { return isa<sm::SharedType>(value.getType()); }))
      return "the last MMA reads a tile of shared memory that the next iteration may overwrite";
    return "";
  }

  void run() {
    Value isEntered =
        arith::CmpIOp::create(b_, arith::CmpIPredicate::slt, loop_.getLowerBound(), loop_.getUpperBound());
    auto branch = scf::IfOp::create(
        b_, isEntered, [&](OpBuilder &b, Location loc) { buildIterations(LocBuilder(loc, b)); },
        [&](OpBuilder &b, Location loc) { scf::YieldOp::create(b, loc, loop_.getInitArgs()); });
    loop_.replaceAllUsesWith(branch.getResults());
    loop_.erase();
    simplify(branch.getThenRegion());
  }

private:
  /// Simplifies the first iteration, in which the values that the loop carries are known.
  static void simplify(Region &iterations) {
    RewritePatternSet patterns(iterations.getContext());
    scf::IfOp::getCanonicalizationPatterns(patterns, patterns.getContext());
    (void)applyPatternsGreedily(iterations, std::move(patterns));
  }

  Block *body() { return loop_.getBody(); }
  BlockArgument carriedSum() { return loop_.getRegionIterArg(sum_); }

  /// Returns the consumer wait of a tile that only the last MMA reads, so that the wait can come one iteration later.
  sm::ConsumerWaitOp consumerWaitOfLast() {
    auto receive = last_.getRhs().getDefiningOp<sm::ConsumerWaitOp>();
    return receive && receive->hasOneUse() && receive.getTile().hasOneUse() ? receive : sm::ConsumerWaitOp();
  }

  void divide() {
    sm::ConsumerWaitOp receive = consumerWaitOfLast();
    Operation *slot = receive ? receive.getTile().getDefiningOp() : nullptr;
    Operation *end = waitOf(first_);
    while (isa<sm::ReleaseOp>(end->getNextNode()))
      end = end->getNextNode();
    for (Operation &op : body()->without_terminator()) {
      bool isOfLast = last_->isBeforeInBlock(&op) && isa<sm::AwaitOp, sm::ReleaseOp>(op);
      if (comparesWithFirst(&op))
        comparisons_.push_back(&op);
      else if (receive && (&op == receive || &op == slot))
        lastHead_.push_back(&op);
      else if (isOfLast)
        lastEnd_.push_back(&op);
      else if (op.isBeforeInBlock(first_))
        head_.push_back(&op);
      else if (&op == waitOf(first_) || (isa<sm::ReleaseOp>(op) && !end->isBeforeInBlock(&op)))
        firstEnd_.push_back(&op);
      else if (&op != first_ && &op != last_)
        (isLate(&op) ? late_ : rest_).push_back(&op);
    }
    for (Operation *op : llvm::concat<Operation *>(lastHead_, SmallVector<Operation *>{last_}, lastEnd_))
      for (Value operand : op->getOperands())
        if (operand.getParentBlock() == body() && !isInLast(operand.getDefiningOp()))
          handedOver_.insert(operand);
  }

  /// Returns true if `op` compares the induction variable with the lower bound for equality. Peeling the first
  /// iteration makes the result a constant.
  bool comparesWithFirst(Operation *op) {
    auto compare = dyn_cast<arith::CmpIOp>(op);
    return compare && compare.getLhs() == loop_.getInductionVar() && compare.getRhs() == loop_.getLowerBound() &&
           llvm::is_contained({arith::CmpIPredicate::eq, arith::CmpIPredicate::ne}, compare.getPredicate());
  }

  /// Maps the comparisons to their results in a later iteration.
  void knowComparisons(LocBuilder &b, IRMapping &map) {
    for (Operation *op : comparisons_) {
      const bool isLater = cast<arith::CmpIOp>(op).getPredicate() == arith::CmpIPredicate::ne;
      map.map(op->getResult(0), Value(arith::ConstantIntOp::create(b, b.getI1Type(), isLater)));
    }
  }

  bool isInLast(Operation *op) {
    return op && (op == last_ || llvm::is_contained(lastHead_, op) || llvm::is_contained(lastEnd_, op));
  }

  /// Returns true if an op after the first MMA must wait for the last one. Such an op needs the accumulator, or makes
  /// the last MMA's operand in registers, which is still being read.
  bool isLate(Operation *op) {
    auto isOperand = [&](Operation *user) { return user == last_ || isa<sm::PackOp>(user); };
    if (isa<sm::PackOp, arith::TruncFOp>(op) && llvm::all_of(op->getUsers(), isOperand))
      return true;
    auto isWaitedFor = [&](Value value) {
      return value == carriedSum() || llvm::is_contained(late_, value.getDefiningOp());
    };
    WalkResult search = op->walk([&](Operation *inside) {
      return llvm::any_of(inside->getOperands(), isWaitedFor) ? WalkResult::interrupt() : WalkResult::advance();
    });
    return search.wasInterrupted();
  }

  bool isSumFreeUntil(Operation *end) {
    return llvm::all_of(carriedSum().getUsers(),
                        [&](Operation *user) { return end->isBeforeInBlock(body()->findAncestorOpInBlock(*user)); });
  }

  static void clone(LocBuilder &b, IRMapping &map, ArrayRef<Operation *> ops) {
    for (Operation *op : ops)
      b.clone(*op, map);
  }

  static SmallVector<Value> mapped(const IRMapping &map, ValueRange values) {
    return llvm::map_to_vector(values, [&](Value value) { return map.lookupOrDefault(value); });
  }

  /// Returns what an iteration passes on to the next one: what the loop carries except for the accumulator, and what
  /// the last MMA needs.
  SmallVector<Value> passedOn(const IRMapping &map) {
    SmallVector<Value> values = mapped(map, body()->getTerminator()->getOperands());
    values.erase(values.begin() + sum_);
    llvm::append_range(values, mapped(map, handedOver_.getArrayRef()));
    return values;
  }

  /// Maps the operands of the previous iteration's last MMA to the values that the loop carries.
  IRMapping handedOver(ValueRange passedOn) {
    IRMapping map;
    map.map(handedOver_.getArrayRef(), passedOn.take_back(handedOver_.size()));
    return map;
  }

  void buildIterations(LocBuilder b) {
    IRMapping map;
    map.map(loop_.getInductionVar(), loop_.getLowerBound());
    map.map(loop_.getRegionIterArgs(), loop_.getInitArgs());
    clone(b, map, comparisons_);
    clone(b, map, head_);
    b.clone(*first_, map);
    clone(b, map, firstEnd_);
    clone(b, map, rest_);
    clone(b, map, late_);
    Value second = b.createOrFold<arith::AddIOp>(loop_.getLowerBound(), loop_.getStep());
    auto later = scf::ForOp::create(b, second, loop_.getUpperBound(), loop_.getStep(), passedOn(map));
    buildLater(later);
    buildEnd(b, later.getResults());
  }

  void buildLater(scf::ForOp later) {
    LocBuilder b(loop_.getLoc(), OpBuilder::atBlockBegin(later.getBody()));
    ValueRange arguments = later.getRegionIterArgs();
    IRMapping map, before = handedOver(arguments);
    map.map(loop_.getInductionVar(), later.getInductionVar());
    for (BlockArgument carried : loop_.getRegionIterArgs())
      if (carried != carriedSum()) {
        map.map(carried, arguments.front());
        arguments = arguments.drop_front();
      }
    knowComparisons(b, map);
    clone(b, map, head_);
    if (isSequenced_)
      sm::SequenceWaitOp::create(b);
    b.clone(*first_, map);
    clone(b, before, lastHead_);
    b.clone(*last_, before);
    if (isSequenced_)
      sm::SequenceArriveOp::create(b);
    clone(b, map, firstEnd_);
    clone(b, map, rest_);
    clone(b, before, lastEnd_);
    map.map(carriedSum(), before.lookup(waitOf(last_).getResult()));
    clone(b, map, late_);
    scf::YieldOp::create(b, passedOn(map));
  }

  void buildEnd(LocBuilder &b, ValueRange passedOn) {
    IRMapping map = handedOver(passedOn);
    clone(b, map, lastHead_);
    b.clone(*last_, map);
    // No tile follows the last one of a program.
    bool isLastTile = isa<sm::RolesOp>(loop_->getParentOp());
    for (Operation *op : lastEnd_)
      if (!isLastTile || !isa<sm::ReleaseOp>(op))
        b.clone(*op, map);
    SmallVector<Value> results(passedOn.drop_back(handedOver_.size()));
    results.insert(results.begin() + sum_, map.lookup(waitOf(last_).getResult()));
    scf::YieldOp::create(b, results);
  }

  scf::ForOp loop_;
  bool isSequenced_;
  LocBuilder b_;
  sm::WgmmaOp first_, last_;
  unsigned sum_ = 0; ///< The index of the accumulator in what the loop carries.
  /// The ops of an iteration without the two MMAs, in order: before the first MMA; its wait and releases; the rest, of
  /// which some must wait for the last MMA; and the ops that belong to the last MMA.
  SmallVector<Operation *> head_, firstEnd_, rest_, late_, lastHead_, lastEnd_;
  SmallVector<Operation *> comparisons_; ///< Comparisons with the first iteration.
  SetVector<Value> handedOver_;          ///< The values of other ops that the last MMA needs.
};

struct OverlapMmas : cuda::impl::OverlapMmasBase<OverlapMmas> {
  void runOnOperation() override {
    if (tile::isWord(getOperation(), "tile.overlap", "pingpong"))
      getOperation()->walk([&](sm::RolesOp roles) { overlap(roles); });
  }

  static void overlap(sm::RolesOp roles) {
    bool isSequenced = tile::setting(roles, "tile.num_warps", sm::kWarpsPerWarpgroup) > sm::kWarpsPerWarpgroup;
    bool hasMmas = false, isOverlapped = false;
    roles.getConsumer().walk([&](scf::ForOp loop) {
      if (loop.getBody()->getOps<sm::WgmmaOp>().empty())
        return;
      hasMmas = true;
      Overlap overlap(loop, isSequenced);
      if (StringRef obstacle = overlap.obstacle(); !obstacle.empty()) {
        loop.emitRemark("overlap=pingpong has no effect on this loop, whose MMAs follow each other: ") << obstacle;
        return;
      }
      overlap.run();
      isOverlapped = true;
    });
    if (!hasMmas)
      roles.emitRemark("overlap=pingpong has no effect: no loop has an MMA of whole warpgroups (wgmma)");
    if (!isOverlapped || !isSequenced)
      return;
    auto start = OpBuilder::atBlockBegin(&roles.getConsumer().front());
    sm::SequenceInitOp::create(start, roles.getLoc());
  }
};

} // namespace
