// SPDX-License-Identifier: MIT
// Roles of warps, and the rings through which a producer feeds consumers.
#include "compiler/cuda/Threads.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Compare = Scalars::Compare;

constexpr int64_t kWarpsOfGroup = 4, kMbarrierBytes = 8;

//===-- Roles ----------------------------------------------------------------------------------------------------===//

LogicalResult Threads::lowerRole(Block &role, unsigned registers, bool more) {
  gpu.setRegisters(registers, more);
  return lowerBlock(role);
}

static bool storesBoxes(sm::RolesOp roles) {
  WalkResult search = roles.getConsumer().walk(
      [](sm::CopyOutOp copy) { return canStoreBoxes(copy) ? WalkResult::interrupt() : WalkResult::advance(); });
  return search.wasInterrupted();
}

LogicalResult Threads::lowerRoles(sm::RolesOp roles) {
  gpu.publishMbarriers();
  gpu.barrier();
  hasRoles_ = true;
  Value isProducer = s.compare(Compare::sge, warp_, warps_);
  auto branch = scf::IfOp::create(b, isProducer, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.elseBlock());
  if (failed(lowerRole(roles.getConsumer().front(), roles.getConsumerRegisters(), /*more=*/true)))
    return failure();
  if (storesBoxes(roles))
    gpu.waitBoxes(); // Its shared memory ends with the program instance.
  b.setInsertionPointToStart(branch.thenBlock());
  gpu.setRegisters(roles.getProducerRegisters(), /*more=*/false);
  // One warp is enough: the hardware copies.
  b.setInsertionPointToStart(scf::IfOp::create(b, s.compare(Compare::eq, warp_, warps_)).thenBlock());
  return lowerBlock(roles.getProducer().front());
}

//===-- Rings ----------------------------------------------------------------------------------------------------===//

/// Whether slots are filled more than once.
static bool isRefilled(Value mbarriers) { return llvm::any_of(mbarriers.getUsers(), llvm::IsaPred<sm::ReleaseOp>); }

/// How often a slot is released before it is empty.
static int64_t releases(Threads &t, sm::MbarriersOp op) {
  bool eachWarp = llvm::any_of(op->getUsers(), [](Operation *user) {
    auto release = dyn_cast<sm::ReleaseOp>(user);
    return release && release.getEachWarp();
  });
  return eachWarp ? t.warps() : t.warps() / kWarpsOfGroup;
}

LogicalResult cuda::lower(Threads &t, sm::MbarriersOp op) {
  int64_t slots = op.getType().getSlots();
  Value first = t.reserve(2 * slots * kMbarrierBytes);
  t.define(op.getResult(), first);
  Value isFirst = t.s.both(t.s.compare(Compare::eq, t.warp(), 0), t.s.compare(Compare::eq, t.lane(), 0));
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(scf::IfOp::create(t.b, isFirst).thenBlock());
  for (int64_t slot = 0; slot < slots; ++slot) {
    t.gpu.initMbarrier(t.s.add(first, slot * kMbarrierBytes), 1);
    if (isRefilled(op))
      t.gpu.initMbarrier(t.s.add(first, (slots + slot) * kMbarrierBytes), releases(t, op));
  }
  return success();
}

static Value fullMbarrier(Threads &t, Value mbarriers, Value slot) {
  return t.s.add(t.scalar(mbarriers), t.s.mul(t.scalar(slot), kMbarrierBytes));
}

static Value emptyMbarrier(Threads &t, Value mbarriers, Value slot) {
  int64_t slots = cast<sm::MbarriersType>(mbarriers.getType()).getSlots();
  return t.s.add(fullMbarrier(t, mbarriers, slot), slots * kMbarrierBytes);
}

