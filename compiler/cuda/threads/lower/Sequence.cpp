// SPDX-License-Identifier: MIT
// Lowering of the turns that the warpgroups of a role take one after another.
#include "compiler/cuda/threads/lower/Channels.h"
#include "compiler/cuda/threads/lower/Lower.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using Compare = Scalars::Compare;

constexpr int64_t kThreadsOfSequence = 2 * sm::kWarpsPerWarpgroup * sm::kWarpSize;

static int64_t lastWarpgroup(Threads &t) { return t.role().warpgroups() - 1; }

static void lower(Threads &t, sm::WarpgroupOp op) { t.define(op.getResult(), t.s.toIndex(warpgroupOf(t))); }

static void lower(Threads &t, sm::SequenceInitOp) {
  Value isLast = t.s.compare(Compare::eq, warpgroupOf(t), lastWarpgroup(t));
  t.onlyIf(isLast, [&] { t.gpu.arriveAtSequence(t.s.i32(t.role().firstTurn()), kThreadsOfSequence); });
}

/// Waits for the store that passes the turn to this warpgroup: that of the warpgroup before it, for the first one that
/// of the last one into the slot before. A new mbarrier counts as past the phase before its first one.
static void waitForStore(Threads &t, sm::SequenceWaitOp op) {
  Value slot = t.scalar(op.getSlot()), phase = t.scalar(op.getPhase());
  Value isFirst = t.s.compare(Compare::eq, warpgroupOf(t), 0), isFirstSlot = t.s.compare(Compare::eq, slot, 0);
  Value before = t.s.select(isFirstSlot, t.s.i32(op.getChannel().getType().getSlots() - 1), t.s.add(slot, -1));
  Value phaseBefore = t.s.select(isFirstSlot, t.s.bitXor(phase, t.s.i32(1)), phase);
  Value other = t.s.select(isFirst, t.s.i32(lastWarpgroup(t)), t.s.add(warpgroupOf(t), -1));
  t.gpu.waitMbarrier(storedMbarrier(t, op.getChannel(), t.s.select(isFirst, before, slot), other),
                     t.s.select(isFirst, phaseBefore, phase));
}

static void lower(Threads &t, sm::SequenceWaitOp op) {
  if (op.getChannel())
    waitForStore(t, op);
  else
    t.gpu.waitForSequence(t.s.add(warpgroupOf(t), t.role().firstTurn()), kThreadsOfSequence);
}

static void lower(Threads &t, sm::SequenceArriveOp) {
  Value isLast = t.s.compare(Compare::eq, warpgroupOf(t), lastWarpgroup(t));
  const int64_t first = t.role().firstTurn();
  Value next = t.s.select(isLast, t.s.i32(first), t.s.add(warpgroupOf(t), first + 1));
  t.gpu.arriveAtSequence(next, kThreadsOfSequence);
}

void cuda::addSequenceLowerings(Lowerings &known) {
  known.add<sm::WarpgroupOp, sm::SequenceInitOp, sm::SequenceWaitOp, sm::SequenceArriveOp>(
      [](Threads &t, auto op) { return lower(t, op); });
}
