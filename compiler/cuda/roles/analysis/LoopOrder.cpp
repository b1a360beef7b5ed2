// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/analysis/LoopOrder.h"
#include "compiler/tile/Walks.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Kind = sm::Step::Kind;
using Number = LoopGraph::Number;

/// Returns the store that ends the turn with which `steps` begin, or null if an MMA ends it.
static sm::ProducerStoreOp passingStore(ArrayRef<sm::Step> steps, const Labels &mmas) {
  const sm::Step &last = *std::prev(llvm::find_if(steps, [](auto &step) { return step.kind == Kind::passTurn; }));
  return dyn_cast_if_present<sm::ProducerStoreOp>(
      last.isWrite() ? writerOf(mmas.lookup(last.label), last.kind == Kind::lhs) : nullptr);
}

namespace {
/// Orders the ops of a graph.
class Orderer {
public:
  explicit Orderer(const LoopGraph &graph)
      : graph_(graph), nodes_(graph.nodes), labels_(labelledMmas(graph.loop)), emitted_(nodes_.size()),
        awaited_(nodes_.size()), others_(nodes_.size()) {
    for (Operation *op : graph.others)
      others_.set(numberOf(op));
  }

  llvm::Expected<LoopOrder> run(ArrayRef<sm::Step> steps) {
    emitSteps(steps);
    for (sm::AsyncProduct mma : graph_.mmas)
      if (!emitted_.test(numberOf(mma)))
        start(numberOf(mma));
    emitRest();
    if (obstacle_)
      return llvm::createStringError(obstacle_);
    return std::move(order_);
  }

private:
  Number numberOf(Operation *op) const { return graph_.numbers.at(op); }
  void refuse(const char *obstacle) { obstacle_ = obstacle_ ? obstacle_ : obstacle; }

  /// Returns true if all that `op` waits for has been waited for.
  bool isReady(Number op) const {
    llvm::BitVector missing = nodes_[op].needs;
    missing.reset(awaited_);
    return missing.none();
  }

  /// Returns true for an MMA, and for another op that the list names: steps start them.
  bool isStep(Number op) const { return isa<sm::AsyncProduct>(nodes_[op].op) || others_.test(op); }

  /// Returns true if `op` is a release with a fence, or its fence, while MMAs are in flight: the fence would wait for
  /// them. Also returns true for an op that comes after the start of a step that has not started.
  bool isHeld(Number op) const {
    auto isFenceOf = [&](const LoopGraph::Node &other) { return graph_.fenceOf(other.op) == nodes_[op].op; };
    auto hasNotStarted = [&](Number on) { return isStep(on) && !emitted_.test(on); };
    return (inFlight_ != 0 && (graph_.fenceOf(nodes_[op].op) || llvm::any_of(nodes_, isFenceOf))) ||
           llvm::any_of(nodes_[op].dependences, hasNotStarted);
  }

  void emitSteps(ArrayRef<sm::Step> steps) {
    const bool hasTurns = llvm::any_of(steps, std::mem_fn(&sm::Step::isTurn));
    const Anchors anchors = anchorsOf(graph_.loop);
    bool isInTurn = false;
    for (auto [i, step] : llvm::enumerate(steps)) {
      sm::AsyncProduct mma = labels_.lookup(step.label);
      if (step.kind == Kind::takeTurn)
        turn_ = LoopOrder::Entry{.kind = Kind::takeTurn, .passes = passingStore(steps.drop_front(i), labels_)};
      if (step.kind == Kind::passTurn)
        endTurn(steps[i - 1].isWrite());
      if (step.isTurn())
        isInTurn = step.kind == Kind::takeTurn;
      if (step.kind == Kind::passTurn && !steps[i - 1].isWrite())
        order_.entries.push_back({Kind::passTurn});
      if (mma && step.kind == Kind::start && isInTurn)
        checkTurn(mma);
      if (mma && step.kind == Kind::start)
        setRegisters(numberOf(mma), steps.drop_front(i + 1), /*accumulators=*/!hasTurns);
      if (step.kind == Kind::start)
        start(numberOf(anchors.lookup(step.label)));
      if (step.isWrite())
        write(numberOf(writerOf(mma, step.kind == Kind::lhs)));
    }
  }

