// SPDX-License-Identifier: MIT
// The program of the producer: the loops of the consumers' program with its loads to shared memory only.
#include "compiler/cuda/roles/analysis/ProducerTiles.h"
#include "compiler/cuda/roles/analysis/Rings.h"
#include "compiler/cuda/roles/analysis/RolePlan.h"
#include "compiler/sm/Roles.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using LocBuilder = ImplicitLocOpBuilder;

namespace {
class Producer {
public:
  Producer(const Rings &rings, sm::RolesOp roles)
      : rings_(rings), roles_(roles), b_(roles.getLoc(), roles.getContext()) {}

  void build() {
    b_.setInsertionPointToStart(&sm::findRole(roles_, kLoad)->block());
    loadBlock(sm::findRole(roles_, kCompute)->block(), RingPosition::first(b_));
  }

private:
  /// Emits the producer's part of a block. `position` is the ring position of the block's own loads.
  void loadBlock(Block &block, RingPosition position) {
    SmallVector<sm::LoadSharedOp> due;
    for (Operation &op : block) {
      if (auto fetch = dyn_cast<sm::LoadSharedOp>(op); fetch && rings_.isProducerLoaded(fetch)) {
        due.push_back(fetch);
      } else if (auto loop = dyn_cast<Loop>(op); loop && !rings_.loopsIn(loop).empty()) {
        feed(due, position);
        b_.setLoc(op.getLoc());
        repeat(loop);
      }
    }
    feed(due, position);
    b_.setLoc(block.back().getLoc());
  }

  /// Emits the producer loads of a block in the order in which consumers release their slots, so that the producer
  /// never waits for a late slot while an earlier one is free. A tile that is released with another one comes after it.
  void feed(SmallVector<sm::LoadSharedOp> &due, RingPosition position) {
    auto last = [&](sm::LoadSharedOp fetch) {
      sm::LoadSharedOp partner = rings_.releasedWith(fetch);
      return userIn(partner ? partner : fetch, /*last=*/true);
    };
    llvm::stable_sort(due, [&](sm::LoadSharedOp one, sm::LoadSharedOp other) {
      Operation *end = last(one), *otherEnd = last(other);
      if (end == otherEnd)
        return !rings_.releasedWith(one) && rings_.releasedWith(other);
      return end && otherEnd && end->isBeforeInBlock(otherEnd);
    });
    for (sm::LoadSharedOp fetch : due) {
      b_.setLoc(fetch.getLoc());
      feed(fetch, position);
    }
    due.clear();
  }

  /// Clones the ops in `block` that `values` are computed from, unless they have been cloned already.
  void repeat(ValueRange values, Block *block) {
    for (Operation *op : sliceOf(values))
      if (op->getBlock() == block && !map_.contains(op->getResult(0)))
        b_.clone(*op, map_);
  }

  void repeat(Loop loop) {
    loop->walk([&](Operation *op) {
      if (auto inner = dyn_cast<scf::ForOp>(op))
        repeat(boundsOf(inner), loop->getBlock());
      else if (rings_.isProducerLoaded(op))
        repeat(op->getOperands(), loop->getBlock());
    });
    SmallVector<Loop> loops = rings_.loopsIn(loop);
    for (Loop inner : loops)
      positions_.try_emplace(inner, RingPosition::first(b_));
    if (auto whileOp = dyn_cast<scf::WhileOp>(*loop))
      repeat(whileOp, loops);
    else
      repeat(cast<scf::ForOp>(*loop), loops);
  }

  void repeat(scf::ForOp loop, ArrayRef<Loop> loops) {
    Value lower = map_.lookupOrDefault(loop.getLowerBound()), upper = map_.lookupOrDefault(loop.getUpperBound());
    auto copy = scf::ForOp::create(b_, lower, upper, map_.lookupOrDefault(loop.getStep()), positionsOf(loops));
    OpBuilder::InsertionGuard guard(b_);
    repeatIteration(loop, loops, copy);
  }

  void repeat(scf::WhileOp loop, ArrayRef<Loop> loops) {
    tile::NextWorkOp work = nextWorkOf(loop);
    Value condition = loop.getConditionOp().getCondition();
    repeat(condition, loop->getBlock());
    SmallVector<Value> inits = positionsOf(loops);
    SmallVector<Type> types(loop.getResultTypes());
    llvm::append_range(types, ValueRange(inits).getTypes());
    auto copy = scf::WhileOp::create(b_, types, inits, nullptr, nullptr);
    OpBuilder::InsertionGuard guard(b_);
    b_.setInsertionPointToStart(copy.getBeforeBody());
    setPositions(loops, copy.getBeforeArguments());
    SmallVector<Value> passed{feed(work, positions_.at(loop))};
    llvm::append_range(passed, copy.getBeforeArguments());
    map_.map(work.getResult(), passed.front());
    repeat(condition, loop.getBeforeBody());
    scf::ConditionOp::create(b_, map_.lookupOrDefault(condition), passed);
    repeatIteration(loop, loops, copy);
  }

  /// Emits the producer's part of the loop body. `copy` carries the ring positions of `loops`.
  void repeatIteration(Loop loop, ArrayRef<Loop> loops, Loop copy) {
    map_.map(bodyOf(loop)->getArgument(0), bodyOf(copy)->getArgument(0));
    b_.setInsertionPointToStart(bodyOf(copy));
    setPositions(loops, carriedIn(copy));
    loadBlock(*bodyOf(loop), positions_.lookup(loop));
    if (rings_.areFilledIn(loop))
      positions_[loop] = positions_[loop].next(b_, slotsIn(loop));
    scf::YieldOp::create(b_, positionsOf(loops));
    setPositions(loops, copy->getResults().take_back(2 * loops.size()));
  }

  SmallVector<Value> positionsOf(ArrayRef<Loop> loops) {
    SmallVector<Value> turns;
    for (Loop loop : loops)
      turns.append({positions_[loop].slot, positions_[loop].phase});
    return turns;
  }

  void setPositions(ArrayRef<Loop> loops, ValueRange values) {
    for (auto [i, loop] : llvm::enumerate(loops))
      positions_[loop] = {values[2 * i], values[2 * i + 1]};
  }

  Value feed(tile::NextWorkOp work, RingPosition position) {
    b_.setLoc(work.getLoc());
    Value counter = map_.lookupOrDefault(work.getCounter());
    return sm::ProduceWorkOp::create(b_, b_.getI32Type(), counter, rings_.of(work), position.slot, position.phase);
  }

  void feed(sm::LoadSharedOp fetch, RingPosition position) {
    repeat(fetch->getOperands(), fetch->getBlock());
    SmallVector<Value> indices;
    for (Value index : fetch.getPosition())
      indices.push_back(map_.lookupOrDefault(index));
    const bool consumersCopy = llvm::any_of(fetch->getUsers(), llvm::IsaPred<sm::FallbackCopyOp, sm::ReadOrLoadOp>);
    sm::ProducerLoadOp::create(b_, map_.lookupOrDefault(fetch.getView()), indices, fetch.getShape(), rings_.of(fetch),
                               position.slot, position.phase, /*tma_only=*/consumersCopy);
  }

  const Rings &rings_;
  sm::RolesOp roles_;
  LocBuilder b_;
  IRMapping map_;                                 ///< From values of the consumers' program.
  DenseMap<Operation *, RingPosition> positions_; ///< The ring position of the next tiles of each loop.
};
} // namespace

void cuda::buildProducer(const Rings &rings, sm::RolesOp roles) { Producer(rings, roles).build(); }
