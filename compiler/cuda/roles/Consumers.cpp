// SPDX-License-Identifier: MIT
// The program of the consumers: consumer waits and releases instead of loads, and loops that carry ring positions.
#include "compiler/cuda/roles/analysis/ProducerTiles.h"
#include "compiler/cuda/roles/analysis/Rings.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using LocBuilder = ImplicitLocOpBuilder;

/// Returns the ring position in the last two of the values that a loop carries.
static RingPosition ringPositionOf(ValueRange values) { return {values.drop_back().back(), values.back()}; }

namespace {
class Consumers {
public:
  Consumers(const Rings &rings, sm::RolesOp roles) : rings_(rings), b_(roles.getLoc(), roles.getContext()) {}

  void build() {
    for (sm::LoadSharedOp fetch : rings_.fetches())
      addRingPosition(fetch);
    for (tile::NextWorkOp work : rings_.work())
      addRingPosition(work);
    for (sm::LoadSharedOp fetch : rings_.fetches())
      receive(fetch);
    for (tile::NextWorkOp work : rings_.work())
      receive(work);
  }

private:
  using NextRingPosition = function_ref<RingPosition(LocBuilder &, ValueRange)>;

  /// Lets the loop around `op`, and the loops around it, carry the ring position of `op`, unless they already do.
  void addRingPosition(Operation *op) {
    Loop loop = loopOf(op);
    if (!loop || places_.contains(op))
      return;
    b_.setLoc(loop.getLoc());
    int64_t slots = rings_.slotsIn(loop);
    for (Region *region : loop.getLoopRegions())
      for (Operation &fed : region->front())
        if (rings_.isProducerLoaded(&fed))
          places_[&fed] = loop.getInits().size();
    Loop inner = addCounters(
        loop, [&](LocBuilder &b, ValueRange arguments) { return ringPositionOf(arguments).next(b, slots); });
    while (Loop outer = loopOf(inner)) {
      outer = addCounters(outer, [&](LocBuilder &, ValueRange) { return ringPositionOf(inner->getResults()); });
      auto [slot, phase] = ringPositionOf(carriedIn(outer));
      MutableArrayRef<OpOperand> inits = inner.getInitsMutable().take_back(2);
      inits.front().set(slot);
      inits.back().set(phase);
      inner = outer;
    }
  }

  Loop addCounters(Loop loop, NextRingPosition next) {
    if (auto whileOp = dyn_cast<scf::WhileOp>(*loop))
      return addCounters(whileOp, next);
    return addCounters(cast<scf::ForOp>(*loop), next);
  }

  Loop addCounters(scf::WhileOp loop, NextRingPosition next) {
    b_.setInsertionPoint(loop);
    const RingPosition first = RingPosition::first(b_);
    SmallVector<Value> inits(loop.getInits());
    inits.append({first.slot, first.phase});
    SmallVector<Type> types(loop.getResultTypes()), added(2, b_.getI32Type());
    llvm::append_range(types, added);
    auto counting = scf::WhileOp::create(b_, types, inits, nullptr, nullptr);
    counting->setDiscardableAttrs(loop->getDiscardableAttrDictionary());
    SmallVector<Location> locations(2, loop.getLoc());
    counting.getBefore().takeBody(loop.getBefore());
    counting.getAfter().takeBody(loop.getAfter());
    auto counters = counting.getBeforeBody()->addArguments(added, locations);
    counting.getConditionOp().getArgsMutable().append(SmallVector<Value>(counters.begin(), counters.end()));
    counting.getAfterBody()->addArguments(added, locations);
    scf::YieldOp yield = counting.getYieldOp();
    LocBuilder end(loop.getLoc(), yield);
    RingPosition position = next(end, carriedIn(counting));
    yield.getResultsMutable().append({position.slot, position.phase});
    loop->replaceAllUsesWith(counting->getResults().drop_back(2));
    loop.erase();
    return counting;
  }