  void takeTurn() {
    if (turn_)
      order_.entries.push_back(*turn_);
    turn_.reset();
  }

  /// Refuses an MMA in a turn if lanes write its operand in the same iteration: the MMA then waits for all warpgroups,
  /// and those that wait for the turn would never come to it.
  void checkTurn(sm::AsyncProduct mma) {
    for (bool isLhs : {true, false}) {
      Value operand = isLhs ? mma.getLhs() : Value(mma.getRhs());
      const bool isWritten = isa<sm::SharedType>(operand.getType()) && !sm::isReceived(operand);
      if (writerOf(mma, isLhs) ? !graph_.isDelayed(mma) : isWritten)
        refuse("an MMA in a turn reads a tile of shared memory that the producer does not load");
    }
  }

  /// Refuses ops that all warps execute together in the turn that was taken last. The write that passes the turn is
  /// none.
  void endTurn(bool isPassedByWrite) {
    for (const LoopOrder::Entry &entry : llvm::reverse(ArrayRef(order_.entries).drop_back(isPassedByWrite))) {
      if (entry.kind == Kind::takeTurn)
        return;
      if (entry.op && tile::anyOp(*entry.op, sm::meetsOtherWarps))
        refuse("a turn contains an op that all warps execute together");
    }
  }

  /// Emits the operands in registers, and on request the first values of the accumulators, of MMAs that start together
  /// with `first`, the one before `steps`. One fence is then enough for all of them, and ptxas does not wait for the
  /// first before it writes accumulators. Loops with turns do not request it: they have more MMAs in flight, and no
  /// registers left for accumulators that early.
  void setRegisters(Number first, ArrayRef<sm::Step> steps, bool accumulators) {
    auto startsTogether = [&](Number mma) {
      llvm::BitVector missing = nodes_[mma].needs;
      missing.reset(awaited_).reset(nodes_[first].needs);
      return missing.none();
    };
    auto needsLaterStep = [&](Number op) {
      llvm::BitVector needed = graph_.sliceOf(op);
      return (needed &= others_).test(emitted_);
    };
    auto set = [&](sm::AsyncProduct mma, Value value) {
      Operation *writer = value ? value.getDefiningOp() : nullptr;
      if (writer && graph_.isInBody(value) && graph_.isDelayed(writer) == graph_.isDelayed(mma) &&
          !needsLaterStep(numberOf(writer)))
        emit(numberOf(writer));
    };
    for (const sm::Step &step : steps) {
      sm::AsyncProduct mma = step.kind == Kind::start ? labels_.lookup(step.label) : sm::AsyncProduct();
      if (!mma || !startsTogether(numberOf(mma)))
        return;
      if (accumulators)
        set(mma, mma.getAcc());
      if (isa<RankedTensorType>(mma.getLhs().getType()))
        set(mma, mma.getLhs());
    }
  }

  /// Emits what a step needs, then its op. Before it comes what precedes it in the program and waits for nothing that
  /// it does not wait for, unless an MMA precedes it that starts later.
  void start(Number step) {
    auto startsLater = [&](sm::AsyncProduct other) {
      return numberOf(other) < step && !emitted_.test(numberOf(other)) &&
             graph_.isDelayed(other) == nodes_[step].isDelayed;
    };
    for (Number op = 0; op < step && llvm::none_of(graph_.mmas, startsLater); ++op) {
      llvm::BitVector others = nodes_[op].needs;
      others.reset(nodes_[step].needs);
      const bool isSameIteration = nodes_[op].isDelayed == nodes_[step].isDelayed;
      if (isSameIteration && others.none() && !isStep(op) && !isHeld(op))
        emit(op);
    }
    for (Number on : nodes_[step].dependences)
      emit(on);
    takeTurn();
    emitted_.set(step);
    order_.entries.push_back({Kind::start, nodes_[step].op});
    inFlight_ += isa<sm::AsyncProduct>(nodes_[step].op);
  }

