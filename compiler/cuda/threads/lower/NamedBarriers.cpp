// SPDX-License-Identifier: MIT
// Lowering of channels by_barriers, whose slot named barriers hand over.
#include "compiler/cuda/threads/lower/Channels.h"
#include "compiler/cuda/threads/lower/Lower.h"

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

/// The words of a channel by_barriers. The first one says whether a tile follows.
constexpr int64_t kWordBytes = 4, kFirstWord = 1;

LogicalResult cuda::reserveWords(Threads &t, sm::ChannelOp channel) {
  if (!channel.getFirstBarrier())
    return channel.emitError("has no named barriers; plan-shared gives them to channels");
  t.define(channel.getResult(), t.reserve(kWordBytes * (kFirstWord + static_cast<int64_t>(*channel.getWords()))));
  return success();
}

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

void cuda::handOver(Threads &t, sm::ChannelOp channel, bool follows, ValueRange words) {
  t.onlyIf(t.s.both(t.isFirstWarp(), t.isFirstLane()), [&] {
    t.gpu.storeShared(t.s.i32(follows), addressOfWord(t, channel, 0));
    for (auto [number, word] : llvm::enumerate(t.scalars(words)))
      t.gpu.storeShared(word, addressOfWord(t, channel, kFirstWord + static_cast<int64_t>(number)));
  });
  t.gpu.syncWarp();
  t.gpu.arriveAtBarrier(fullBarrier(t, channel), fullThreads(t, channel));
}

void cuda::waitForReader(Threads &t, sm::ChannelOp channel) {
  t.gpu.barrier(emptyBarrier(t, channel, warpgroupOf(t)), kEmptyThreads);
}

void cuda::releaseByBarriers(Threads &t, sm::ChannelOp channel) {
  for (int64_t writer = 0; writer < writerOf(t, channel).warpgroups(); ++writer)
    t.gpu.arriveAtBarrier(emptyBarrier(t, channel, t.s.i32(writer)), kEmptyThreads);
}

static void lower(Threads &t, sm::CloseOp op) {
  sm::ChannelOp channel = sm::channelOf(op.getChannel());
  waitForReader(t, channel);
  handOver(t, channel, /*follows=*/false, {});
}

static void lower(Threads &t, sm::NextOp op) {
  sm::ChannelOp channel = sm::channelOf(op.getChannel());
  t.gpu.barrier(fullBarrier(t, channel), fullThreads(t, channel));
  t.define(op.getResult(), t.s.compare(Scalars::Compare::ne, readWord(t, channel, 0), 0));
}

static void lower(Threads &t, sm::WordsOp op) {
  for (auto [number, word] : llvm::enumerate(op.getWords()))
    t.define(word, readWord(t, op.getChannel(), kFirstWord + static_cast<int64_t>(number)));
}

void cuda::addNamedBarrierLowerings(Lowerings &known) {
  known.add<sm::CloseOp, sm::NextOp, sm::WordsOp>([](Threads &t, auto op) { return lower(t, op); });
}
