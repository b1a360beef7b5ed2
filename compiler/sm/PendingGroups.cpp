// SPDX-License-Identifier: MIT
#include "compiler/sm/PendingGroups.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::sm;

using PendingGroups = llvm::MapVector<Operation *, int64_t>;

namespace {
/// Returns the engine whose accesses a handle stands for: an MMA in flight, the copies of a commit group, or a buffer
/// that TMA may still read. `none` for any other value.
Engine engineOf(Value handle) {
  return TypeSwitch<Type, Engine>(handle.getType())
      .Case([](InflightType) { return Engine::tensorCores; })
      .Case([](CopiesType) { return Engine::cpAsync; })
      .Case([](SharedType) { return Engine::tma; })
      .Default(Engine::none);
}

/// The number of groups that have started since each handle, the least over all paths.
class Ages {
public:
  /// Starts a group. Those of the same engine grow older.
  void start(Value handle) {
    grow(engineOf(handle));
    ages_[handle] = 0;
  }
  /// Adds a handle of the group that starts next.
  void startWithNext(Value handle) { ages_[handle] = -1; }
  /// Starts a group that nothing waits for.
  void grow(Engine engine) {
    for (auto &[handle, age] : ages_)
      age += engineOf(handle) == engine;
  }
  /// Ends the stores from a buffer.
  void end(Value buffer) { ages_.erase(buffer); }
  void endAllStores() {
    for (Value handle : llvm::to_vector(llvm::make_first_range(ages_)))
      if (engineOf(handle) == Engine::tma)
        ages_.erase(handle);
  }
  bool isPending(Value buffer) const { return ages_.contains(buffer); }
  int64_t of(Value handle) const { return ages_.lookup(handle); }
  /// Lets each of `heirs` stand for the MMA or the copies in flight that one of `values` stands for.
  void handOn(ValueRange heirs, ValueRange values) {
    const SmallVector<int64_t> ages = llvm::map_to_vector(values, [&](Value value) { return of(value); });
    for (auto [heir, age] : llvm::zip_equal(heirs, ages))
      if (isa<InflightType, CopiesType>(heir.getType()))
        ages_[heir] = age;
  }
  void addPath(const Ages &path) {
    for (auto [handle, age] : path.ages_)
      if (auto [known, isNew] = ages_.try_emplace(handle, age); !isNew)
        known->second = std::min(known->second, age);
  }
  bool operator==(const Ages &other) const { return ages_ == other.ages_; }

private:
  DenseMap<Value, int64_t> ages_;
};

/// A walk along all paths of a program.
class GroupWalk {
public:
  explicit GroupWalk(Operation *root) { visitRegions(root); }

  PendingGroups takePending() { return std::move(pending_); }
  Operation *earlyWrite() const { return earlyWrite_; }

private:
  void visitRegions(Operation *op) {
    for (Region &region : op->getRegions())
      for (Block &block : region)
        visit(block);
  }

  void visit(Block &block) {
    for (Operation &op : block)
      visit(&op);
  }

  void visit(Operation *op) {
    checkWrites(op);
    if (auto loop = dyn_cast<LoopLikeOpInterface>(op))
      visitLoop(loop);
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      visitBranch(branch);
    else if (auto product = dyn_cast<AsyncProduct>(op); product && product.getHandle())
      ages_.start(product.getHandle());
    else if (auto store = dyn_cast<TmaStoreOp>(op))
      ages_.start(tile::rootOf(store.getShared()));
    else if (isa<TmaCommitOp>(op))
      ages_.grow(Engine::tma);
    else if (auto commit = dyn_cast<CommitOp>(op))
      commit.getJoinsNext() ? ages_.startWithNext(commit.getCopies()) : ages_.start(commit.getCopies());
    else if (auto add = dyn_cast<TmaAddOp>(op))
      ages_.start(tile::rootOf(add.getShared()));
    else if (auto wait = dyn_cast<TmaStoreWaitOp>(op))
      addStoreWait(wait);
    else if (isa<AwaitOp, WaitOp>(op))
      llvm::for_each(op->getOperands(), [&](Value handle) { addWait(op, handle); });
    else
      visitRegions(op);
  }

  /// Adds nothing on a path without a store, such as that to the first iteration of a loop.
  void addStoreWait(TmaStoreWaitOp wait) {
    if (!wait.getShared())
      return ages_.endAllStores();
    Value buffer = tile::rootOf(wait.getShared());
    if (ages_.isPending(buffer))
      addWait(wait, buffer);
    ages_.end(buffer);
  }

  void checkWrites(Operation *op) {
    auto isEarly = [&](const Access &access) {
      return access.kind == AccessKind::write && !access.goesOn() && ages_.isPending(tile::rootOf(access.place->get()));
    };
    if (op->getNumRegions() == 0 && llvm::any_of(accessesOf(op), isEarly))
      earlyWrite_ = op;
  }

  void addWait(Operation *op, Value handle) {
    const int64_t age = ages_.of(handle);
    if (auto [known, isNew] = pending_.try_emplace(op, age); !isNew)
      known->second = std::min(known->second, age);
  }

  void visitBranch(scf::IfOp branch) {
    Ages otherwise = ages_;
    visit(*branch.thenBlock());
    ages_.handOn(branch.getResults(), branch.thenYield().getOperands());
    if (Block *block = branch.elseBlock()) {
      std::swap(ages_, otherwise);
      visit(*block);
      ages_.handOn(branch.getResults(), branch.elseYield().getOperands());
    }
    ages_.addPath(otherwise);
  }

  /// Repeats the walk of an iteration until it adds no path. The loop may end before and after each of its regions.
  void visitLoop(LoopLikeOpInterface loop) {
    ValueRange carried = loop.getRegionIterArgs();
    Ages entry = ages_, before, exits;
    entry.handOn(carried, loop.getInits());
    do {
      before = exits = ages_ = entry;
      for (Region *region : loop.getLoopRegions()) {
        visit(region->front());
        exits.addPath(ages_);
      }
      ages_.handOn(carried, loop.getYieldedValues());
      entry.addPath(ages_);
    } while (!(entry == before));
    ages_ = std::move(exits);
    if (isa<scf::ForOp>(loop))
      ages_.handOn(loop->getResults(), carried);
  }

  Ages ages_;
  PendingGroups pending_;
  Operation *earlyWrite_ = nullptr;
};
} // namespace

PendingGroups tegula::sm::pendingGroups(Operation *root) { return GroupWalk(root).takePending(); }
Operation *tegula::sm::findEarlyWrite(Operation *root) { return GroupWalk(root).earlyWrite(); }
