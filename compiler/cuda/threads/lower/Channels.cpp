// SPDX-License-Identifier: MIT
// Lowering of the channels between roles, and of what fills and reads their slots.
#include "compiler/cuda/threads/lower/Channels.h"
#include "compiler/cuda/threads/lower/Boxes.h"
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/cuda/threads/lower/SharedTile.h"
#include "compiler/sm/Boxes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Compare = Scalars::Compare;

//===-- Mbarriers ------------------------------------------------------------------------------------------------===//

constexpr int64_t kMbarrierBytes = 8;

/// Creates the mbarriers of a channel: the full ones of all slots, then the empty ones. Work indices follow them.
static void makeMbarriers(Threads &t, sm::ChannelOp op) {
  const int64_t slots = op.getType().getSlots();
  const sm::Protocol protocol = sm::protocolOf(op);
  const int64_t full = slots * protocol.fullMbarriers, empty = op.getPerWarpgroup() ? 0 : slots;
  Value first = t.reserve((full + empty + (op.getRings().empty() ? slots : 0)) * kMbarrierBytes);
  t.define(op.getResult(), first);
  Value isFirst = t.s.both(t.s.compare(Compare::eq, t.warp(), 0), t.isFirstLane());
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(scf::IfOp::create(t.b, isFirst).thenBlock());
  auto init = [&](int64_t number, int64_t arrivals) {
    t.gpu.initMbarrier(t.s.add(first, number * kMbarrierBytes), arrivals);
  };
  for (int64_t slot = 0; slot < slots; ++slot) {
    for (int64_t part = 0; part < protocol.fullMbarriers; ++part)
      init(slot * protocol.fullMbarriers + part, protocol.full);
    if (protocol.empty != 0)
      init(full + slot, protocol.empty);
  }
}

static LogicalResult lower(Threads &t, sm::ChannelOp op) {
  if (op.getByBarriers())
    return reserveWords(t, op);
  makeMbarriers(t, op);
  return success();
}

/// Returns the place of a part of a slot, in the ring of its tiles.
static SharedPlace placeOf(Threads &t, Value channel, Value slot, size_t part) {
  auto ring = cast<TypedValue<sm::SharedType>>(sm::channelOf(channel).getRings()[part]);
  Value offset = t.s.mul(t.scalar(slot), ring.getType().slotBytes());
  return {cast<sm::ChannelType>(channel.getType()).getParts()[part], t.s.add(t.sharedAddress(ring), offset)};
}

static Value fullMbarrier(Threads &t, Value channel, Value slot) {
  return t.s.add(t.scalar(channel), t.s.mul(t.scalar(slot), kMbarrierBytes));
}

static Value emptyMbarrier(Threads &t, Value channel, Value slot) {
  int64_t slots = cast<sm::ChannelType>(channel.getType()).getSlots();
  return t.s.add(fullMbarrier(t, channel, slot), slots * kMbarrierBytes);
}

Value cuda::storedMbarrier(Threads &t, Value channel, Value slot, Value warpgroup) {
  Value number = t.s.add(t.s.mul(slot, t.role().warpgroups()), warpgroup);
  return t.s.add(t.scalar(channel), t.s.mul(number, kMbarrierBytes));
}

/// Returns the address of the slot's work index, after the mbarriers.
static Value workIndexAddress(Threads &t, Value channel, Value slot) {
  int64_t slots = cast<sm::ChannelType>(channel.getType()).getSlots();
  return t.s.add(fullMbarrier(t, channel, slot), 2 * slots * kMbarrierBytes);
}

//===-- Fills and reads ------------------------------------------------------------------------------------------===//

/// Waits until the slot is empty. A new mbarrier counts as past the phase before its first one, so the first round does
/// not wait. Returns false if each slot is filled only once.
template <class Op> static bool waitForSlot(Threads &t, Op op) {
  if (sm::protocolOf(sm::channelOf(op.getChannel())).empty == 0)
    return false;
  t.gpu.waitMbarrier(emptyMbarrier(t, op.getChannel(), op.getSlot()), t.s.bitXor(t.scalar(op.getPhase()), t.s.i32(1)));
  return true;
}

