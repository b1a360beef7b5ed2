// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"
#include "compiler/cuda/roles/analysis/LoopOrder.h"
#include "compiler/sm/Roles.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_PIPELINELOOPS
#include "compiler/cuda/roles/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using LocBuilder = ImplicitLocOpBuilder;
using Kind = sm::Step::Kind;

/// Emits the begin or the end of a turn. `map` has the values of the iteration.
static void createTurn(LocBuilder &b, const LoopOrder::Entry &entry, const IRMapping &map) {
  if (entry.kind == Kind::passTurn)
    sm::SequenceArriveOp::create(b);
  else if (sm::ProducerStoreOp store = entry.passes)
    sm::SequenceWaitOp::create(b, store.getChannel(), map.lookupOrDefault(store.getSlot()),
                               map.lookupOrDefault(store.getPhase()));
  else
    sm::SequenceWaitOp::create(b);
}

namespace {

/// Rewrites a loop in which some ops work for the iteration before:
///
///     for i: { current; delayed }
///
/// becomes, if there is an iteration at all,
///
///     current of the first iteration
///     for later i: { current of i and delayed of i - 1, as the step list orders them }
///     delayed of the last iteration
class Pipeline {
public:
  Pipeline(const LoopGraph &graph, const LoopOrder &order)
      : loop_(graph.loop), graph_(graph), order_(order), b_(loop_.getLoc(), loop_) {}

