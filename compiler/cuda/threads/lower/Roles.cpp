// SPDX-License-Identifier: MIT
// Lowering of warp roles, and of the channels between them.
#include "compiler/cuda/threads/lower/Boxes.h"
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/cuda/threads/lower/SharedTile.h"
#include "compiler/sm/Boxes.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Compare = Scalars::Compare;

constexpr int64_t kMbarrierBytes = 8;
/// The words of a channel by_barriers. The first one says whether a tile follows.
constexpr int64_t kWordBytes = 4, kFirstWord = 1;

//===-- Roles ----------------------------------------------------------------------------------------------------===//

static bool loadsTiles(const sm::RoleRef &role) {
  WalkResult search = role.body().walk([](sm::ProducerLoadOp) { return WalkResult::interrupt(); });
  return search.wasInterrupted();
}

LogicalResult Threads::lowerRoles(sm::RolesOp roles) {
  if (!roles.getBarriers())
    return roles.emitError("has no named barriers; plan-shared gives them to roles");
  gpu.publishMbarriers();
  gpu.barrier();
  return lowerGroups(sm::rolesOf(roles));
}

/// Lowers roles group by group. A group shares warpgroups, so its roles have equal registers.
LogicalResult Threads::lowerGroups(Roles roles) {
  const int64_t registers = roles.front().registers();
  Roles group = roles.take_while([&](const sm::RoleRef &role) { return role.registers() == registers; });
  Roles others = roles.drop_front(group.size());
  if (others.empty())
    return lowerGroup(group);
  Value isOther = s.compare(Compare::sge, warp_, others.front().firstWarp());
  auto branch = scf::IfOp::create(b, isOther, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  if (failed(lowerGroup(group)))
    return failure();
  b.setInsertionPointToStart(branch.thenBlock());
  return lowerGroups(others);
}

/// Lowers the roles of some warpgroups, the last one first. The roles with most registers take what others give up.
LogicalResult Threads::lowerGroup(Roles group) {
  gpu.setRegisters(group.front().registers(), /*more=*/group.front().hasMostRegisters());
  const int64_t end = llvm::alignTo(group.back().endWarp(), sm::kWarpsPerWarpgroup);
  if (group.size() == 1 && group.front().endWarp() == end)
    return lowerRole(group.front());
  for (const sm::RoleRef &role : llvm::reverse(group)) {
    Value isInRole = role.warps() == 1 ? s.compare(Compare::eq, warp_, role.firstWarp())
                                       : s.both(s.compare(Compare::sge, warp_, role.firstWarp()),
                                                s.compare(Compare::slt, warp_, role.endWarp()));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(scf::IfOp::create(b, isInRole).thenBlock());
    if (failed(lowerRole(role)))
      return failure();
  }
  return success();
}

/// Lowers the program of a role, in which warps count from 0.
LogicalResult Threads::lowerRole(const sm::RoleRef &role) {
  Value warpOfBlock = warp_;
  const int64_t warpsOutside = warps_, first = role.firstWarp();
  auto placesOutside = std::exchange(places_, {});
  role_ = role;
  warps_ = role.warps();
  if (first != 0)
    warp_ = atEntry([&] { return s.sub(warpOfBlock, s.i32(first)); });
  const LogicalResult lowered = lowerBody(role);
  role_.reset();
  warp_ = warpOfBlock;
  warps_ = warpsOutside;
  places_ = std::move(placesOutside);
  return lowered;
}

/// Returns true if the lanes of the role's warp share the boxes of a tile.
static bool lanesShareBoxes(const sm::RoleRef &role) {
  WalkResult search = role.body().walk([](sm::ProducerLoadOp load) {
    return cuda::sharesBoxes(load) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return search.wasInterrupted();
}

void Threads::byOneLane(function_ref<void()> emit) {
  if (isOneLane_)
    return emit();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(scf::IfOp::create(b, gpu.electLane()).thenBlock());
  isOneLane_ = true;
  emit();
  isOneLane_ = false;
}

/// Lowers the program of a role. One lane executes a role in which a lane starts products. A second lane could come a
/// whole round late to a slot, see the parity of a later phase, and wait forever. A role that loads tiles is lowered
/// twice. With TMA, one lane loads all tiles, and alone runs the role unless lanes share boxes. Without TMA, one warp
/// copies the elements.
LogicalResult Threads::lowerBody(const sm::RoleRef &role) {
  OpBuilder::InsertionGuard guardOfLane(b);
  if (role.hasProducts(sm::Issuer::lane))
    b.setInsertionPointToStart(scf::IfOp::create(b, isFirstLane()).thenBlock());
  if (tensorMaps_.empty() || !loadsTiles(role))
    return lowerBlock(role.block());
  auto branch = scf::IfOp::create(b, canLoadByTma(), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  loadsByTma_ = true;
  isOneLane_ = !lanesShareBoxes(role);
  if (isOneLane_)
    b.setInsertionPointToStart(scf::IfOp::create(b, isFirstLane()).thenBlock());
  if (failed(lowerBlock(role.block())))
    return failure();
  b.setInsertionPointToStart(branch.elseBlock());
  loadsByTma_ = isOneLane_ = false;
  return lowerBlock(role.block());
}

//===-- Channels -------------------------------------------------------------------------------------------------===//

static int64_t warpgroups(Threads &t) { return t.role().warpgroups(); }
static Value warpgroup(Threads &t) { return t.s.div(t.warp(), sm::kWarpsPerWarpgroup); }

/// Creates the mbarriers of a channel: the full ones of all slots, then the empty ones. Work indices follow them.
static void makeMbarriers(Threads &t, sm::ChannelOp op) {
  const int64_t slots = op.getType().getSlots();
  const sm::Protocol protocol = sm::protocolOf(op);
  const int64_t full = slots * protocol.fullMbarriers, empty = op.getPerWarpgroup() ? 0 : slots;
  Value first = t.reserve((full + empty + (op.getRing() ? 0 : slots)) * kMbarrierBytes);
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
  if (!op.getByBarriers())
    makeMbarriers(t, op);
  else if (op.getFirstBarrier())
    t.define(op.getResult(), t.reserve(kWordBytes * (kFirstWord + static_cast<int64_t>(*op.getWords()))));
  else
    return op.emitError("has no named barriers; plan-shared gives them to channels");
  return success();
}

/// Returns the slot's place in the ring of tiles.
static SharedPlace slotOf(Threads &t, Value channel, Value slot) {
  TypedValue<sm::SharedType> ring = sm::channelOf(channel).getRing();
  Value offset = t.s.mul(t.scalar(slot), ring.getType().slotBytes());
  return {cast<sm::ChannelType>(channel.getType()).getTile(), t.s.add(t.sharedAddress(ring), offset)};
}

static Value fullMbarrier(Threads &t, Value channel, Value slot) {
  return t.s.add(t.scalar(channel), t.s.mul(t.scalar(slot), kMbarrierBytes));
}

static Value emptyMbarrier(Threads &t, Value channel, Value slot) {
  int64_t slots = cast<sm::ChannelType>(channel.getType()).getSlots();
  return t.s.add(fullMbarrier(t, channel, slot), slots * kMbarrierBytes);
}

/// Returns the address of the mbarrier that is full when a warpgroup has stored its part of an exchanged tile. `slot`
/// is the number of the slot, an i32 of the thread.
static Value storedMbarrier(Threads &t, Value channel, Value slot, Value warpgroup) {
  Value number = t.s.add(t.s.mul(slot, warpgroups(t)), warpgroup);
  return t.s.add(t.scalar(channel), t.s.mul(number, kMbarrierBytes));
}

/// Returns the address of the slot's work index, after the mbarriers.
static Value workIndexAddress(Threads &t, Value channel, Value slot) {
  int64_t slots = cast<sm::ChannelType>(channel.getType()).getSlots();
  return t.s.add(fullMbarrier(t, channel, slot), 2 * slots * kMbarrierBytes);
}

//===-- Named barriers -------------------------------------------------------------------------------------------===//

/// Returns the role whose warpgroups fill the slot of a channel by_barriers.
static sm::RoleRef writerOf(Threads &t, sm::ChannelOp channel) {
  return *sm::findRole(t.role().roles(), channel.getFrom());
}

/// The reading warp waits here until all warps have filled the slot.
static Value fullBarrier(Threads &t, sm::ChannelOp channel) { return t.s.i32(*channel.getFirstBarrier()); }
static int64_t fullThreads(Threads &t, sm::ChannelOp channel) {
  return (writerOf(t, channel).warps() + 1) * sm::kWarpSize;
}

/// A warpgroup waits here until the reading warp has released the slot.
static Value emptyBarrier(Threads &t, sm::ChannelOp channel, Value warpgroup) {
  return t.s.add(warpgroup, static_cast<int64_t>(*channel.getFirstBarrier()) + 1);
}
constexpr int64_t kEmptyThreads = (sm::kWarpsPerWarpgroup + 1) * sm::kWarpSize;

static Value addressOfWord(Threads &t, Value channel, int64_t word) {
  return t.s.add(t.scalar(channel), word * kWordBytes);
}

static Value readWord(Threads &t, Value channel, int64_t word) {
  return t.gpu.loadShared(t.b.getI32Type(), 1, addressOfWord(t, channel, word)).front();
}

/// Writes the words by the first thread, then arrives with what all threads have written.
static void handOver(Threads &t, sm::ChannelOp channel, bool follows, ValueRange words) {
  {
    OpBuilder::InsertionGuard guard(t.b);
    Value isFirst = t.s.both(t.s.compare(Compare::eq, t.warp(), 0), t.isFirstLane());
    t.b.setInsertionPointToStart(scf::IfOp::create(t.b, isFirst).thenBlock());
    t.gpu.storeShared(t.s.i32(follows), addressOfWord(t, channel, 0));
    for (auto [number, word] : llvm::enumerate(t.scalars(words)))
      t.gpu.storeShared(word, addressOfWord(t, channel, kFirstWord + static_cast<int64_t>(number)));
  }
  t.gpu.syncWarp();
  t.gpu.arriveAtBarrier(fullBarrier(t, channel), fullThreads(t, channel));
}

static void waitForReader(Threads &t, sm::ChannelOp channel) {
  t.gpu.barrier(emptyBarrier(t, channel, warpgroup(t)), kEmptyThreads);
}

static LogicalResult lower(Threads &t, sm::CloseOp op) {
  sm::ChannelOp channel = sm::channelOf(op.getChannel());
  waitForReader(t, channel);
  handOver(t, channel, /*follows=*/false, {});
  return success();
}

static LogicalResult lower(Threads &t, sm::NextOp op) {
  sm::ChannelOp channel = sm::channelOf(op.getChannel());
  t.gpu.barrier(fullBarrier(t, channel), fullThreads(t, channel));
  t.define(op.getResult(), t.s.compare(Compare::ne, readWord(t, channel, 0), 0));
  return success();
}

static LogicalResult lower(Threads &t, sm::WordsOp op) {
  for (auto [number, word] : llvm::enumerate(op.getWords()))
    t.define(word, readWord(t, op.getChannel(), kFirstWord + static_cast<int64_t>(number)));
  return success();
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

/// Copies each `lanes`-th element of a vector from `first` on to the slot, several at a time. Elements outside the view
/// are 0.
static void copyVector(Threads &t, sm::ProducerLoadOp op, SharedPlace place, Value first, int64_t lanes) {
  const View view = t.view(op.getView());
  const int64_t bytes = view.elementBytes(), count = place.type.getShape()[0] / lanes,
                atOnce = std::min<int64_t>(count, 4);
  Value position = t.scalar(op.getPosition().front()),
        zero = arith::ConstantOp::create(t.b, t.b.getZeroAttr(view.element));
  OpBuilder::InsertionGuard guard(t.b);
  // Not a constant for LLVM, which would unroll the loop: the producer has no registers for that.
  Value end = t.s.select(t.s.compare(Compare::ne, view.base, 0), t.s.i32(count), t.s.i32(0));
  auto loop = scf::ForOp::create(t.b, t.s.i32(0), end, t.s.i32(atOnce));
  t.b.setInsertionPointToStart(loop.getBody());
  SmallVector<std::pair<Value, Value>> elements;
  for (int64_t i = 0; i < atOnce; ++i) {
    Value number = t.s.add(first, t.s.mul(t.s.add(loop.getInductionVar(), i), lanes));
    Value at = t.s.add(position, t.s.toIndex(number));
    Value isInside = t.s.both(t.s.compare(Compare::sge, at, 0), t.s.compare(Compare::slt, at, view.sizes.front()));
    Value distance = t.s.mul(t.s.toI64(at), t.s.mul(t.s.toI64(view.strides.front()), bytes));
    elements.emplace_back(number, t.gpu.load(view.element, t.s.add(view.base, distance), isInside, zero));
  }
  for (auto [number, element] : elements)
    t.gpu.storeShared(element, t.s.add(place.address, t.s.mul(number, bytes)));
}

/// Reads a table of pages before the wait for the slot, which hides the latency of memory.
static void loadBox(Threads &t, sm::ProducerLoadOp op, SharedPlace place, Value full) {
  SmallVector<BoxCoordinates> boxes;
  if (sm::hasPages(op.getView()))
    boxes = boxesOf(t, op);
  t.byOneLane([&] { waitForSlot(t, op); });
  auto load = [&] { loadBoxes(t, op, boxes.empty() ? boxesOf(t, op) : boxes, place, full); };
  auto copy = [&] {
    if (!op.getTmaOnly())
      copyVector(t, op, place, t.s.i32(0), /*lanes=*/1);
    t.byOneLane([&] { t.gpu.arrive(full, /*predicate=*/{}); });
  };
  if (op.getTmaOnly() || isVector(op))
    t.either(isBox(t, op), load, copy);
  else
    load();
}

/// Copies the tile by one warp. The lanes meet before one of them marks the slot as full. Consumers therefore get no
/// tile before all lanes have filled it, and no lane comes a round late to a slot.
static void loadElements(Threads &t, sm::ProducerLoadOp op, SharedPlace place, Value full) {
  waitForSlot(t, op);
  if (isVector(op))
    copyVector(t, op, place, t.lane(), sm::kWarpSize);
  else
    copyByWarp(t, op, place);
  if (op.getFenced())
    t.gpu.fenceAsync();
  t.gpu.syncWarp();
  t.gpu.arrive(full, t.isFirstLane());
}

static LogicalResult lower(Threads &t, sm::ProducerLoadOp op) {
  if (!op.getTmaOnly() && !startsAtBox(op.getView(), op.getPosition().back()))
    return op.emitOpError() << "begins at any column; TMA copies such a tile only from multiples of 16 bytes, which "
                               "tma_only allows for";
  const SharedPlace place = slotOf(t, op.getChannel(), op.getSlot());
  Value full = fullMbarrier(t, op.getChannel(), op.getSlot());
  if (t.loadsByTma() && sharesBoxes(op)) {
    loadBox(t, op, place, full);
  } else if (t.loadsByTma()) {
    t.byOneLane([&] { loadBox(t, op, place, full); });
  } else if (!op.getTmaOnly()) {
    loadElements(t, op, place, full);
  } else {
    OpBuilder::InsertionGuard guard(t.b);
    t.b.setInsertionPointToStart(scf::IfOp::create(t.b, t.isFirstLane()).thenBlock());
    waitForSlot(t, op);
    t.gpu.arrive(full, /*predicate=*/{});
  }
  return success();
}

/// Lets MMAs and TMA, which read in the asynchronous proxy, see what the lanes have written.
static LogicalResult lower(Threads &t, sm::ProducerStoreOp op) {
  sm::ChannelOp channel = sm::channelOf(op.getChannel());
  if (channel.getByBarriers())
    waitForReader(t, channel);
  else if (!channel.getPerWarpgroup())
    waitForSlot(t, op);
  const SharedPlace slot = slotOf(t, channel, op.getSlot());
  op.getStaggered() ? writeStaggered(t, op.getTile(), slot) : writeTile(t, op.getTile(), slot);
  t.gpu.fenceAsync();
  if (channel.getByBarriers()) {
    handOver(t, channel, /*follows=*/true, op.getWords());
    return success();
  }
  t.gpu.syncWarp();
  t.gpu.arrive(channel.getPerWarpgroup() ? storedMbarrier(t, channel, t.scalar(op.getSlot()), warpgroup(t))
                                         : fullMbarrier(t, channel, op.getSlot()),
               t.isFirstLane());
  return success();
}

static LogicalResult lower(Threads &t, sm::ConsumerWaitOp op) {
  t.define(op.getResult(), slotOf(t, op.getChannel(), op.getSlot()).address);
  if (op.getAlreadyFull())
    return success();
  if (sm::channelOf(op.getChannel()).getPerWarpgroup())
    for (int64_t other = 0; other < warpgroups(t); ++other)
      t.gpu.waitMbarrier(storedMbarrier(t, op.getChannel(), t.scalar(op.getSlot()), t.s.i32(other)),
                         t.scalar(op.getPhase()));
  else
    t.gpu.waitMbarrier(fullMbarrier(t, op.getChannel(), op.getSlot()), t.scalar(op.getPhase()));
  return success();
}

/// Waits for a slot of accumulators, which the lane may then access in tensor memory.
static LogicalResult lower(Threads &t, sm::ProducerAcquireOp op) {
  if (waitForSlot(t, op))
    t.gpu.fenceTensorAfter();
  return success();
}

static LogicalResult lower(Threads &t, sm::WaitFullOp op) {
  t.gpu.waitMbarrier(fullMbarrier(t, op.getChannel(), op.getSlot()), t.scalar(op.getPhase()));
  t.gpu.fenceTensorAfter();
  return success();
}

static LogicalResult lower(Threads &t, sm::ProducerCommitOp op) {
  t.gpu.commitTensor(fullMbarrier(t, op.getChannel(), op.getSlot()));
  return success();
}

static LogicalResult lower(Threads &t, sm::ReleaseOp op) {
  if (op.getAfterProducts()) {
    t.gpu.commitTensor(emptyMbarrier(t, op.getChannel(), op.getSlot()));
    return success();
  }
  if (sm::ChannelOp channel = sm::channelOf(op.getChannel()); channel.getByBarriers()) {
    for (int64_t writer = 0; writer < writerOf(t, channel).warpgroups(); ++writer)
      t.gpu.arriveAtBarrier(emptyBarrier(t, channel, t.s.i32(writer)), kEmptyThreads);
    return success();
  }
  Value isElected = t.isFirstLane();
  if (!op.getPerWarp())
    isElected = t.s.both(t.s.compare(Compare::eq, t.s.rem(t.warp(), sm::kWarpsPerWarpgroup), 0), isElected);
  else if (op.meetsInWarp())
    t.gpu.syncWarp();
  t.gpu.arrive(emptyMbarrier(t, op.getChannel(), op.getSlot()), isElected);
  return success();
}

//===-- Work indices ---------------------------------------------------------------------------------------------===//

/// Draws the work index: by the lane that loads by TMA, or by the first lane of a warp.
static LogicalResult lower(Threads &t, sm::ProduceWorkOp op) {
  Value counter = t.view(op.getCounter()).base, isElected = t.isOneLane() ? Value() : t.isFirstLane();
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

//===-- Sequence -------------------------------------------------------------------------------------------------===//

constexpr int64_t kThreadsOfSequence = 2 * sm::kWarpsPerWarpgroup * sm::kWarpSize;

static int64_t lastWarpgroup(Threads &t) { return warpgroups(t) - 1; }

static LogicalResult lower(Threads &t, sm::WarpgroupOp op) {
  t.define(op.getResult(), t.s.toIndex(warpgroup(t)));
  return success();
}

static LogicalResult lower(Threads &t, sm::SequenceInitOp) {
  Value isLast = t.s.compare(Compare::eq, warpgroup(t), lastWarpgroup(t));
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(scf::IfOp::create(t.b, isLast).thenBlock());
  t.gpu.arriveAtSequence(t.s.i32(t.role().firstTurn()), kThreadsOfSequence);
  return success();
}

/// Waits for the store that passes the turn to this warpgroup: that of the warpgroup before it, for the first one that
/// of the last one into the slot before. A new mbarrier counts as past the phase before its first one.
static void waitForStore(Threads &t, sm::SequenceWaitOp op) {
  Value slot = t.scalar(op.getSlot()), phase = t.scalar(op.getPhase());
  Value isFirst = t.s.compare(Compare::eq, warpgroup(t), 0), isFirstSlot = t.s.compare(Compare::eq, slot, 0);
  Value before = t.s.select(isFirstSlot, t.s.i32(op.getChannel().getType().getSlots() - 1), t.s.add(slot, -1));
  Value phaseBefore = t.s.select(isFirstSlot, t.s.bitXor(phase, t.s.i32(1)), phase);
  Value other = t.s.select(isFirst, t.s.i32(lastWarpgroup(t)), t.s.add(warpgroup(t), -1));
  t.gpu.waitMbarrier(storedMbarrier(t, op.getChannel(), t.s.select(isFirst, before, slot), other),
                     t.s.select(isFirst, phaseBefore, phase));
}

static LogicalResult lower(Threads &t, sm::SequenceWaitOp op) {
  if (op.getChannel())
    waitForStore(t, op);
  else
    t.gpu.waitForSequence(t.s.add(warpgroup(t), t.role().firstTurn()), kThreadsOfSequence);
  return success();
}

static LogicalResult lower(Threads &t, sm::SequenceArriveOp) {
  Value isLast = t.s.compare(Compare::eq, warpgroup(t), lastWarpgroup(t));
  const int64_t first = t.role().firstTurn();
  Value next = t.s.select(isLast, t.s.i32(first), t.s.add(warpgroup(t), first + 1));
  t.gpu.arriveAtSequence(next, kThreadsOfSequence);
  return success();
}

void cuda::addRoleLowerings(Lowerings &known) {
  known.add<sm::ChannelOp, sm::ProducerLoadOp, sm::ProducerStoreOp, sm::ConsumerWaitOp, sm::ReleaseOp,
            sm::ProducerAcquireOp, sm::ProducerCommitOp, sm::WaitFullOp, sm::CloseOp, sm::NextOp, sm::WordsOp,
            sm::ProduceWorkOp, sm::ConsumeWorkOp, sm::WarpgroupOp, sm::SequenceInitOp, sm::SequenceWaitOp,
            sm::SequenceArriveOp>([](Threads &t, auto op) { return lower(t, op); });
}