/// Returns the tile that an acquire of the slot that `op` fills has given, or null. Its addresses are computed once,
/// also if both sides of a test fill the slot.
template <class Op> static Value acquiredTile(Op op, size_t part) {
  sm::ProducerAcquireOp acquire = sm::acquireOf(op, op.getChannel(), op.getSlot());
  return acquire && !acquire.getTiles().empty() ? acquire.getTiles()[part] : Value();
}

/// Returns the address of the mbarrier of a slot that becomes full.
template <class Op> static Value filledMbarrier(Threads &t, Op op) {
  Value tile = acquiredTile(op, /*part=*/0);
  return tile ? t.registers(tile).back() : fullMbarrier(t, op.getChannel(), op.getSlot());
}

/// Reads a table of pages before the wait for the slot, which hides the latency of memory.
static LogicalResult lower(Threads &t, sm::ProducerLoadOp op) {
  if (t.lanes() != 1 && !sm::hasPages(op.getView()))
    return op.emitOpError("is not in an 'sm.elect'; elect-lanes says which lanes load a tile");
  if (!op.getTested() && !startsAtBox(op.getView(), op.getPosition().back()))
    return op.emitOpError() << "begins at any column; TMA copies such a tile only from multiples of 16 bytes, which "
                               "tma_only allows for";
  Value tile = acquiredTile(op, op.getPart());
  const SharedPlace place = tile ? t.sharedPlace(tile) : placeOf(t, op.getChannel(), op.getSlot(), op.getPart());
  Value full = filledMbarrier(t, op);
  SmallVector<BoxCoordinates> boxes;
  if (sm::hasPages(op.getView()))
    boxes = boxesOf(t, op);
  if (op.fillsFirstPart() && !op.getTested())
    t.byOneLane([&] { waitForSlot(t, op); });
  loadBoxes(t, op, boxes.empty() ? boxesOf(t, op) : boxes, place, full);
  return success();
}

/// Lets MMAs and TMA, which read in the asynchronous proxy, see what the lanes have written.
static LogicalResult lower(Threads &t, sm::ProducerStoreOp op) {
  sm::ChannelOp channel = sm::channelOf(op.getChannel());
  if (channel.getByBarriers())
    waitForReader(t, channel);
  else if (!channel.getPerWarpgroup())
    waitForSlot(t, op);
  const SharedPlace slot = placeOf(t, channel, op.getSlot(), /*part=*/0);
  op.getStaggered() ? writeStaggered(t, op.getTile(), slot) : writeTile(t, op.getTile(), slot);
  t.gpu.fenceAsync();
  if (channel.getByBarriers()) {
    handOver(t, channel, /*follows=*/true, op.getWords());
    return success();
  }
  t.gpu.syncWarp();
  t.gpu.arrive(channel.getPerWarpgroup() ? storedMbarrier(t, channel, t.scalar(op.getSlot()), warpgroupOf(t))
                                         : fullMbarrier(t, channel, op.getSlot()),
               t.isFirstLane());
  return success();
}

static LogicalResult lower(Threads &t, sm::ConsumerWaitOp op) {
  for (OpResult tile : op.getTiles())
    t.define(tile, placeOf(t, op.getChannel(), op.getSlot(), tile.getResultNumber()).address);
  if (op.getAlreadyFull())
    return success();
  if (sm::channelOf(op.getChannel()).getPerWarpgroup())
    for (int64_t other = 0; other < t.role().warpgroups(); ++other)
      t.gpu.waitMbarrier(storedMbarrier(t, op.getChannel(), t.scalar(op.getSlot()), t.s.i32(other)),
                         t.scalar(op.getPhase()));
  else
    t.gpu.waitMbarrier(fullMbarrier(t, op.getChannel(), op.getSlot()), t.scalar(op.getPhase()));
  return success();
}

