// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/analysis/LoopDependences.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Kind = sm::Step::Kind;
using Labels = llvm::MapVector<StringRef, sm::AsyncProduct>;

Labels cuda::labelledMmas(scf::ForOp loop) {
  Labels mmas;
  for (auto [number, mma] : llvm::enumerate(loop.getBody()->getOps<sm::AsyncProduct>())) {
    auto label = mma->getAttrOfType<StringAttr>(tile::label);
    if (!label)
      label = StringAttr::get(loop.getContext(), "p" + Twine(number));
    mmas.insert({label.getValue(), mma});
  }
  return mmas;
}

sm::AwaitOp cuda::awaitOf(sm::AsyncProduct mma) {
  for (Operation *user : mma->getUsers())
    if (auto await = dyn_cast<sm::AwaitOp>(user); await && !await.getReads())
      return await;
  return {};
}

/// Returns true if the tile can pass through a ring: only MMAs of its loop read it, and all ops around it are loops.
static bool canBeExchanged(sm::ToSharedOp tile) {
  auto isMma = [&](Operation *user) { return isa<sm::AsyncProduct>(user) && user->getBlock() == tile->getBlock(); };
  Operation *around = tile->getParentOp();
  while (isa<LoopLikeOpInterface>(around))
    around = around->getParentOp();
  return isa<sm::RolesOp>(around) && llvm::all_of(tile->getUsers(), isMma);
}

Operation *cuda::writerOf(sm::AsyncProduct mma, bool isLhs) {
  Operation *operand = (isLhs ? mma.getLhs() : Value(mma.getRhs())).getDefiningOp();
  if (auto tile = dyn_cast_if_present<sm::ToSharedOp>(operand))
    return tile->getBlock() == mma->getBlock() && canBeExchanged(tile) ? tile : nullptr;
  if (auto wait = dyn_cast_if_present<sm::ConsumerWaitOp>(operand))
    for (Operation *user : wait.getChannel().getUsers())
      if (isa<sm::ProducerStoreOp>(user) && user->getBlock() == mma->getBlock())
        return user;
  return nullptr;
}

/// Calls `visit` with each value that `op`, or an op inside, uses.
static void forEachOperand(Operation *op, function_ref<void(Value)> visit) {
  op->walk([&](Operation *inside) { llvm::for_each(inside->getOperands(), visit); });
}

/// Calls `visit` with each op that reads the tile or a view of it.
static void forEachReader(Value tile, function_ref<void(Operation *)> visit) {
  for (Operation *user : tile.getUsers())
    if (isa<ViewLikeOpInterface>(user))
      forEachReader(user->getResult(0), visit);
    else
      visit(user);
}

