// SPDX-License-Identifier: MIT
// The program of a role that fills rings: the loops of the consumers' program with its loads, transposes or products
// only.
#include "compiler/cuda/roles/analysis/ProducerTiles.h"
#include "compiler/cuda/roles/analysis/Rings.h"
#include "compiler/cuda/roles/analysis/RolePlan.h"
#include "compiler/sm/Roles.h"

#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using LocBuilder = ImplicitLocOpBuilder;

sm::LayoutAttr cuda::transposingLayout(sm::SharedType tile, int64_t warps) {
  constexpr int64_t bytesOfAccess = 16;
  return sm::squaresLayout(tile.getContext(), tile.getShape(), bytesOfAccess / tile.elementBytes(), warps);
}

Value cuda::readTransposed(LocBuilder &b, Value tile, int64_t warps) {
  auto type = cast<sm::SharedType>(tile.getType());
  const int64_t rows = type.getShape()[0], columns = type.getShape()[1];
  const sm::LayoutAttr layout = transposingLayout(type, warps);
  Value held = sm::ReadOp::create(b, RankedTensorType::get({rows, columns}, type.getElementType(), layout), tile,
                                  /*reshaped=*/false);
  auto transposed = RankedTensorType::get({columns, rows}, type.getElementType(), sm::permuted(layout, {1, 0}));
  return tile::TransposeOp::create(b, transposed, held, b.getDenseI64ArrayAttr({1, 0}));
}

namespace {
class Producer {
public:
  Producer(const Rings &rings, sm::RoleRef role)
      : rings_(rings), role_(role), b_(role.body().getLoc(), role.body().getContext()) {}

  void build() {
    b_.setInsertionPointToStart(&role_.block());
    auto roles = cast<sm::RolesOp>(role_.body().getParentOp());
    fillBlock(sm::findRole(roles, kCompute)->block(), RingPosition::first(b_));
  }

private:
  /// Emits the role's part of a block. `position` is the ring position of the block's own tiles.
  void fillBlock(Block &block, RingPosition position) {
    SmallVector<Operation *> due;
    for (Operation &op : block) {
      if (!isa<tile::NextWorkOp>(op) && isOwn(&op)) {
        due.push_back(&op);
      } else if (auto loop = dyn_cast<Loop>(op); loop && !loopsIn(loop).empty()) {
        feed(due, position);
        b_.setLoc(op.getLoc());
        repeat(loop);
      }
    }
    feed(due, position);
    b_.setLoc(block.back().getLoc());
  }

  /// Fills the slots of a block in the order in which their readers release them, so that the role never waits for a
  /// late slot while an earlier one is free. A tile that is released with another one comes after it.
  void feed(SmallVector<Operation *> &due, RingPosition position) {
    auto last = [&](Operation *tile) {
      Operation *partner = rings_.releasedWith(tile);
      return userIn(partner ? partner : tile, /*last=*/true);
    };
    llvm::stable_sort(due, [&](Operation *one, Operation *other) {
      Operation *end = last(one), *otherEnd = last(other);
      if (end == otherEnd)
        return !rings_.releasedWith(one) && rings_.releasedWith(other);
      return end && otherEnd && end->isBeforeInBlock(otherEnd);
    });
    for (Operation *tile : due) {
      b_.setLoc(tile->getLoc());
      TypeSwitch<Operation *>(tile)
          .Case<sm::LoadSharedOp, sm::TransposeOp, sm::TensorAllocOp, sm::Tcgen05Op, sm::TensorReadOp>(
              [&](auto op) { feed(op, position); });
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
      else if (isOwn(op))
        repeat(computedFor(op), loop->getBlock());
    });
    SmallVector<Loop> loops = loopsIn(loop);
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
    takeSteps(loop, copy);
    OpBuilder::InsertionGuard guard(b_);
    repeatIteration(loop, loops, copy);
  }