/// Waits for a slot of tiles, or of accumulators, which the lane may then access in tensor memory. A tile is its
/// address and that of its slot's full mbarrier.
static LogicalResult lower(Threads &t, sm::ProducerAcquireOp op) {
  for (OpResult tile : op.getTiles()) {
    Value address = placeOf(t, op.getChannel(), op.getSlot(), tile.getResultNumber()).address;
    t.define(tile, {address, fullMbarrier(t, op.getChannel(), op.getSlot())});
  }
  if (waitForSlot(t, op) && op.getTiles().empty())
    t.gpu.fenceTensorAfter();
  return success();
}

static LogicalResult lower(Threads &t, sm::WaitFullOp op) {
  t.gpu.waitMbarrier(fullMbarrier(t, op.getChannel(), op.getSlot()), t.scalar(op.getPhase()));
  t.gpu.fenceTensorAfter();
  return success();
}

static LogicalResult lower(Threads &t, sm::ProducerCommitOp op) {
  Value full = filledMbarrier(t, op);
  op.getAfterProducts() ? t.gpu.commitTensor(full) : t.gpu.arrive(full, t.isElected());
  return success();
}

static LogicalResult lower(Threads &t, sm::ReleaseOp op) {
  if (op.getAfterProducts()) {
    t.gpu.commitTensor(emptyMbarrier(t, op.getChannel(), op.getSlot()));
    return success();
  }
  if (sm::ChannelOp channel = sm::channelOf(op.getChannel()); channel.getByBarriers()) {
    releaseByBarriers(t, channel);
    return success();
  }
  Value isElected = t.isElected();
  if (!op.getPerWarp())
    isElected = t.s.both(t.s.compare(Compare::eq, t.s.rem(t.warp(), sm::kWarpsPerWarpgroup), 0), isElected);
  t.gpu.arrive(emptyMbarrier(t, op.getChannel(), op.getSlot()), isElected);
  return success();
}

//===-- Work indices ---------------------------------------------------------------------------------------------===//

/// Draws the work index by the elected lane, and hands it to the others of its warp.
static LogicalResult lower(Threads &t, sm::ProduceWorkOp op) {
  Value counter = t.view(op.getCounter()).base, isElected = t.isElected();
  auto work = [&]() -> SmallVector<Value> { return {t.gpu.fetchIncrement(counter)}; };
  auto wait = [&]() -> SmallVector<Value> { return {t.s.i32(0)}; };
  waitForSlot(t, op);
  Value number =
      isElected ? t.gpu.ofFirstLane(t.either(isElected, t.b.getI32Type(), work, wait).front()) : work().front();
  t.gpu.storeShared(number, workIndexAddress(t, op.getChannel(), op.getSlot()), isElected);
  t.gpu.arrive(fullMbarrier(t, op.getChannel(), op.getSlot()), isElected);
  t.define(op.getResult(), number);
  return success();
}

static LogicalResult lower(Threads &t, sm::ConsumeWorkOp op) {
  t.gpu.waitMbarrier(fullMbarrier(t, op.getChannel(), op.getSlot()), t.scalar(op.getPhase()));
  Value place = workIndexAddress(t, op.getChannel(), op.getSlot());
  t.define(op.getResult(), t.gpu.loadShared(t.b.getI32Type(), 1, place));
  return success();
}

void cuda::addChannelLowerings(Lowerings &known) {
  known.add<sm::ChannelOp, sm::ProducerLoadOp, sm::ProducerStoreOp, sm::ProducerAcquireOp, sm::ProducerCommitOp,
            sm::ConsumerWaitOp, sm::WaitFullOp, sm::ReleaseOp, sm::ProduceWorkOp, sm::ConsumeWorkOp>(
      [](Threads &t, auto op) { return lower(t, op); });
}