  /// Emits the write of an operand and what it needs: after each wait all that waits for nothing else. A turn begins
  /// before the first wait, and before other writes, one of which may pass it. Releases that need the write come after
  /// it.
  void write(Number store) {
    for (Number op = 0; turn_ && op < store; ++op)
      if (nodes_[op].isDelayed == nodes_[store].isDelayed && isReady(op) && !isStep(op) &&
          !isa<sm::ProducerStoreOp>(nodes_[op].op) && !isHeld(op) && !graph_.sliceOf(op).test(store))
        emit(op);
    takeTurn();
    const llvm::BitVector slice = graph_.sliceOf(store);
    auto emitReady = [&] {
      for (Number op : slice.set_bits())
        if (isReady(op))
          emit(op);
    };
    emitReady();
    for (sm::AsyncProduct mma : graph_.mmas)
      if (Number await = numberOf(awaitOf(mma)); slice.test(await)) {
        emit(await);
        emitReady();
      }
  }

  void emit(Number op) {
    if (emitted_.test(op))
      return;
    if (isStep(op)) {
      refuse("the list has a step before another one that it needs");
      return;
    }
    emitted_.set(op);
    for (Number on : nodes_[op].dependences)
      emit(on);
    if (isa<sm::AwaitOp>(nodes_[op].op))
      emitAwait(op);
    else if (!graph_.coveredFences.contains(nodes_[op].op))
      order_.entries.push_back({Kind::start, nodes_[op].op});
  }

  /// Emits a wait; before it the reads whose latency it hides, after it the releases that it allows.
  void emitAwait(Number op) {
    emitReads();
    order_.entries.push_back({Kind::start, nodes_[op].op});
    awaited_.set(op);
    auto mma = cast<sm::AwaitOp>(nodes_[op].op).getHandle().getDefiningOp<sm::AsyncProduct>();
    if (!mma || !graph_.staysInFlight(mma))
      --inFlight_;
    emitReleases();
  }

  /// Emits the reads of slots to registers that wait for nothing else.
  void emitReads() {
    if (inFlight_ == 0)
      return;
    for (Number op = 0; op < nodes_.size(); ++op)
      if (isa<sm::ReadOp>(nodes_[op].op) && readsSlotByLanes(nodes_[op].op) && !nodes_[op].isDelayed && isReady(op) &&
          !isStep(op))
        emit(op);
  }

  void emitReleases() {
    auto isEmitted = [&](Number op) { return emitted_.test(op); };
    for (bool fenced : {false, true})
      for (Number op = 0; op < nodes_.size(); ++op) {
        if (!isa<sm::ReleaseOp>(nodes_[op].op) || (graph_.fenceOf(nodes_[op].op) != nullptr) != fenced || isHeld(op) ||
            !isReady(op))
          continue;
        auto isDone = [&](Number on) {
          return emitted_.test(on) ||
                 (isa<sm::ProxyFenceOp>(nodes_[on].op) && llvm::all_of(nodes_[on].dependences, isEmitted));
        };
        if (llvm::all_of(nodes_[op].dependences, isDone))
          emit(op);
      }
  }

  /// Emits the remaining ops. Takes the awaits in the order in which their MMAs start. After each await, emits every op
  /// that is then ready.
  void emitRest() {
    auto emitReady = [&](bool held) {
      for (Number op = 0; op < nodes_.size(); ++op)
        if (isReady(op) && (held || !isHeld(op)))
          emit(op);
    };
    for (sm::AsyncProduct mma : graph_.mmas) {
      if (sm::AwaitOp await = awaitOf(mma); !emitted_.test(numberOf(await))) {
        emit(numberOf(await));
        emitReady(/*held=*/false);
      }
    }
    emitReady(/*held=*/false);
    emitReady(/*held=*/true);
  }

  const LoopGraph &graph_;
  ArrayRef<LoopGraph::Node> nodes_;
  const Labels labels_;
  LoopOrder order_;
  std::optional<LoopOrder::Entry> turn_; ///< A turn that begins before the next step.
  llvm::BitVector emitted_, awaited_;
  llvm::BitVector others_; ///< The ops that the list names and that are no MMAs.
  unsigned inFlight_ = 0;
  const char *obstacle_ = nullptr; ///< The first one.
};
} // namespace

llvm::Expected<LoopOrder> cuda::order(const LoopGraph &graph, ArrayRef<sm::Step> steps) {
  return Orderer(graph).run(steps);
}