bool cuda::readsSlotByLanes(Operation *op) {
  WalkResult search = op->walk([](Operation *inside) {
    auto isRead = [](const sm::Access &access) { return !access.goesOn() && sm::isReceived(access.place->get()); };
    return llvm::any_of(sm::accessesOf(inside), isRead) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return search.wasInterrupted();
}

/// Returns true if `op` only makes the elements of an MMA's operand in registers narrower.
static bool isNarrowing(Operation *op) { return isa_and_present<sm::PackOp, arith::TruncFOp>(op); }

/// Returns the fence of a release: TMA writes the slot next, and lanes have read it. Null for other ops.
static Operation *fenceBefore(Operation *op) {
  if (!isa<sm::ReleaseOp>(op))
    return nullptr;
  Operation *before = op->getPrevNode();
  while (before && isa<ViewLikeOpInterface>(before))
    before = before->getPrevNode();
  return isa_and_present<sm::ProxyFenceOp>(before) ? before : nullptr;
}

namespace {
/// The accesses of an op, with those of the ops inside, that keep their order.
struct Effects {
  explicit Effects(Operation *op) {
    op->walk([&](Operation *inside) {
      for (const sm::Access &access : sm::accessesOf(inside))
        if (!access.goesOn())
          accesses.emplace_back(tile::rootOf(access.place->get()), access.kind);
      isFence |= sm::orderOf(inside).fences;
    });
    readsSlot = readsSlotByLanes(op);
  }

  bool conflictWith(const Effects &other) const {
    return llvm::any_of(accesses, [&](const auto &one) {
      return llvm::any_of(other.accesses, [&](const auto &two) {
        return one.first == two.first && (one.second != two.second || one.second == sm::AccessKind::write);
      });
    });
  }

  SmallVector<std::pair<Value, sm::AccessKind>, 2> accesses; ///< A tensor or buffer, and the kind.
  bool isFence = false, readsSlot = false;
};
} // namespace

LoopDependences::LoopDependences(scf::ForOp loop, ArrayRef<sm::Step> steps) : loop_(loop) {
  findOps();
  findDelayed(steps);
  if (!obstacle_.empty())
    return;
  findDependences();
  findNeeds();
  findHandedOver();
  checkDelayed();
}

//===-- Iterations ------------------------------------------------------------------------------------------------===//

/// Returns true if `op` compares the loop variable with the lower bound for equality.
static bool comparesWithFirst(Operation *op, scf::ForOp loop) {
  auto compare = dyn_cast<arith::CmpIOp>(op);
  return compare && compare.getLhs() == loop.getInductionVar() && compare.getRhs() == loop.getLowerBound() &&
         llvm::is_contained({arith::CmpIPredicate::eq, arith::CmpIPredicate::ne}, compare.getPredicate());
}

void LoopDependences::findOps() {
  for (Operation &op : loop_.getBody()->without_terminator()) {
    if (comparesWithFirst(&op, loop_))
      comparisons_.push_back(&op);
    numbers_[&op] = ops_.size();
    ops_.push_back(&op);
  }
}

/// Returns true if `op` depends on a delayed op of its iteration, or only names or receives tiles for delayed ops.
bool LoopDependences::becomesDelayed(Operation *op) const {
  bool isBehind = false;
  forEachOperand(op, [&](Value operand) { isBehind |= operand.getDefiningOp() && isDelayed(operand.getDefiningOp()); });
  if (isBehind)
    return true;
  auto isDelayedUse = [&](Operation *user) { return isDelayed(user); };
  if (isa<ViewLikeOpInterface>(op))
    return !op->use_empty() && llvm::all_of(op->getUsers(), isDelayedUse);
  auto release = dyn_cast<sm::ReleaseOp>(op);
  return release && llvm::any_of(loop_.getBody()->getOps<sm::ConsumerWaitOp>(), [&](sm::ConsumerWaitOp wait) {
           bool endsLate = false;
           forEachReader(wait, [&](Operation *reader) {
             auto mma = dyn_cast<sm::AsyncProduct>(reader);
             endsLate |= mma && mma->getBlock() == loop_.getBody() && isDelayed(awaitOf(mma));
           });
           return endsLate && wait.getChannel() == release.getChannel() && wait.getSlot() == release.getSlot();
         });
}

void LoopDependences::findDelayed(ArrayRef<sm::Step> steps) {
  const Labels mmas = labelledMmas(loop_);
  for (auto &[label, mma] : mmas)
    if (sm::AwaitOp await = awaitOf(mma); !await || await->getBlock() != loop_.getBody()) {
      obstacle_ = "an MMA of the loop is not waited for in the same iteration";
      return;
    }
  for (const sm::Step &step : steps) {
    if (step.isTurn())
      continue;
    sm::AsyncProduct mma = mmas.lookup(step.label);
    if (!mma) {
      obstacle_ = "no MMA of the loop has the label '" + step.label + "'; legal are " +
                  llvm::join(llvm::make_first_range(mmas), ", ");
      return;
    }
    if (step.isWrite() && !writerOf(mma, step.kind == Kind::lhs)) {
      obstacle_ = "the MMA '" + step.label + "' has no such operand that lanes write and only MMAs of the loop read";
      return;
    }
    if (step.kind == Kind::start)
      mmas_.push_back(mma);
    if (step.isDelayed)
      delayed_.insert(step.kind == Kind::start ? mma : awaitOf(mma));
  }
  for (auto &[label, mma] : mmas)
    if (!llvm::is_contained(mmas_, mma))
      mmas_.push_back(mma);
  const llvm::DenseSet<Operation *> named = delayed_;
  for (size_t before = 0; before != delayed_.size();) {
    before = delayed_.size();
    for (Operation *op : ops_)
      if (!isDelayed(op) && becomesDelayed(op))
        delayed_.insert(op);
  }
  for (sm::AsyncProduct mma : mmas_)
    if (isDelayed(mma) && !named.contains(mma))
      obstacle_ = "an MMA that is not delayed needs the result of a delayed one";
}

/// Returns the op of the body that makes what the loop carries to the next iteration, or null.
Operation *LoopDependences::producerOf(BlockArgument carried) const {
  OpOperand *yielded = loop_.getTiedLoopYieldedValue(carried);
  return yielded && isInBody(yielded->get()) ? yielded->get().getDefiningOp() : nullptr;
}

void LoopDependences::findHandedOver() {
  for (Operation *op : ops_)
    if (isDelayed(op))
      forEachOperand(op, [&](Value operand) {
        auto mma = operand.getDefiningOp<sm::AsyncProduct>();
        const bool isHandle = mma && mma->getBlock() == loop_.getBody() && staysInFlight(mma);
        if (isInBody(operand) && !isHandle && !(operand.getDefiningOp() && isDelayed(operand.getDefiningOp())))
          handedOver_.insert(operand);
      });
}

/// Returns true if the producer loads another tile after that of `wait`, before the next one for the same channel.
static bool isLoadedBeforeOthers(sm::ConsumerWaitOp wait) {
  for (Operation *user : wait.getChannel().getUsers())
    if (isa<sm::ProducerLoadOp>(user))
      for (Operation *next = user->getNextNode(); next; next = next->getNextNode())
        if (isa<sm::ProducerLoadOp>(next))
          return true;
  return false;
}

static bool waitsForTiles(Operation *op) {
  WalkResult search = op->walk([](sm::ConsumerWaitOp) { return WalkResult::interrupt(); });
  return search.wasInterrupted();
}

/// Returns true for an inner loop whose tiles the producer loads. A loop that is pipelined lies in a branch.
static bool hasFedLoop(Operation *op) { return op->getNumRegions() && waitsForTiles(op); }

void LoopDependences::checkDelayed() {
  auto consumesLate = [&](Operation *op) { return isDelayed(op) && hasFedLoop(op); };
  auto consumesInTime = [&](Operation *op) { return !isDelayed(op) && waitsForTiles(op); };
  if (llvm::any_of(ops_, consumesLate) && llvm::any_of(ops_, consumesInTime))
    obstacle_ = "an inner loop would come one iteration late, and the producer loads its tiles before those for which "
                "the next iteration waits first";
  for (auto wait : loop_.getBody()->getOps<sm::ConsumerWaitOp>())
    if (isDelayed(wait) && wait.getChannel().getType().getSlots() == 1 && isLoadedBeforeOthers(wait))
      obstacle_ =
          "the tile of a delayed MMA has the only slot of its channel, for which the producer waits before it loads "
          "other tiles; legal are two stages and more";
  for (Value value : handedOver_)
    if (auto tile = value.getDefiningOp<sm::ToSharedOp>();
        isa<sm::SharedType>(value.getType()) && !(tile && canBeExchanged(tile)))
      obstacle_ = "the last MMA reads a tile of shared memory that the next iteration may overwrite";
  const std::vector<Effects> effects(ops_.begin(), ops_.end());
  for (Number late = 0; isAnyDelayed() && late < ops_.size(); ++late)
    for (Number op = 0; op < ops_.size(); ++op)
      if (isDelayed(ops_[late]) && !isDelayed(ops_[op]) && effects[late].conflictWith(effects[op]))
        obstacle_ = "what comes one iteration late and the next iteration access the same memory";
  for (sm::AsyncProduct mma : mmas_) {
    if (!staysInFlight(mma))
      continue;
    auto carried = dyn_cast_if_present<BlockArgument>(mma.getAcc());
    sm::AwaitOp await = awaitOf(mma);
    if (!carried || producerOf(carried) != await || !carried.hasOneUse() || !await->hasOneUse())
      obstacle_ = "an MMA that runs into the next iteration may only add to accumulators that the loop carries";
    else if (writerOf(mma, /*isLhs=*/true) || writerOf(mma, /*isLhs=*/false))
      obstacle_ = "an MMA that runs into the next iteration reads a tile that lanes write";
  }
}

//===-- Dependences -----------------------------------------------------------------------------------------------===//

void LoopDependences::addDependence(Operation *op, Operation *on) {
  if (op != on && numbers_.contains(on))
    dependences_[numbers_.at(op)].push_back(numbers_.at(on));
}

void LoopDependences::findDependences() {
  dependences_.resize(ops_.size());
  for (Number op = 0; op < ops_.size(); ++op) {
    addValueDependences(op);
    if (auto release = dyn_cast<sm::ReleaseOp>(ops_[op]))
      addReleaseDependences(release);
    if (auto wait = dyn_cast<sm::ConsumerWaitOp>(ops_[op]))
      addWaitDependences(wait);
    if (auto mma = dyn_cast<sm::AsyncProduct>(ops_[op]); mma && isDelayed(mma))
      addOperandDependences(mma);
  }
  addMemoryDependences();
  coverFences();
}

/// Returns the op with all that it depends on.
llvm::BitVector LoopDependences::sliceOf(Number op) const {
  llvm::BitVector slice(ops_.size());
  SmallVector<Number> left{op};
  while (!left.empty()) {
    Number next = left.pop_back_val();
    if (slice.test(next))
      continue;
    slice.set(next);
    llvm::append_range(left, dependences_[next]);
  }
  return slice;
}

/// Returns the fence of a release, unless a store makes it unnecessary.
Operation *LoopDependences::fenceOf(Operation *op) const {
  Operation *fence = fenceBefore(op);
  return covered_.contains(fence) ? nullptr : fence;
}

/// Returns the op with the fence that each lane passes after a store for MMAs: the store of an exchanged tile itself,
/// or the first MMA that reads the tile, which starts after a barrier with a fence. Null for other ops.
Operation *LoopDependences::fencedAfter(Operation *store) const {
  if (isa<sm::ProducerStoreOp>(store))
    return store;
  for (sm::AsyncProduct mma : mmas_)
    if (isa<sm::ToSharedOp>(store) && llvm::is_contained(store->getUsers(), mma) && !isDelayed(mma))
      return mma;
  return nullptr;
}

/// Finds fences that are not needed because each lane passes another one, that of a store, between its reads of slots
/// and the release.
void LoopDependences::coverFences() {
  for (Operation *store : ops_) {
    Operation *fenced = fencedAfter(store);
    if (!fenced)
      continue;
    const llvm::BitVector slice = sliceOf(numbers_.at(store));
    for (Operation *release : ops_) {
      Operation *fence = fenceOf(release);
      auto isCovered = [&](Operation *op) {
        const bool isBefore = op->isBeforeInBlock(release) && isDelayed(op) == isDelayed(release);
        return !isBefore || !readsSlotByLanes(op) || slice.test(numbers_.at(op));
      };
      if (!fence || isDelayed(store) != isDelayed(release) || !llvm::all_of(ops_, isCovered))
        continue;
      covered_.insert(fence);
      addDependence(release, fenced);
    }
  }
}

/// Adds the ops of the steady state whose results `op` uses. A delayed op gets values of the current iteration from the
/// iteration before instead. What a delayed op yields is ready for the current iteration.
void LoopDependences::addValueDependences(Number number) {
  Operation *op = ops_[number];
  auto mma = dyn_cast<sm::AsyncProduct>(op);
  forEachOperand(op, [&](Value operand) {
    if (!isInBody(operand))
      return;
    auto carried = dyn_cast<BlockArgument>(operand);
    Operation *producer = carried ? producerOf(carried) : operand.getDefiningOp();
    const bool isOwnAwait = mma && operand == mma.getAcc() && producer == awaitOf(mma);
    if (!producer || isOwnAwait)
      return;
    if (carried ? isDelayed(producer) && !isDelayed(op) : isDelayed(producer) == isDelayed(op))
      addDependence(op, producer);
    if (auto started = dyn_cast<sm::AsyncProduct>(producer); started && isa<sm::AwaitOp>(op) && staysInFlight(started))
      addDependence(op, producer);
  });
}

/// Lets the next operand in registers be made only when the delayed MMA has read the last one.
void LoopDependences::addOperandDependences(sm::AsyncProduct mma) {
  auto isOperand = [&](Operation *user) { return user == mma || isa<sm::PackOp>(user); };
  for (Operation *op = mma.getLhs().getDefiningOp(); isNarrowing(op) && llvm::all_of(op->getUsers(), isOperand);
       op = op->getOperand(0).getDefiningOp())
    addDependence(op, awaitOf(mma));
}

/// Lets a wait for a tile that consumers exchange come after the store of this tile, and any wait after the inner loops
/// before it: the producer loads what follows a loop only when consumers have released slots of the loop.
void LoopDependences::addWaitDependences(sm::ConsumerWaitOp wait) {
  for (Operation *user : wait.getChannel().getUsers())
    if (isa<sm::ProducerStoreOp>(user) && isDelayed(user) == isDelayed(wait))
      addDependence(wait, user);
  for (Operation *before : ArrayRef(ops_).take_front(numbers_.at(wait)))
    if (isDelayed(before) == isDelayed(wait) && hasFedLoop(before))
      addDependence(wait, before);
}

/// Lets a release wait for all readers of its slot and their fences. A release with a fence may free slots of other
/// tiles, too, so it waits for all earlier reads of lanes.
void LoopDependences::addReleaseDependences(sm::ReleaseOp release) {
  Operation *fence = fenceBefore(release);
  for (Operation *before : ops_) {
    if (before == release)
      break;
    if (before == fence || (fence && isDelayed(before) == isDelayed(release) && readsSlotByLanes(before)))
      addDependence(release, before);
    auto wait = dyn_cast<sm::ConsumerWaitOp>(before);
    if (!wait || wait.getChannel() != release.getChannel() || wait.getSlot() != release.getSlot())
      continue;
    forEachReader(wait, [&](Operation *reader) {
      Operation *inBody = loop_.getBody()->findAncestorOpInBlock(*reader);
      auto mma = dyn_cast<sm::AsyncProduct>(inBody);
      addDependence(release, mma ? awaitOf(mma) : inBody);
      if (isa_and_present<sm::ProxyFenceOp>(inBody->getNextNode()))
        addDependence(release, inBody->getNextNode());
    });
  }
}

/// Keeps the order of accesses that conflict, and lets a fence come after the reads that it orders.
void LoopDependences::addMemoryDependences() {
  const std::vector<Effects> effects(ops_.begin(), ops_.end());
  for (Number number = 0; number < ops_.size(); ++number)
    for (Number before = 0; before < number; ++before)
      if (isDelayed(ops_[before]) == isDelayed(ops_[number]) &&
          (effects[number].conflictWith(effects[before]) || (effects[number].isFence && effects[before].readsSlot)))
        addDependence(ops_[number], ops_[before]);
}

void LoopDependences::findNeeds() {
  needs_.assign(ops_.size(), llvm::BitVector(ops_.size()));
  llvm::BitVector known(ops_.size());
  std::function<void(Number)> visit = [&](Number op) {
    if (known.test(op))
      return;
    known.set(op);
    for (Number on : dependences_[op]) {
      visit(on);
      needs_[op] |= needs_[on];
    }
    if (auto await = dyn_cast<sm::AwaitOp>(ops_[op]))
      needs_[op].set(op);
  };
  for (Number op = 0; op < ops_.size(); ++op)
    visit(op);
}

unsigned LoopDependences::countFollowers(sm::AsyncProduct mma) const {
  llvm::BitVector own(ops_.size());
  own.set(numbers_.at(awaitOf(mma)));
  return llvm::count(needs_, own);
}
