// SPDX-License-Identifier: MIT
// The program of the consumers: consumer waits and releases instead of loads, and loops that carry ring positions.
#include "compiler/cuda/roles/analysis/ProducerTiles.h"
#include "compiler/cuda/roles/analysis/Rings.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using LocBuilder = ImplicitLocOpBuilder;

namespace {
class Consumers {
public:
  Consumers(const Rings &rings, sm::RolesOp roles) : rings_(rings), b_(roles.getLoc(), roles.getContext()) {}

  void build() {
    for (Operation *product : rings_.products())
      product->erase();
    for (sm::TensorAllocOp sums : rings_.sums())
      addRingPosition(sums);
    for (sm::LoadSharedOp fetch : rings_.fetches())
      if (Operation *tile = readTileOf(fetch); !tile->use_empty())
        addRingPosition(tile);
    for (tile::NextWorkOp work : rings_.work())
      addRingPosition(work);
    for (sm::LoadSharedOp fetch : rings_.fetches()) {
      receive(readTileOf(fetch));
      if (fetch->use_empty())
        fetch.erase();
    }
    for (tile::NextWorkOp work : rings_.work())
      receive(work);
    for (sm::TensorAllocOp sums : rings_.sums())
      receive(sums);
  }

private:
  /// Lets the loop around `op`, and the loops around it, carry the ring position of `op`, unless they already do.
  void addRingPosition(Operation *op) {
    Loop loop = loopOf(op);
    if (!loop || places_.contains(op))
      return;
    for (Region *region : loop.getLoopRegions())
      for (Operation &fed : region->front())
        if (rings_.isPassed(&fed))
          places_[&fed] = loop.getInits().size();
    carryRingPosition(loop, slotsIn(loop));
  }

  /// Sets the insertion point after the wait for the MMA before the one that needs the tile. The code between MMAs is
  /// then one stretch, which ptxas can interleave. The point also stays after a proxy fence and its release, which
  /// would otherwise do the work of the producer's fence for this tile, and after a loop: the producer loads what
  /// follows a loop only when consumers have released the loop's slots.
  void placeConsumerWait(Operation *user) {
    auto isFencedRelease = [](Operation *op) {
      return isa<sm::ReleaseOp>(op) && isa_and_present<sm::ProxyFenceOp>(op->getPrevNode());
    };
    for (Operation *op = user->getPrevNode(); op; op = op->getPrevNode())
      if (isa<sm::AwaitOp, sm::ProxyFenceOp, Loop>(op) || isFencedRelease(op))
        return b_.setInsertionPointAfter(op);
    b_.setInsertionPoint(user);
  }

  /// Replaces the tile of a load or of a transpose, and the others of its slot, by a wait for them.
  void receive(Operation *passed) {
    if (passed->use_empty())
      return;
    sm::ChannelOp channel = rings_.of(passed);
    placeConsumerWait(userIn(passed, /*last=*/false));
    b_.setLoc(passed->getLoc());
    Loop loop = loopOf(passed);
    const RingPosition now = positionOf(passed);
    auto wait = sm::ConsumerWaitOp::create(b_, channel, now.slot, now.phase);
    if (loop && !rings_.releasedWith(passed))
      release(channel, now);
    for (auto [part, tile] : llvm::zip_equal(rings_.partsOf(channel), wait.getTiles()))
      part->replaceAllUsesWith(ValueRange(tile));
    if (isa<sm::TransposeOp>(passed))
      passed->erase();
  }

  void receive(tile::NextWorkOp work) {
    b_.setInsertionPoint(work);
    b_.setLoc(work.getLoc());
    const RingPosition now =
        RingPosition::lastOf(ValueRange(work->getBlock()->getArguments()).slice(places_.at(work), 2));
    work.replaceAllUsesWith(receiveWork(b_, rings_.of(work), now));
    work.erase();
  }

  /// Waits for accumulators where the program reads them. The role gives their columns back at its end.
  void receive(sm::TensorAllocOp sums) {
    auto read = cast<sm::TensorReadOp>(*sums->user_begin());
    sm::ChannelOp channel = rings_.of(sums);
    Value ring = rings_.tensorRing(sums);
    b_.setInsertionPoint(read);
    b_.setLoc(read.getLoc());
    Loop loop = loopOf(sums);
    const RingPosition now = positionOf(sums);
    sm::WaitFullOp::create(b_, channel, now.slot, now.phase);
    read.getSumsMutable().assign(ring);
    read.getSlotMutable().assign(now.slot);
    b_.setInsertionPointAfter(read);
    if (loop)
      sm::ReleaseOp::create(b_, channel, now.slot, /*per_warp=*/true);
    sums.erase();
    b_.setInsertionPoint(sm::roleOf(read)->block().getTerminator());
    sm::TensorFreeOp::create(b_, ring);
  }

  /// Returns the ring position of an op that is in a loop, or the only one of an op in none.
  RingPosition positionOf(Operation *op) {
    Loop loop = loopOf(op);
    return loop ? RingPosition::lastOf(carriedIn(loop).slice(places_.at(op), 2)) : RingPosition::first(b_);
  }

  /// Inserts the release after the last user of the slot: after the wait of an sm.wgmma, or after the inner loop that
  /// contains the user.
  void release(sm::ChannelOp channel, RingPosition position) {
    const ArrayRef<Operation *> tiles = rings_.partsOf(channel);
    Operation *last = userIn(tiles.front(), /*last=*/true);
    auto product = dyn_cast<sm::AsyncProduct>(last);
    b_.setInsertionPointAfter(product ? *product->getUsers().begin() : last);
    const bool isFenced =
        llvm::any_of(tiles, [&](Operation *tile) { return !isReadByMmas(tile) || rings_.isCompanion(tile); });
    if (isFenced) // TMA writes the next tiles to this slot.
      sm::ProxyFenceOp::create(b_);
    sm::ReleaseOp::create(b_, channel, position.slot,
                          /*per_warp=*/!product || isFenced || llvm::any_of(tiles, isReadByLanes));
    for (Operation *tile : tiles)
      for (Operation *reader : tile->getUsers())
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