/// The phase before the first one counts as over. A lane that came a round too late would see the parity of another
/// phase, which may never end; so none goes on alone.
static void waitForSlot(Threads &t, sm::FeedOp op) {
  if (!isRefilled(op.getMbarriers()))
    return;
  t.gpu.waitMbarrier(emptyMbarrier(t, op.getMbarriers(), op.getSlot()),
                     t.s.bitXor(t.scalar(op.getPhase()), t.s.i32(1)));
  t.gpu.syncWarp();
}

/// Whether products take what comes with the mbarriers from shared memory, beside plain reads.
static bool isReadByProducts(Value mbarriers) {
  return llvm::any_of(mbarriers.getUsers(), [](Operation *user) {
    return isa<sm::ReceiveOp>(user) && llvm::any_of(user->getUsers(), llvm::IsaPred<sm::WgmmaOp>);
  });
}

LogicalResult cuda::lower(Threads &t, sm::FeedOp op) {
  Value full = fullMbarrier(t, op.getMbarriers(), op.getSlot());
  waitForSlot(t, op);
  Value isFirst = t.s.compare(Compare::eq, t.lane(), 0);
  auto branch = scf::IfOp::create(t.b, areBoxes(t, op), /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(branch.thenBlock());
  t.b.setInsertionPointToStart(scf::IfOp::create(t.b, isFirst).thenBlock());
  loadBoxes(t, op, full);
  t.b.setInsertionPointToStart(branch.elseBlock());
  if (!op.getBoxOnly()) {
    copyByWarp(t, op);
    if (isReadByProducts(op.getMbarriers()))
      t.gpu.fenceAsync();
    t.gpu.syncWarp();
  }
  t.gpu.arrive(full, isFirst);
  return success();
}

LogicalResult cuda::lower(Threads &t, sm::ReceiveOp op) {
  t.gpu.waitMbarrier(fullMbarrier(t, op.getMbarriers(), op.getSlot()), t.scalar(op.getPhase()));
  t.define(op.getResult(), t.sharedAddress(op.getTile()));
  return success();
}

LogicalResult cuda::lower(Threads &t, sm::ReleaseOp op) {
  Value speaks = t.s.compare(Compare::eq, t.lane(), 0);
  if (op.getEachWarp())
    t.gpu.syncWarp();
  else
    speaks = t.s.both(t.s.compare(Compare::eq, t.s.rem(t.warp(), kWarpsOfGroup), 0), speaks);
  t.gpu.arrive(emptyMbarrier(t, op.getMbarriers(), op.getSlot()), speaks);
  return success();
}

//===-- Turns ----------------------------------------------------------------------------------------------------===//

/// Barriers 0 and 1 are those of the block and of the consumers.
constexpr int64_t kFirstTurn = 2, kThreadsOfTurn = 2 * kWarpsOfGroup * sm::warpSize;

static Value warpgroup(Threads &t) { return t.s.div(t.warp(), kWarpsOfGroup); }
static int64_t lastWarpgroup(Threads &t) { return t.warps() / kWarpsOfGroup - 1; }

LogicalResult cuda::lower(Threads &t, sm::TurnsOp) {
  Value isLast = t.s.compare(Compare::eq, warpgroup(t), lastWarpgroup(t));
  OpBuilder::InsertionGuard guard(t.b);
  t.b.setInsertionPointToStart(scf::IfOp::create(t.b, isLast).thenBlock());
  t.gpu.passTurn(t.s.i32(kFirstTurn), kThreadsOfTurn);
  return success();
}

LogicalResult cuda::lower(Threads &t, sm::TakeTurnOp) {
  t.gpu.takeTurn(t.s.add(warpgroup(t), kFirstTurn), kThreadsOfTurn);
  return success();
}

LogicalResult cuda::lower(Threads &t, sm::PassTurnOp) {
  Value isLast = t.s.compare(Compare::eq, warpgroup(t), lastWarpgroup(t));
  Value next = t.s.select(isLast, t.s.i32(kFirstTurn), t.s.add(warpgroup(t), kFirstTurn + 1));
  t.gpu.passTurn(next, kThreadsOfTurn);
  return success();
}
