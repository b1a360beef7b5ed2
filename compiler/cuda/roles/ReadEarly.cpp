// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"

#include "compiler/sm/PendingGroups.h"

#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/RegionUtils.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_READEARLY
#include "compiler/cuda/roles/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

namespace {
/// The ops that first bring a tile of a ring to registers.
struct Reader {
  sm::FallbackCopyOp fill;
  sm::ReadOp read;
};
} // namespace

/// Returns the fallback copy and the read of a tile; none if other ops read it.
static std::optional<Reader> readerOf(sm::ConsumerWaitOp receive) {
  Reader reader;
  for (Operation *user : receive->getUsers()) {
    if (auto fill = dyn_cast<sm::FallbackCopyOp>(user))
      reader.fill = fill;
    else if (auto read = dyn_cast<sm::ReadOp>(user); !read)
      return std::nullopt;
    else if (read->getBlock() == receive->getBlock())
      reader.read = read;
  }
  return reader.fill && reader.read ? std::optional(reader) : std::nullopt;
}

/// Returns the closest wait for an MMA before `op`, or null if there is none or a loop lies between the two.
static sm::AwaitOp waitBefore(Operation *op) {
  while ((op = op->getPrevNode()) && !isa<LoopLikeOpInterface>(op))
    if (auto wait = dyn_cast<sm::AwaitOp>(op))
      return wait;
  return {};
}

/// Returns the next wait after `op` that leaves no MMA in flight, or null.
static sm::AwaitOp lastWaitAfter(Operation *op) {
  while ((op = op->getNextNode()))
    if (auto wait = dyn_cast<sm::AwaitOp>(op); wait && sm::pendingGroups(wait) == 0)
      return wait;
  return {};
}

/// Returns the release that frees the tile's slot: the op after the next proxy fence. It may belong to another slot
/// that is released together with this one.
static sm::ReleaseOp releaseAfter(sm::ReadOp read) {
  for (Operation *op = read->getNextNode(); op; op = op->getNextNode())
    if (isa<sm::ProxyFenceOp>(op))
      return dyn_cast<sm::ReleaseOp>(op->getNextNode());
  return {};
}

/// Moves the release and its fence after `wait` and the releases that follow it.
static void moveBehind(sm::AwaitOp wait, sm::ReleaseOp release) {
  Operation *fence = release->getPrevNode(), *place = wait;
  while (isa<sm::ReleaseOp>(place->getNextNode()))
    place = place->getNextNode();
  release->moveAfter(place);
  fence->moveAfter(place);
}

namespace {
struct ReadEarly : cuda::impl::ReadEarlyBase<ReadEarly> {
  void runOnOperation() override {
    SmallVector<sm::ConsumerWaitOp> receives;
    getOperation()->walk([&](sm::ConsumerWaitOp receive) { receives.push_back(receive); });
    IRRewriter rewriter(&getContext());
    for (sm::ConsumerWaitOp receive : receives) {
      std::optional<Reader> reader = readerOf(receive);
      if (!reader)
        continue;
      auto [fill, read] = *reader;
      if (sm::AwaitOp wait = waitBefore(fill); wait && succeeded(moveOperationDependencies(rewriter, fill, wait))) {
        fill->moveBefore(wait);
        read->moveBefore(wait);
      }
      sm::AwaitOp wait = lastWaitAfter(read);
      sm::ReleaseOp release = releaseAfter(read);
      if (wait && release && release->isBeforeInBlock(wait))
        moveBehind(wait, release);
    }
  }
};
} // namespace