  Loop addCounters(scf::ForOp loop, NextRingPosition next) {
    IRRewriter rewriter(b_.getContext());
    rewriter.setInsertionPoint(loop);
    b_.setInsertionPoint(loop);
    auto yield = [&](OpBuilder &end, Location loc, ArrayRef<BlockArgument> added) -> SmallVector<Value> {
      LocBuilder b(loc, end);
      RingPosition position = next(b, ValueRange(added));
      return {position.slot, position.phase};
    };
    const RingPosition first = RingPosition::first(b_);
    SmallVector<Value> inits{first.slot, first.phase};
    auto replaced = loop.replaceWithAdditionalYields(rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, yield);
    return *replaced;
  }

  /// Sets the insertion point after the wait for the MMA before the one that needs the tile. The code between MMAs is
  /// then one stretch, which ptxas can interleave. The point also stays after a proxy fence, which would otherwise do
  /// the work of the producer's fence for this tile, and after a loop: the producer loads what follows a loop only when
  /// consumers have released the loop's slots.
  void placeConsumerWait(Operation *user) {
    for (Operation *op = user->getPrevNode(); op; op = op->getPrevNode())
      if (isa<sm::AwaitOp, sm::ProxyFenceOp, Loop>(op))
        return b_.setInsertionPointAfter(op);
    b_.setInsertionPoint(user);
  }

  void receive(sm::LoadSharedOp fetch) {
    Channel channel = rings_.of(fetch);
    if (fetch->use_empty())
      return fetch.erase();
    placeConsumerWait(userIn(fetch, /*last=*/false));
    b_.setLoc(fetch.getLoc());
    Loop loop = loopOf(fetch);
    RingPosition now = loop ? ringPositionOf(carriedIn(loop).slice(places_.at(fetch), 2)) : RingPosition::first(b_);
    Value slot = sm::SlotOp::create(b_, fetch.getType(), channel.ring, now.slot);
    Value tile = sm::ConsumerWaitOp::create(b_, fetch.getType(), slot, channel.mbarriers, now.slot, now.phase);
    if (loop && !rings_.releasedWith(fetch))
      release(fetch, channel, now);
    fetch.replaceAllUsesWith(tile);
    fetch.erase();
  }

  void receive(tile::NextWorkOp work) {
    b_.setInsertionPoint(work);
    b_.setLoc(work.getLoc());
    Value mbarriers = rings_.of(work).mbarriers;
    auto [slot, phase] = ringPositionOf(ValueRange(work->getBlock()->getArguments()).slice(places_.at(work), 2));
    Value number = sm::ConsumeWorkOp::create(b_, b_.getI32Type(), mbarriers, slot, phase);
    sm::ReleaseOp::create(b_, mbarriers, slot, /*per_warp=*/true);
    work.replaceAllUsesWith(number);
    work.erase();
  }

  /// Inserts the release after the last user of the tile: after the wait of an sm.wgmma, or after the inner loop that
  /// contains the user.
  void release(sm::LoadSharedOp fetch, Channel channel, RingPosition position) {
    Operation *last = userIn(fetch, /*last=*/true);
    auto product = dyn_cast<sm::WgmmaOp>(last);
    b_.setInsertionPointAfter(product ? *product->getUsers().begin() : last);
    const bool isFenced = !isReadByMmas(fetch) || rings_.isCompanion(fetch);
    if (isFenced) // TMA writes the next tile to this slot.
      sm::ProxyFenceOp::create(b_);
    sm::ReleaseOp::create(b_, channel.mbarriers, position.slot, /*per_warp=*/!product || isReadByLanes(fetch));
    for (Operation *reader : fetch->getUsers())
      if (isa<sm::MmaOp>(reader) && !isFenced && !isa<sm::ProxyFenceOp>(reader->getNextNode())) {
        b_.setInsertionPointAfter(reader);
        sm::ProxyFenceOp::create(b_);
      }
  }

  const Rings &rings_;
  LocBuilder b_;
  DenseMap<Operation *, unsigned> places_; ///< The index of an op's ring position in what its loop carries.
};
} // namespace

void cuda::buildConsumers(const Rings &rings, sm::RolesOp roles) { Consumers(rings, roles).build(); }
