// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Passes.h"
#include "compiler/cuda/roles/analysis/LoopOrder.h"
#include "compiler/cuda/roles/analysis/Rings.h"
#include "compiler/sm/Roles.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_EXCHANGETILES
#include "compiler/cuda/roles/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using LocBuilder = ImplicitLocOpBuilder;
using Kind = sm::Step::Kind;

namespace {
/// A tile that the consumers of a loop exchange.
struct Exchange {
  bool isReadLate = false; ///< True if an MMA reads it one iteration later.
  bool passesTurn = false; ///< True if its store ends a turn.

  /// Returns the smallest number of slots with which no slot is overwritten while it is read. A warpgroup that stores
  /// tile i has waited for tile i - 1, or for tile i - 2 if it reads late and takes no turns. Before storing a tile,
  /// the others have ended what they read in earlier iterations, the last of it one tile later if they read late.
  int64_t slots() const { return !isReadLate ? 2 : passesTurn ? 3 : 4; }
};
using Exchanges = llvm::MapVector<sm::ToSharedOp, Exchange>;
} // namespace

/// Returns the tiles that the step list writes or delays the reader of.
static Exchanges exchangesOf(scf::ForOp loop, ArrayRef<sm::Step> steps) {
  Exchanges exchanges;
  Labels mmas = labelledMmas(loop);
  for (const auto &[i, step] : llvm::enumerate(steps)) {
    sm::AsyncProduct mma = mmas.lookup(step.label);
    if (!mma)
      continue;
    for (bool isLhs : {true, false}) {
      auto tile = dyn_cast_if_present<sm::ToSharedOp>(writerOf(mma, isLhs));
      if (!tile)
        continue;
      if (step.kind == Kind::start && step.isDelayed)
        exchanges[tile].isReadLate = true;
      if (step.kind == (isLhs ? Kind::lhs : Kind::rhs))
        exchanges[tile].passesTurn = i + 1 < steps.size() && steps[i + 1].kind == Kind::passTurn;
    }
  }
  return exchanges;
}

/// Lets the tile pass through a new channel.
static void exchange(scf::ForOp loop, sm::ToSharedOp tile, int64_t slots) {
  LocBuilder b(tile.getLoc(), loop->getParentOfType<sm::RolesOp>());
  const StringRef role = sm::roleOf(loop)->name();
  Value channel = makeChannel(b, tile.getType(), slots, role, role);
  auto [slot, phase] = RingPosition::lastOf(carriedIn(carryRingPosition(cast<Loop>(*loop), slots)));

  b.setInsertionPoint(tile);
  sm::ProducerStoreOp::create(b, tile.getTile(), channel, slot, phase, /*words=*/ValueRange());
  for (OpOperand &use : llvm::make_early_inc_range(tile->getUses())) {
    b.setInsertionPoint(use.getOwner());
    use.set(sm::ConsumerWaitOp::create(b, channel, slot, phase).getTiles().front());
  }
  tile.erase();
}

namespace {
struct ExchangeTiles : cuda::impl::ExchangeTilesBase<ExchangeTiles> {
  void runOnOperation() override {
    while (getOperation()->walk(exchangeFirst).wasInterrupted()) {
    }
  }

  /// Interrupts the walk if it has exchanged a tile: the loop and those around it are then new.
  static WalkResult exchangeFirst(scf::ForOp loop) {
    auto text = loop->getAttrOfType<StringAttr>(tile::steps);
    if (!text || loop->hasAttr(kPipelined) || !loop->getParentOfType<sm::RolesOp>())
      return WalkResult::advance();
    llvm::Expected<sm::StepList> steps = sm::parseSteps(text.getValue());
    if (!steps) {
      llvm::consumeError(steps.takeError()); // pipeline-loops reports it.
      return WalkResult::advance();
    }
    const Exchanges exchanges = exchangesOf(loop, *steps);
    if (exchanges.empty())
      return WalkResult::advance();
    exchange(loop, exchanges.front().first, exchanges.front().second.slots());
    return WalkResult::interrupt();
  }
};
} // namespace
