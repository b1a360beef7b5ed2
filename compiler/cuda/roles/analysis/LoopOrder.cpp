// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/analysis/LoopOrder.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Kind = sm::Step::Kind;
using Labels = llvm::MapVector<StringRef, sm::AsyncProduct>;

/// Returns true if all warps execute `op`, or an op inside, together.
static bool needsAllWarps(Operation *op) {
  WalkResult search = op->walk(
      [](Operation *inside) { return sm::meetsOtherWarps(inside) ? WalkResult::interrupt() : WalkResult::advance(); });
  return search.wasInterrupted();
}

LoopOrder::LoopOrder(scf::ForOp loop, ArrayRef<sm::Step> steps) : LoopDependences(loop, steps) {
  if (obstacle_.empty())
    order(steps);
}

/// Returns true if all that `op` waits for has been waited for.
bool LoopOrder::isReady(Number op) const {
  llvm::BitVector missing = needs_[op];
  missing.reset(awaited_);
  return missing.none();
}

/// Returns true if `op` is a release with a fence, or its fence, while MMAs are in flight: the fence would wait for
/// them. Also returns true for an op that comes after the start of an MMA that has not started.
bool LoopOrder::isHeld(Number op) const {
  auto isFenceOf = [&](Operation *other) { return fenceOf(other) == ops_[op]; };
  auto hasNotStarted = [&](Number on) { return isa<sm::AsyncProduct>(ops_[on]) && !emitted_.test(on); };
  return (inFlight_ != 0 && (fenceOf(ops_[op]) || llvm::any_of(ops_, isFenceOf))) ||
         llvm::any_of(dependences_[op], hasNotStarted);
}

/// Returns the store that ends the turn with which `steps` begin, or null if an MMA ends it.
static sm::ProducerStoreOp passingStore(ArrayRef<sm::Step> steps, const Labels &mmas) {
  const sm::Step &last = *std::prev(llvm::find_if(steps, [](auto &step) { return step.kind == Kind::passTurn; }));
  return dyn_cast_if_present<sm::ProducerStoreOp>(
      last.isWrite() ? writerOf(mmas.lookup(last.label), last.kind == Kind::lhs) : nullptr);
}

void LoopOrder::order(ArrayRef<sm::Step> steps) {
  emitted_.resize(ops_.size());
  awaited_.resize(ops_.size());
  const Labels mmas = labelledMmas(loop_);
  const bool hasTurns = llvm::any_of(steps, std::mem_fn(&sm::Step::isTurn));
  bool isInTurn = false;
  for (auto [i, step] : llvm::enumerate(steps)) {
    sm::AsyncProduct mma = mmas.lookup(step.label);
    if (step.kind == Kind::takeTurn)
      turn_ = Entry{.kind = Kind::takeTurn, .passes = passingStore(steps.drop_front(i), mmas)};
    if (step.kind == Kind::passTurn)
      endTurn(steps[i - 1].isWrite());
    if (step.isTurn())
      isInTurn = step.kind == Kind::takeTurn;
    if (step.kind == Kind::passTurn && !steps[i - 1].isWrite())
      entries_.push_back({Kind::passTurn});
    if (step.kind == Kind::start && isInTurn)
      checkTurn(mma);
    if (step.kind == Kind::start) {
      setRegisters(numbers_.at(mma), steps.drop_front(i + 1), /*accumulators=*/!hasTurns);
      start(numbers_.at(mma));
    }
    if (step.isWrite())
      write(numbers_.at(writerOf(mma, step.kind == Kind::lhs)));
  }
  for (sm::AsyncProduct mma : mmas_)
    if (!emitted_.test(numbers_.at(mma)))
      start(numbers_.at(mma));
  emitRest();
}

void LoopOrder::takeTurn() {
  if (turn_)
    entries_.push_back(*turn_);
  turn_.reset();
}

/// Refuses an MMA in a turn if lanes write its operand in the same iteration: the MMA then waits for all warpgroups,
/// and those that wait for the turn would never come to it.
void LoopOrder::checkTurn(sm::AsyncProduct mma) {
  for (bool isLhs : {true, false}) {
    Value operand = isLhs ? mma.getLhs() : Value(mma.getRhs());
    const bool isWritten = isa<sm::SharedType>(operand.getType()) && !sm::isReceived(operand);
    if (writerOf(mma, isLhs) ? !isDelayed(mma) : isWritten)
      obstacle_ = "an MMA in a turn reads a tile of shared memory that the producer does not load";
  }
}

/// Refuses ops that all warps execute together in the turn that was taken last. The write that passes the turn is none.
void LoopOrder::endTurn(bool isPassedByWrite) {
  for (const Entry &entry : llvm::reverse(isPassedByWrite ? entries().drop_back() : entries())) {
    if (entry.kind == Kind::takeTurn)
      return;
    if (entry.op && needsAllWarps(entry.op))
      obstacle_ = "a turn contains an op that all warps execute together";
  }
}

