// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/analysis/Rings.h"

#include "compiler/cuda/roles/analysis/ProducerTiles.h"
#include "compiler/cuda/roles/analysis/RolePlan.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using LocBuilder = ImplicitLocOpBuilder;

int64_t cuda::slotsIn(Loop loop) {
  auto planned = loop ? loop->getAttrOfType<IntegerAttr>(kSlots) : IntegerAttr();
  return planned ? planned.getInt() : 1;
}

sm::ChannelOp cuda::makeChannel(LocBuilder &b, ArrayRef<sm::SharedType> parts, int64_t slots, StringRef from,
                                ArrayRef<StringRef> to) {
  auto type = sm::ChannelType::get(b.getContext(), slots, parts);
  SmallVector<Value, 2> rings;
  for (size_t part = 0; part < parts.size(); ++part)
    rings.push_back(sm::AllocOp::create(b, type.ring(part), IntegerAttr()));
  return sm::ChannelOp::create(b, type, rings, from, b.getStrArrayAttr(to),
                               /*per_warpgroup=*/llvm::is_contained(to, from), /*by_barriers=*/false,
                               /*words=*/IntegerAttr(), /*first_barrier=*/IntegerAttr());
}

static Value i32(LocBuilder &b, int64_t value) { return arith::ConstantIntOp::create(b, b.getI32Type(), value); }

RingPosition RingPosition::first(LocBuilder &b) { return {i32(b, 0), i32(b, 0)}; }

RingPosition RingPosition::next(LocBuilder &b, int64_t slots) const {
  Value closes = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, slot, i32(b, slots - 1));
  Value following = arith::AddIOp::create(b, slot, i32(b, 1));
  Value other = arith::XOrIOp::create(b, phase, i32(b, 1));
  return {arith::SelectOp::create(b, closes, i32(b, 0), following), arith::SelectOp::create(b, closes, other, phase)};
}

//===-- Positions that loops carry --------------------------------------------------------------------------------===//

using NextRingPosition = function_ref<RingPosition(LocBuilder &, ValueRange)>;