  void build() {
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
  /// Says how the next iteration gets one of the values that the loop carries.
  enum class Carried {
    asBefore,
    late,     ///< A delayed op makes it, so that it is ready in the next iteration.
    inFlight, ///< As the handle of an MMA that adds to it.
  };

  /// Simplifies the first iteration, in which the values that the loop carries are known.
  static void simplify(Region &iterations) {
    RewritePatternSet patterns(iterations.getContext());
    scf::IfOp::getCanonicalizationPatterns(patterns, patterns.getContext());
    (void)applyPatternsGreedily(iterations, std::move(patterns));
  }

  Block *body() { return loop_.getBody(); }
  Value yielded(unsigned number) { return loop_.getYieldedValues()[number]; }

  /// Returns the MMA that adds to this accumulator in flight, or null.
  sm::AsyncProduct mmaInFlight(unsigned number) {
    auto await = yielded(number).getDefiningOp<sm::AwaitOp>();
    auto mma = await ? await.getHandle().getDefiningOp<sm::AsyncProduct>() : sm::AsyncProduct();
    return mma && mma->getBlock() == body() && graph_.staysInFlight(mma) ? mma : sm::AsyncProduct();
  }

  Carried kindOf(unsigned number) {
    if (mmaInFlight(number))
      return Carried::inFlight;
    Operation *producer = yielded(number).getDefiningOp();
    return producer && producer->getBlock() == body() && graph_.isDelayed(producer) ? Carried::late : Carried::asBefore;
  }

  /// Returns what an iteration passes on to the next one: what the loop carries, and what delayed ops need.
  SmallVector<Value> passedOn(const IRMapping &map) {
    SmallVector<Value> values;
    auto add = [&](Value value) { values.push_back(map.lookupOrDefault(value)); };
    for (unsigned number = 0; number < loop_.getNumResults(); ++number)
      if (Carried kind = kindOf(number); kind != Carried::late)
        add(kind == Carried::inFlight ? mmaInFlight(number).getHandle() : yielded(number));
    llvm::for_each(graph_.handedOver.getArrayRef(), add);
    return values;
  }

  /// Maps what was passed on: for delayed ops in `before`, for the others in `now`.
  void receive(ValueRange passedOn, IRMapping &before, IRMapping &now) {
    for (unsigned number = 0; number < loop_.getNumResults(); ++number) {
      const Carried kind = kindOf(number);
      if (kind == Carried::late)
        continue;
      now.map(loop_.getRegionIterArg(number), passedOn.front());
      if (kind == Carried::inFlight)
        before.map(mmaInFlight(number).getHandle(), passedOn.front());
      passedOn = passedOn.drop_front();
    }
    before.map(graph_.handedOver.getArrayRef(), passedOn);
  }

  void buildIterations(LocBuilder b) {
    IRMapping map;
    map.map(loop_.getInductionVar(), loop_.getLowerBound());
    map.map(loop_.getRegionIterArgs(), loop_.getInitArgs());
    for (const LoopOrder::Entry &entry : order_.entries)
      if (entry.passes)
        createTurn(b, entry, map);
      else if (entry.op && !graph_.isDelayed(entry.op))
        b.clone(*entry.op, map);
    Value second = b.createOrFold<arith::AddIOp>(loop_.getLowerBound(), loop_.getStep());
    auto later = scf::ForOp::create(b, second, loop_.getUpperBound(), loop_.getStep(), passedOn(map));
    later->setDiscardableAttrs(loop_->getDiscardableAttrDictionary());
    buildLater(later);
    buildEnd(b, later.getResults());
  }

  /// Maps the comparisons with the first iteration to their results in a later one.
  void knowComparisons(LocBuilder &b, IRMapping &map) {
    for (Operation *op : graph_.comparisons) {
      const bool isLater = cast<arith::CmpIOp>(op).getPredicate() == arith::CmpIPredicate::ne;
      map.map(op->getResult(0), Value(arith::ConstantIntOp::create(b, b.getI1Type(), isLater)));
    }
  }

  void buildLater(scf::ForOp later) {
    LocBuilder b(loop_.getLoc(), OpBuilder::atBlockBegin(later.getBody()));
    IRMapping now, before;
    now.map(loop_.getInductionVar(), later.getInductionVar());
    receive(later.getRegionIterArgs(), before, now);
    knowComparisons(b, now);
    for (const LoopOrder::Entry &entry : order_.entries) {
      if (!entry.op) {
        createTurn(b, entry, now);
        if (sm::ProducerStoreOp store = entry.passes)
          turnsOn_ = store.getChannel();
      } else if (llvm::is_contained(graph_.comparisons, entry.op))
        continue;
      else if (graph_.isDelayed(entry.op))
        buildDelayed(b, entry.op, before, now);
      else
        b.clone(*entry.op, now);
    }
    scf::YieldOp::create(b, passedOn(now));
  }

  /// Clones a delayed op, and before it the views of tensors that it shares with ops of the current iteration.
  Operation *cloneWithViews(LocBuilder &b, Operation *op, IRMapping &before) {
    op->walk([&](Operation *inside) {
      for (Value operand : inside->getOperands())
        if (isa<tile::ViewType>(operand.getType()) && graph_.isInBody(operand) && !before.contains(operand))
          cloneWithViews(b, operand.getDefiningOp(), before);
    });
    return b.clone(*op, before);
  }

  /// Emits a delayed op of the steady state. What it yields is ready for the current iteration. An MMA that stays in
  /// flight only has to have read its operands.
  void buildDelayed(LocBuilder &b, Operation *op, IRMapping &before, IRMapping &now) {
    auto await = dyn_cast<sm::AwaitOp>(op);
    if (await && !graph_.isDelayed(await.getHandle().getDefiningOp())) {
      sm::AwaitOp::create(static_cast<OpBuilder &>(b), op->getLoc(), TypeRange(), /*reads=*/true,
                          before.lookup(await.getHandle()), IntegerAttr());
      return;
    }
    Operation *delayed = cloneWithViews(b, op, before);
    if (auto wait = dyn_cast<sm::ConsumerWaitOp>(delayed); wait && wait.getChannel() == turnsOn_)
      wait.setAlreadyFull(true);
    for (unsigned number = 0; number < loop_.getNumResults(); ++number)
      if (yielded(number).getDefiningOp() == op)
        now.map(loop_.getRegionIterArg(number), before.lookup(yielded(number)));
  }

  /// Emits the delayed ops of the last iteration. The last tile of a program needs no release, because no tile follows.
  void buildEnd(LocBuilder &b, ValueRange passedOn) {
    IRMapping before, now;
    receive(passedOn, before, now);
    const bool isLastTile = isa<sm::RolesOp>(loop_->getParentOp());
    for (const LoopOrder::Entry &entry : order_.entries)
      if (entry.op && graph_.isDelayed(entry.op) && !(isLastTile && isa<sm::ReleaseOp>(entry.op)))
        cloneWithViews(b, entry.op, before);
    SmallVector<Value> results;
    for (unsigned number = 0; number < loop_.getNumResults(); ++number)
      results.push_back(kindOf(number) == Carried::asBefore ? now.lookup(loop_.getRegionIterArg(number))
                                                            : before.lookup(yielded(number)));
    scf::YieldOp::create(b, results);
  }

  scf::ForOp loop_;
  const LoopGraph &graph_;
  const LoopOrder &order_;
  LocBuilder b_;
  /// The channel whose stores pass the turn that the steady state has taken so far, or null. To take the turn, each
  /// warpgroup has waited for the store of the one before it: all tiles of earlier iterations are there.
  Value turnsOn_;
};
} // namespace

/// Moves the ops of an iteration to their order, adds the turns, and erases fences that stores make unnecessary.
static void reorder(const LoopGraph &graph, const LoopOrder &order) {
  scf::ForOp loop = graph.loop;
  Operation *end = loop.getBody()->getTerminator();
  LocBuilder b(loop.getLoc(), end);
  for (const LoopOrder::Entry &entry : order.entries)
    if (entry.op)
      entry.op->moveBefore(end);
    else
      createTurn(b, entry, IRMapping());
  for (Operation *fence : graph.coveredFences)
    fence->erase();
}

/// Returns the list with the MMAs that it leaves out. They follow in program order.
static sm::StepList completed(sm::StepList steps, scf::ForOp loop) {
  for (auto &[label, mma] : labelledMmas(loop)) {
    auto isStart = [&, name = label](const sm::Step &step) { return step.kind == Kind::start && step.label == name; };
    if (llvm::none_of(steps, isStart))
      steps.push_back({.label = label.str()});
  }
  return steps;
}

/// Brings a loop into the order of its step list. Returns true if it has turns that no store passes.
static llvm::Expected<bool> pipeline(scf::ForOp loop, StringRef text) {
  llvm::Expected<sm::StepList> steps = sm::parseSteps(text);
  if (!steps)
    return steps.takeError();
  llvm::Expected<LoopGraph> graph = LoopGraph::of(loop, *steps);
  if (!graph)
    return graph.takeError();
  llvm::Expected<LoopOrder> order = cuda::order(*graph, *steps);
  if (!order)
    return order.takeError();
  loop->setAttr(kPipelined, UnitAttr::get(loop.getContext()));
  // The loop has its MMAs in the order of the whole list, which tells them from each other.
  loop->setAttr(tile::steps, StringAttr::get(loop.getContext(), sm::toString(completed(*steps, loop))));
  if (graph->isAnyDelayed())
    Pipeline(*graph, *order).build();
  else
    reorder(*graph, *order);
  return llvm::any_of(order->entries, [](auto &entry) { return entry.kind == Kind::takeTurn && !entry.passes; });
}

namespace {
struct PipelineLoops : cuda::impl::PipelineLoopsBase<PipelineLoops> {
  void runOnOperation() override {
    getOperation()->walk([&](sm::RolesOp roles) {
      for (sm::RoleRef role : sm::rolesOf(roles))
        if (failed(pipeline(role)))
          return signalPassFailure();
    });
  }

  static LogicalResult pipeline(sm::RoleRef role) {
    auto isDue = [](scf::ForOp loop) { return loop->hasAttr(tile::steps) && !loop->hasAttr(kPipelined); };
    bool hasTurns = false;
    for (scf::ForOp loop : tile::allOps(role.body(), isDue)) {
      auto text = loop->getAttrOfType<StringAttr>(tile::steps);
      llvm::Expected<bool> turns = ::pipeline(loop, text.getValue());
      if (!turns)
        return loop.emitError(tile::steps) << " = " << text << ": " << llvm::toString(turns.takeError());
      hasTurns |= *turns;
    }
    if (hasTurns) {
      auto start = OpBuilder::atBlockBegin(&role.block());
      sm::SequenceInitOp::create(start, role.body().getLoc());
    }
    return success();
  }
};
} // namespace