/// Emits the operands in registers, and on request the first values of the accumulators, of MMAs that start together
/// with `first`, the one before `steps`. One fence is then enough for all of them, and ptxas does not wait for the
/// first before it writes accumulators. Loops with turns do not request it: they have more MMAs in flight, and no
/// registers left for accumulators that early.
void LoopOrder::setRegisters(Number first, ArrayRef<sm::Step> steps, bool accumulators) {
  const Labels mmas = labelledMmas(loop_);
  auto startsTogether = [&](Number mma) {
    llvm::BitVector missing = needs_[mma];
    missing.reset(awaited_).reset(needs_[first]);
    return missing.none();
  };
  auto set = [&](sm::AsyncProduct mma, Value value) {
    Operation *writer = value ? value.getDefiningOp() : nullptr;
    if (writer && isInBody(value) && isDelayed(writer) == isDelayed(mma))
      emit(numbers_.at(writer));
  };
  for (const sm::Step &step : steps) {
    sm::AsyncProduct mma = step.kind == Kind::start ? mmas.lookup(step.label) : sm::AsyncProduct();
    if (!mma || !startsTogether(numbers_.at(mma)))
      return;
    if (accumulators)
      set(mma, mma.getAcc());
    if (isa<RankedTensorType>(mma.getLhs().getType()))
      set(mma, mma.getLhs());
  }
}

/// Emits what the MMA needs, then the MMA. Before it comes what precedes it in the program and waits for nothing that
/// the MMA does not wait for, unless another MMA precedes it that starts later.
void LoopOrder::start(Number mma) {
  auto startsLater = [&](sm::AsyncProduct other) {
    return numbers_.at(other) < mma && !emitted_.test(numbers_.at(other)) && isDelayed(other) == isDelayed(ops_[mma]);
  };
  for (Number op = 0; op < mma && llvm::none_of(mmas_, startsLater); ++op) {
    llvm::BitVector others = needs_[op];
    others.reset(needs_[mma]);
    const bool isSameIteration = isDelayed(ops_[op]) == isDelayed(ops_[mma]);
    if (isSameIteration && others.none() && !isa<sm::AsyncProduct>(ops_[op]) && !isHeld(op))
      emit(op);
  }
  for (Number on : dependences_[mma])
    emit(on);
  takeTurn();
  emitted_.set(mma);
  entries_.push_back({Kind::start, ops_[mma]});
  ++inFlight_;
}

/// Emits the write of an operand and what it needs: after each wait all that waits for nothing else. A turn begins
/// before the first wait, and before other writes, one of which may pass it. Releases that need the write come after
/// it.
void LoopOrder::write(Number store) {
  for (Number op = 0; turn_ && op < store; ++op)
    if (isDelayed(ops_[op]) == isDelayed(ops_[store]) && isReady(op) &&
        !isa<sm::AsyncProduct, sm::ProducerStoreOp>(ops_[op]) && !isHeld(op) && !sliceOf(op).test(store))
      emit(op);
  takeTurn();
  const llvm::BitVector slice = sliceOf(store);
  auto emitReady = [&] {
    for (Number op : slice.set_bits())
      if (isReady(op))
        emit(op);
  };
  emitReady();
  for (sm::AsyncProduct mma : mmas_)
    if (Number await = numbers_.at(awaitOf(mma)); slice.test(await)) {
      emit(await);
      emitReady();
    }
}

void LoopOrder::emit(Number op) {
  if (emitted_.test(op))
    return;
  if (isa<sm::AsyncProduct>(ops_[op])) {
    obstacle_ = "the step list starts an MMA before another one that it needs";
    return;
  }
  emitted_.set(op);
  for (Number on : dependences_[op])
    emit(on);
  if (isa<sm::AwaitOp>(ops_[op]))
    emitAwait(op);
  else if (!covered_.contains(ops_[op]))
    entries_.push_back({Kind::start, ops_[op]});
}

/// Emits a wait; before it the reads whose latency it hides, after it the releases that it allows.
void LoopOrder::emitAwait(Number op) {
  emitReads();
  entries_.push_back({Kind::start, ops_[op]});
  awaited_.set(op);
  auto mma = cast<sm::AwaitOp>(ops_[op]).getHandle().getDefiningOp<sm::AsyncProduct>();
  if (!mma || !staysInFlight(mma))
    --inFlight_;
  emitReleases();
}

/// Emits the reads of slots to registers that wait for nothing else.
void LoopOrder::emitReads() {
  if (inFlight_ == 0)
    return;
  for (Number op = 0; op < ops_.size(); ++op)
    if (isa<sm::ReadOp>(ops_[op]) && readsSlotByLanes(ops_[op]) && !isDelayed(ops_[op]) && isReady(op))
      emit(op);
}

void LoopOrder::emitReleases() {
  auto isEmitted = [&](Number op) { return emitted_.test(op); };
  for (bool fenced : {false, true})
    for (Number op = 0; op < ops_.size(); ++op) {
      if (!isa<sm::ReleaseOp>(ops_[op]) || (fenceOf(ops_[op]) != nullptr) != fenced || isHeld(op) || !isReady(op))
        continue;
      auto isDone = [&](Number on) {
        return emitted_.test(on) || (isa<sm::ProxyFenceOp>(ops_[on]) && llvm::all_of(dependences_[on], isEmitted));
      };
      if (llvm::all_of(dependences_[op], isDone))
        emit(op);
    }
}

/// Emits the remaining ops. Takes the awaits in the order in which their MMAs start. After each await, emits every op
/// that is then ready.
void LoopOrder::emitRest() {
  auto emitReady = [&](bool held) {
    for (Number op = 0; op < ops_.size(); ++op)
      if (isReady(op) && (held || !isHeld(op)))
        emit(op);
  };
  for (sm::AsyncProduct mma : mmas_) {
    if (sm::AwaitOp await = awaitOf(mma); !emitted_.test(numbers_.at(await))) {
      emit(numbers_.at(await));
      emitReady(/*held=*/false);
    }
  }
  emitReady(/*held=*/false);
  emitReady(/*held=*/true);
}