  /// Gives the role's loop its step list, which the loop of the consumers then no longer has.
  void takeSteps(scf::ForOp loop, scf::ForOp copy) {
    auto lists = loop->getAttrOfType<DictionaryAttr>(kRoleSteps);
    if (Attribute list = lists ? lists.get(role_.name()) : Attribute()) {
      copy->setAttr(tile::steps, list);
      NamedAttrList others(lists);
      others.erase(role_.name());
      others.empty() ? (void)loop->removeAttr(kRoleSteps)
                     : loop->setAttr(kRoleSteps, others.getDictionary(loop.getContext()));
    }
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

  /// Emits the role's part of the loop body. `copy` carries the ring positions of `loops`.
  void repeatIteration(Loop loop, ArrayRef<Loop> loops, Loop copy) {
    map_.map(bodyOf(loop)->getArgument(0), bodyOf(copy)->getArgument(0));
    b_.setInsertionPointToStart(bodyOf(copy));
    setPositions(loops, carriedIn(copy));
    fillBlock(*bodyOf(loop), positions_.lookup(loop));
    if (rings_.areUsedIn(loop, role_.name()))
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

  bool isOwn(Operation *op) const { return rings_.isOf(role_.name(), op); }

  /// Returns the operands of an own op that the role computes itself.
  static SmallVector<Value> computedFor(Operation *op) {
    if (auto product = dyn_cast<sm::Tcgen05Op>(op))
      return {product.getAccumulates()};
    return isa<sm::LoadSharedOp, tile::NextWorkOp>(op) ? SmallVector<Value>(op->getOperands()) : SmallVector<Value>();
  }

  SmallVector<Loop> loopsIn(Loop loop) const { return rings_.loopsIn(loop, role_.name()); }

  Value feed(tile::NextWorkOp work, RingPosition position) {
    b_.setLoc(work.getLoc());
    if (!isOwn(work))
      return receiveWork(b_, rings_.of(work), position);
    Value counter = map_.lookupOrDefault(work.getCounter());
    return sm::ProduceWorkOp::create(b_, b_.getI32Type(), counter, rings_.of(work), position.slot, position.phase);
  }

  void feed(sm::LoadSharedOp fetch, RingPosition position) {
    repeat(fetch->getOperands(), fetch->getBlock());
    SmallVector<Value> indices;
    for (Value index : fetch.getPosition())
      indices.push_back(map_.lookupOrDefault(index));
    const bool consumersTest = llvm::any_of(fetch->getUsers(), llvm::IsaPred<sm::IsLoadedOp>);
    auto load = sm::ProducerLoadOp::create(b_, map_.lookupOrDefault(fetch.getView()), indices, fetch.getShape(),
                                           rings_.of(fetch), position.slot, position.phase, rings_.partOf(fetch),
                                           consumersTest);
    tile::inheritAttributes(load, fetch, {kRole});
  }

  /// Reads the tile to registers, releases its slot, and stores its transpose in the other channel. Outside loops, a
  /// slot is filled only once.
  void feed(sm::TransposeOp transpose, RingPosition position) {
    sm::ChannelOp from = rings_.of(transpose.getSource().getDefiningOp()), to = rings_.of(transpose);
    auto wait = sm::ConsumerWaitOp::create(b_, from, position.slot, position.phase);
    Value transposed = readTransposed(b_, wait.getTiles().front(), role_.warps());
    if (loopOf(transpose)) {
      sm::ProxyFenceOp::create(b_); // TMA writes the next tile to this slot.
      sm::ReleaseOp::create(b_, from, position.slot, /*per_warp=*/true);
    }
    sm::ProducerStoreOp::create(b_, transposed, to, position.slot, position.phase, /*words=*/ValueRange());
  }

  /// Waits until the accumulators may be overwritten.
  void feed(sm::TensorAllocOp sums, RingPosition position) {
    sm::ProducerAcquireOp::create(b_, rings_.of(sums), position.slot, position.phase);
    slotsOfSums_[sums] = position.slot;
  }

  /// Waits for the operands and starts the product, which releases them when it is over.
  void feed(sm::Tcgen05Op product, RingPosition position) {
    sm::TensorAllocOp sums = sumsOf(product);
    repeat(product.getAccumulates(), product->getBlock());
    llvm::MapVector<Operation *, sm::ConsumerWaitOp> waits; // By channel.
    SmallVector<Value, 2> tiles;
    for (Value operand : {product.getLhs(), product.getRhs()}) {
      Operation *load = operand.getDefiningOp();
      sm::ConsumerWaitOp &wait = waits[rings_.of(load)];
      if (!wait)
        wait = sm::ConsumerWaitOp::create(b_, rings_.of(load), position.slot, position.phase);
      tiles.push_back(wait.getTiles()[rings_.partOf(load)]);
    }
    auto copy = sm::Tcgen05Op::create(b_, tiles[0], tiles[1], product.getDepth(), rings_.tensorRing(sums),
                                      slotsOfSums_.at(sums), map_.lookupOrDefault(product.getAccumulates()),
                                      product.getTransposeLhs(), product.getTransposeRhs());
    tile::inheritAttributes(copy, product);
    for (sm::ConsumerWaitOp wait : llvm::make_second_range(waits))
      sm::ReleaseOp::create(b_, wait.getChannel(), position.slot, /*per_warp=*/true, /*after_products=*/true);
  }

  /// Hands the accumulators over when the products are over.
  void feed(sm::TensorReadOp read, RingPosition) {
    sm::TensorAllocOp sums = sumsOf(read);
    sm::ProducerCommitOp::create(b_, rings_.of(sums), slotsOfSums_.at(sums), /*after_products=*/true);
  }

  const Rings &rings_;
  sm::RoleRef role_;
  LocBuilder b_;
  IRMapping map_;                                 ///< From values of the consumers' program.
  DenseMap<Operation *, RingPosition> positions_; ///< The ring position of the next tiles of each loop.
  DenseMap<Operation *, Value> slotsOfSums_;      ///< The slot of the accumulators to which products add.
};
} // namespace

void cuda::buildProducer(const Rings &rings, sm::RoleRef role) { Producer(rings, role).build(); }