static Loop addCounters(scf::WhileOp loop, NextRingPosition next) {
  LocBuilder b(loop.getLoc(), loop);
  const RingPosition first = RingPosition::first(b);
  SmallVector<Value> inits(loop.getInits());
  inits.append({first.slot, first.phase});
  SmallVector<Type> types(loop.getResultTypes()), added(2, b.getI32Type());
  llvm::append_range(types, added);
  auto counting = scf::WhileOp::create(b, types, inits, nullptr, nullptr);
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

static Loop addCounters(scf::ForOp loop, NextRingPosition next) {
  IRRewriter rewriter(loop);
  LocBuilder b(loop.getLoc(), loop);
  auto yield = [&](OpBuilder &end, Location loc, ArrayRef<BlockArgument> added) -> SmallVector<Value> {
    LocBuilder b(loc, end);
    RingPosition position = next(b, ValueRange(added));
    return {position.slot, position.phase};
  };
  const RingPosition first = RingPosition::first(b);
  SmallVector<Value> inits{first.slot, first.phase};
  return *loop.replaceWithAdditionalYields(rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, yield);
}

static Loop addCounters(Loop loop, NextRingPosition next) {
  if (auto whileOp = dyn_cast<scf::WhileOp>(*loop))
    return addCounters(whileOp, next);
  return addCounters(cast<scf::ForOp>(*loop), next);
}

Loop cuda::carryRingPosition(Loop loop, int64_t slots) {
  Loop counting = addCounters(
      loop, [&](LocBuilder &b, ValueRange arguments) { return RingPosition::lastOf(arguments).next(b, slots); });
  Loop inner = counting;
  while (Loop outer = loopOf(inner)) {
    outer = addCounters(outer, [&](LocBuilder &, ValueRange) { return RingPosition::lastOf(inner->getResults()); });
    auto [slot, phase] = RingPosition::lastOf(carriedIn(outer));
    MutableArrayRef<OpOperand> inits = inner.getInitsMutable().take_back(2);
    inits.front().set(slot);
    inits.back().set(phase);
    inner = outer;
  }
  return counting;
}

//===-- Rings -----------------------------------------------------------------------------------------------------===//

Operation *cuda::userIn(Operation *tile, bool last) {
  Operation *found = nullptr;
  for (Operation *user : tile->getUsers()) {
    Operation *op = tile->getBlock()->findAncestorOpInBlock(*user);
    if (!found || found->isBeforeInBlock(op) == last)
      found = op;
  }
  return found;
}

sm::TensorAllocOp cuda::sumsOf(Operation *op) {
  for (Value operand : op->getOperands())
    if (auto sums = operand.getDefiningOp<sm::TensorAllocOp>())
      return sums;
  return {};
}

Value cuda::receiveWork(LocBuilder &b, sm::ChannelOp channel, RingPosition position) {
  Value number = sm::ConsumeWorkOp::create(b, b.getI32Type(), channel, position.slot, position.phase);
  sm::ReleaseOp::create(b, channel, position.slot, /*per_warp=*/true);
  return number;
}

Rings::Rings(LocBuilder &b, ArrayRef<sm::LoadSharedOp> fetches) : loads_(fetches) {
  for (sm::LoadSharedOp fetch : loads_)
    if (!isPassed(fetch))
      addTiles(b, fetch);
  addProducts(b);
  for (sm::LoadSharedOp fetch : loads_)
    findCompanion(fetch);
  for (sm::LoadSharedOp fetch : loads_)
    if (auto loop = fetch->getParentOfType<scf::WhileOp>(); loop && work_.insert(nextWorkOf(loop))) {
      b.setLoc(nextWorkOf(loop).getLoc());
      channels_[nextWorkOf(loop)] =
          makeChannel(b, /*parts=*/{}, slotsIn(cast<Loop>(*loop)), kLoad, readersOfWork(loop));
    }
}

/// Adds the channel of a load and of those that may share its slots, and that of its transpose.
void Rings::addTiles(LocBuilder &b, sm::LoadSharedOp fetch) {
  SmallVector<Operation *, 2> parts{fetch};
  for (sm::LoadSharedOp other : loads_)
    if (other != fetch && mayShareSlots(fetch, other))
      parts.push_back(other);
  addChannel(b, parts, kLoad, readerOf(fetch));
  if (sm::TransposeOp transpose = transposeOf(fetch))
    addChannel(b, transpose.getOperation(), kTranspose, kCompute);
}

void Rings::addChannel(LocBuilder &b, ArrayRef<Operation *> parts, StringRef from, StringRef to) {
  b.setLoc(parts.front()->getLoc());
  auto types =
      llvm::map_to_vector<2>(parts, [](Operation *tile) { return cast<sm::SharedType>(tile->getResult(0).getType()); });
  sm::ChannelOp channel = makeChannel(b, types, slotsIn(loopOf(parts.front())), from, to);
  for (Operation *tile : parts)
    channels_[tile] = channel;
  parts_[channel] = llvm::to_vector<2>(parts);
}

/// Returns true if two loads of a loop may fill parts of one slot: MMAs read both tiles from shared memory, and the
/// same op of an iteration is the first that needs either of them, and the same op is the last. No op then waits for a
/// tile that it does not need, and no slot is free later than with a channel for each tile.
bool Rings::mayShareSlots(sm::LoadSharedOp one, sm::LoadSharedOp other) const {
  auto isOperand = [](sm::LoadSharedOp load) { return loopOf(load) && feedsWgmma(load); };
  return isOperand(one) && isOperand(other) && one->getBlock() == other->getBlock() && !areLoadedApart(one, other) &&
         userIn(one, /*last=*/false) == userIn(other, /*last=*/false) &&
         userIn(one, /*last=*/true) == userIn(other, /*last=*/true);
}

/// Returns the role that takes the tile of a load.
StringRef Rings::readerOf(sm::LoadSharedOp load) const {
  if (transposeOf(load))
    return kTranspose;
  return llvm::any_of(load->getUsers(), isStartedByLane) ? kMma : kCompute;
}

SmallVector<StringRef> Rings::readersOfWork(scf::WhileOp loop) const {
  SmallVector<StringRef> readers{kCompute};
  for (StringRef role : {kTranspose, kMma})
    if (llvm::any_of(loads_, [&](sm::LoadSharedOp load) { return loop->isAncestor(load) && readerOf(load) == role; }))
      readers.push_back(role);
  return readers;
}

/// Makes rings of accumulators for the products that a lane starts, and the channels that pass them on.
void Rings::addProducts(LocBuilder &b) {
  for (sm::LoadSharedOp load : loads_)
    for (Operation *user : load->getUsers())
      if (isStartedByLane(user)) {
        products_.insert(user);
        sums_.insert(sumsOf(user));
      }
  for (sm::TensorAllocOp sums : sums_) {
    b.setLoc(sums.getLoc());
    const int64_t slots = slotsIn(loopOf(sums));
    const sm::TensorMemoryType type = sums.getType();
    tensorRings_[sums] = sm::TensorAllocOp::create(
        b, sm::TensorMemoryType::get(b.getContext(), slots, type.getRows(), type.getColumns()));
    channels_[sums] = makeChannel(b, /*parts=*/{}, slots, kMma, kCompute);
  }
}

bool Rings::isOf(StringRef role, Operation *op) const {
  if (isa<sm::TensorReadOp>(op))
    return isFilledBy(role, sumsOf(op));
  return isFilledBy(role, op) || (isStartedByLane(op) && role == kMma);
}

/// Returns true if the producer loads tiles of an inner loop between two loads of a block.
bool Rings::areLoadedApart(sm::LoadSharedOp one, sm::LoadSharedOp other) const {
  Operation *first = one->isBeforeInBlock(other) ? one : other, *last = first == one ? other : one;
  return llvm::any_of(llvm::make_range(first->getIterator(), last->getIterator()), [&](Operation &op) {
    auto loop = dyn_cast<Loop>(op);
    return loop && !loopsIn(loop, kLoad).empty();
  });
}

/// Finds the load whose release also frees the slot of `fetch`, a tile that goes to registers: a tile of the same loop
/// that each warp releases no sooner. The producer waits for the slot of that one first. A vector may share the release
/// of a tile that only warpgroups release. Each warp then arrives, instead of one of each warpgroup, which is cheaper
/// than a second pair of mbarriers.
void Rings::findCompanion(sm::LoadSharedOp fetch) {
  if (feedsWgmma(fetch) || transposeOf(fetch) || fetch->use_empty())
    return;
  auto isReleasedLater = [&](sm::LoadSharedOp other) {
    return other->getBlock() == fetch->getBlock() && isReadByMmas(other) && !areLoadedApart(fetch, other) &&
           !userIn(other, /*last=*/true)->isBeforeInBlock(userIn(fetch, /*last=*/true));
  };
  auto isReleasedByWarps = [&](sm::LoadSharedOp other) { return isReleasedLater(other) && isReadByLanes(other); };
  auto found = llvm::find_if(loads_, isReleasedByWarps);
  if (found == loads_.end() && fetch.getType().getShape().size() == 1)
    found = llvm::find_if(loads_, isReleasedLater);
  if (found != loads_.end())
    companions_[fetch] = *found;
}

bool Rings::areUsedIn(Loop loop, StringRef role) const {
  auto isUsed = [&](Operation &op) {
    const bool readsWork = isa<tile::NextWorkOp>(op) && isPassed(&op) &&
                           llvm::is_contained(of(&op).getTo().getAsValueRange<StringAttr>(), role);
    return readsWork || isOf(role, &op);
  };
  return llvm::any_of(loop.getLoopRegions(), [&](Region *region) { return llvm::any_of(region->front(), isUsed); });
}

SmallVector<Loop> Rings::loopsIn(Loop loop, StringRef role) const {
  SmallVector<Loop> loops;
  loop->walk<WalkOrder::PreOrder>([&](Loop inner) {
    if (areUsedIn(inner, role))
      loops.push_back(inner);
  });
  return loops;
}
