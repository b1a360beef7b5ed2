// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/analysis/Rings.h"
#include "compiler/cuda/shared/Passes.h"
#include "compiler/cuda/shared/analysis/Releases.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_ENDWARPGROUPSEARLY
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using LocBuilder = ImplicitLocOpBuilder;

/// Returns the number of warpgroups that share the rows of the loop's MMAs, if each has 64 consecutive rows. Otherwise
/// returns 0.
static int64_t warpgroupsOf(scf::ForOp loop) {
  auto products = loop.getBody()->getOps<sm::AsyncProduct>();
  if (products.empty() || (*products.begin()).getIssuer() != sm::Issuer::warpgroups)
    return 0;
  RankedTensorType tile = (*products.begin()).getSum();
  return sm::extentOfWarp(tile, /*dim=*/0) == sm::kRowsPerWarp ? tile.getDimSize(0) / sm::kRowsPerWarpgroup : 0;
}

/// Returns true if the warpgroups wait for each other in the loop.
static bool needsAllWarpgroups(scf::ForOp loop) {
  auto isStore = [](const sm::RoleEvent &event) { return event.kind == sm::RoleEvent::Kind::store; };
  return tile::anyOp(*loop.getBody(), [&](Operation *op) {
    auto events = dyn_cast<sm::RoleEventOpInterface>(op);
    return (events && llvm::any_of(events.getEvents(), isStore)) || sm::meetsOtherWarps(op);
  });
}

/// Returns the smallest number of slots of the loop's rings.
static int64_t slotsOf(scf::ForOp loop) {
  int64_t slots = std::numeric_limits<int64_t>::max();
  for (auto receive : loop.getBody()->getOps<sm::ConsumerWaitOp>())
    slots = std::min<int64_t>(slots, receive.getChannel().getType().getSlots());
  return slots;
}

/// Returns the index, among the loop's results, of the slot with which the loop's rings continue; the phase follows it.
/// A tile whose wait comes one iteration late has another slot. None if the slot is unknown, or if anything but the end
/// of the loop's block uses it.
static std::optional<unsigned> indexOfRingPosition(scf::ForOp loop) {
  std::optional<unsigned> place;
  for (auto receive : loop.getBody()->getOps<sm::ConsumerWaitOp>()) {
    auto slot = dyn_cast<BlockArgument>(receive.getSlot());
    if (!slot || slot.getOwner() != loop.getBody())
      return std::nullopt;
    if (!isa<BlockArgument>(loop.getTiedLoopYieldedValue(slot)->get()))
      place = loop.getTiedLoopResult(slot).getResultNumber();
  }
  auto isEnd = [&](Operation *user) { return user == loop->getBlock()->getTerminator(); };
  return place && llvm::all_of(loop.getResult(*place).getUsers(), isEnd) ? place : std::nullopt;
}

/// Emits a loop that takes and passes the mutex once for each skipped iteration. All warpgroups must take it equally
/// often, or the next one waits forever.
static void arriveAtSequences(LocBuilder &b, Value first, Value end) {
  auto rest = scf::ForOp::create(b, first, end, arith::ConstantIndexOp::create(b, 1));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(rest.getBody());
  sm::SequenceWaitOp::create(b);
  sm::SequenceArriveOp::create(b);
}

/// Lets each warp release the slots of a channel separately. Returns false if no consumer releases them.
static bool releaseByWarps(Value channel) {
  bool isReleased = false;
  for (Operation *user : channel.getUsers())
    if (auto release = dyn_cast<sm::ReleaseOp>(user)) {
      release.setPerWarp(true);
      meetBefore(release);
      isReleased = true;
    }
  return isReleased;
}

