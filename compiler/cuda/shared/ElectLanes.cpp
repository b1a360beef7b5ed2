// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"
#include "compiler/sm/Boxes.h"
#include "compiler/sm/Roles.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_ELECTLANES
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

using LocBuilder = ImplicitLocOpBuilder;

//===-- Loads ----------------------------------------------------------------------------------------------------===//

static bool isVector(sm::ProducerLoadOp load) { return load.getTile().getShape().size() == 1; }

/// Returns true if the lanes of a warp divide the boxes of the tile. One lane makes the test of `tma_only`.
static bool dividesBoxes(sm::ProducerLoadOp load) {
  return !load.getTmaOnly() && !isVector(load) && sm::areBoxesDivided(load.getView(), load.getShape().front());
}

static sm::ProducerAcquireOp acquire(LocBuilder &b, sm::ProducerLoadOp load) {
  return sm::ProducerAcquireOp::create(b, load.getChannel(), load.getSlot(), load.getPhase());
}

static void copy(LocBuilder &b, sm::ProducerLoadOp load, Value tile) {
  sm::FallbackCopyOp::create(b, tile, load.getView(), load.getPosition(), load.getShape(),
                             /*rows_of_warp=*/IntegerAttr());
}

static void commitSlot(LocBuilder &b, sm::ProducerLoadOp load) {
  sm::ProducerCommitOp::create(b, load.getChannel(), load.getSlot());
}

/// Lets one lane load the tile by TMA. The operands of MMAs need no test of their own. A vector needs one, because the
/// lane can copy it, and so does a tile that consumers copy.
static void loadByTma(sm::ProducerLoadOp load) {
  load.setFenced(false);
  if (!load.getTmaOnly() && !isVector(load))
    return;
  LocBuilder b(load.getLoc(), load);
  Value tile = acquire(b, load).getTiles().front();
  Value isLoaded = sm::IsLoadedOp::create(b, tile, load.getView(), load.getPosition());
  auto branch = scf::IfOp::create(b, isLoaded, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.elseBlock());
  if (!load.getTmaOnly())
    copy(b, load, tile);
  commitSlot(b, load);
  load->moveBefore(branch.thenBlock()->getTerminator());
  load.setTmaOnly(false);
  load.setTested(true);
}

/// Returns the tile that lanes copy. A load of part 0 waits for its slot.
static Value tileOf(LocBuilder &b, sm::ProducerLoadOp load) {
  auto slot = load.fillsFirstPart() ? acquire(b, load) : sm::acquireOf(load, load.getChannel(), load.getSlot());
  return slot.getTiles()[load.getPart()];
}

/// Lets the lanes of the warp copy the tile. They meet after all parts of the slot, before one of them marks it as
/// full. Consumers therefore get no tile before all lanes have copied their elements, and no lane comes a round late to
/// a slot.
static void loadByLanes(sm::ProducerLoadOp load) {
  LocBuilder b(load.getLoc(), load);
  if (load.getTmaOnly()) {
    b.setInsertionPointToStart(&sm::ElectOp::create(b).getBody().front());
    acquire(b, load);
  } else {
    copy(b, load, tileOf(b, load));
    if (load.getFenced())
      sm::ProxyFenceOp::create(b);
    if (load.fillsLastPart())
      sm::BarrierOp::create(b, /*warp=*/true);
  }
  if (load.fillsLastPart())
    commitSlot(b, load);
  load.erase();
}

//===-- Roles ----------------------------------------------------------------------------------------------------===//

/// Moves the ops after `first` in its block, except for the terminator, to another block.
static void moveOpsAfter(Operation *first, Block &to) {
  Block &from = *first->getBlock();
  to.getOperations().splice(to.getTerminator()->getIterator(), from.getOperations(), std::next(first->getIterator()),
                            from.getTerminator()->getIterator());
}

/// Lets one lane execute a block.
static void elect(Block &block) {
  LocBuilder b(block.getParentOp()->getLoc(), block.getParentOp()->getContext());
  b.setInsertionPointToStart(&block);
  auto elected = sm::ElectOp::create(b);
  moveOpsAfter(elected, elected.getBody().front());
}

/// Lets one lane execute a block. If lanes share the boxes of a tile, the whole warp executes it instead, and one lane
/// starts each of the other loads. The lanes meet between the parts of a slot, because one of them has waited for it.
static void electForTma(Block &block) {
  Region &region = *block.getParent();
  if (!tile::anyOp(region, dividesBoxes))
    return elect(block);
  region.walk([](sm::ProducerLoadOp load) {
    LocBuilder b(load.getLoc(), load);
    if (!load.fillsFirstPart())
      sm::BarrierOp::create(b, /*warp=*/true);
    if (dividesBoxes(load))
      return;
    load->moveBefore(sm::ElectOp::create(b).getBody().front().getTerminator());
  });
}

/// Makes two programs of a role that loads tiles: one loads them by TMA, in the other the lanes of the warp copy them.
/// With TMA, one lane waits for a slot and starts the copies. A second lane could come a whole round late to the slot,
/// see the parity of a later phase, and wait forever.
static void divide(Block &block) {
  LocBuilder b(block.getParentOp()->getLoc(), block.getParentOp()->getContext());
  b.setInsertionPointToStart(&block);
  Value isByTma = sm::CanLoadByTmaOp::create(b);
  auto branch = scf::IfOp::create(b, isByTma, /*withElseRegion=*/true);
  moveOpsAfter(branch, *branch.thenBlock());
  b.setInsertionPointToStart(branch.elseBlock());
  IRMapping map;
  for (Operation &op : branch.thenBlock()->without_terminator())
    b.clone(op, map);
  electForTma(*branch.thenBlock());
  branch.getThenRegion().walk(loadByTma);
  branch.getElseRegion().walk(loadByLanes);
  branch.getElseRegion().walk([](scf::ForOp loop) { loop->removeAttr(tile::steps); }); // It is an order of TMA loads.
}

namespace {
struct ElectLanes : cuda::impl::ElectLanesBase<ElectLanes> {
  void runOnOperation() override {
    getOperation()->walk([](sm::RolesOp roles) {
      for (const sm::RoleRef &role : sm::rolesOf(roles))
        if (!isDecided(role.body()))
          decide(role);
    });
  }

  /// Returns true if the pass has chosen the lanes of a role already.
  static bool isDecided(Region &role) {
    return tile::anyOp(role, [](Operation *op) { return isa<sm::CanLoadByTmaOp, sm::ElectOp>(op); });
  }

  static void decide(const sm::RoleRef &role) {
    if (tile::anyOp(role.body(), [](sm::ProducerLoadOp) { return true; }))
      divide(role.block());
    else if (role.hasProducts(sm::Issuer::lane))
      elect(role.block());
  }
};
} // namespace