/// Emits a loop that waits for the tiles of the skipped iterations and releases them. The producer refills a slot only
/// after all warpgroups have released it. Each warp releases separately, because no MMA has synchronised the warps of
/// this warpgroup.
static void releaseSkipped(LocBuilder &b, scf::ForOp loop, unsigned indexOfRingPosition, Value first, Value end) {
  ResultRange position = loop.getResults().slice(indexOfRingPosition, 2);
  auto rest = scf::ForOp::create(b, first, end, arith::ConstantIndexOp::create(b, 1), position);
  for (auto [before, after] : llvm::zip(position, rest.getResults()))
    before.replaceAllUsesExcept(after, rest);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(rest.getBody());
  const RingPosition now{rest.getRegionIterArg(0), rest.getRegionIterArg(1)};
  for (auto receive : loop.getBody()->getOps<sm::ConsumerWaitOp>()) {
    Value channel = receive.getChannel();
    sm::ConsumerWaitOp::create(b, channel, now.slot, now.phase);
    if (releaseByWarps(channel))
      meetBefore(sm::ReleaseOp::create(b, channel, now.slot, /*per_warp=*/true));
  }
  const RingPosition next = now.next(b, slotsOf(loop));
  scf::YieldOp::create(b, ValueRange{next.slot, next.phase});
}

static void endEarly(scf::ForOp loop) {
  auto limit = loop.getUpperBound().getDefiningOp<sm::RowLimitOp>();
  const std::optional<int64_t> step = getConstantIntValue(loop.getStep());
  const int64_t groups = warpgroupsOf(loop);
  if (!limit || !step || *step > sm::kRowsPerWarpgroup * (groups - 1) || needsAllWarpgroups(loop))
    return;
  const bool isRepeated = loop->getParentOfType<LoopLikeOpInterface>() != nullptr;
  const std::optional<unsigned> place = isRepeated ? indexOfRingPosition(loop) : std::nullopt;
  const int64_t spare = slotsOf(loop) - 1;
  if (isRepeated ? !place : groups != 2 || spare < 1)
    return;
  LocBuilder b(loop.getLoc(), loop);
  auto index = [&](int64_t number) -> Value { return arith::ConstantIndexOp::create(b, number); };
  Value lower = loop.getLowerBound(), group = sm::WarpgroupOp::create(b, b.getIndexType());
  auto iterationsUntil = [&](Value end) -> Value {
    Value rounded = arith::AddIOp::create(b, arith::SubIOp::create(b, end, lower), index(*step - 1));
    return arith::MaxSIOp::create(b, arith::DivSIOp::create(b, rounded, index(*step)), index(0));
  };
  Value all = iterationsUntil(limit.getBound());
  Value rows = arith::MulIOp::create(b, arith::AddIOp::create(b, group, index(1)), index(sm::kRowsPerWarpgroup));
  Value own = arith::MinSIOp::create(b, iterationsUntil(arith::AddIOp::create(b, limit.getFirst(), rows)), all);
  if (!isRepeated) {
    Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, group, index(groups - 1));
    Value least = arith::SubIOp::create(b, all, index(spare));
    own = arith::SelectOp::create(b, isLast, all, arith::MaxSIOp::create(b, own, least));
  }
  loop.setUpperBound(arith::AddIOp::create(b, lower, arith::MulIOp::create(b, own, index(*step))));
  b.setInsertionPointAfter(loop);
  if (!loop.getBody()->getOps<sm::SequenceWaitOp>().empty())
    arriveAtSequences(b, own, all);
  b.setInsertionPoint(loop->getBlock()->getTerminator()); // After the last MMA, which still reads a slot.
  if (isRepeated)
    releaseSkipped(b, loop, *place, own, all);
}

namespace {
struct EndWarpgroupsEarly : cuda::impl::EndWarpgroupsEarlyBase<EndWarpgroupsEarly> {
  void runOnOperation() override {
    getOperation()->walk([](sm::RolesOp roles) { roles.walk(endEarly); });
    getOperation()->walk([](sm::RowLimitOp limit) {
      limit.replaceAllUsesWith(limit.getBound());
      limit.erase();
    });
  }
};
} // namespace
