// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"

#include "compiler/sm/Sm.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/TypeSwitch.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_ALLOCATESHARED
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

using LocBuilder = ImplicitLocOpBuilder;

//===-- Copies ---------------------------------------------------------------------------------------------------===//

namespace {
/// Returns true if the group of `commit` is finished after the wait: some copies that the wait names belong to this
/// group or to younger ones.
bool covers(sm::WaitOp wait, sm::CommitOp commit) {
  auto isInYounger = [&](Operation *copy) {
    sm::CommitOp other = sm::commitOf(cast<sm::CopyInOp>(copy));
    Operation *inBlock = commit->getBlock()->findAncestorOpInBlock(*other);
    return inBlock && !inBlock->isBeforeInBlock(commit);
  };
  return llvm::any_of(wait.getCopies(), [&](Value handle) {
    SmallVector<Operation *, 2> copies = sm::startersOf(handle);
    return !copies.empty() && llvm::all_of(copies, isInYounger);
  });
}

void waitBefore(Operation *op, sm::CommitOp commit) {
  OpBuilder b(op);
  sm::WaitOp::create(b, commit.getLoc(), commit.getCopies());
}

/// A commit group of one copy, followed from its commit on.
class Group {
public:
  Group(sm::CommitOp commit, sm::CopyInOp copy) : commit_(commit), copy_(copy) {}

  /// Inserts a wait before the first op in the rest of the block that needs the copy to be finished. Waits that come
  /// first and cover the group name it instead, also those in regions. Returns true if a wait of the block names it.
  bool waitForUse() {
    Operation *end = nameInWaits(restOfBlock());
    if (end && !isa<sm::WaitOp>(end))
      waitBefore(end, commit_);
    return end;
  }

  /// Joins this group with the next one if each wait that names this group covers the next one, too.
  void joinNext() {
    auto rest = restOfBlock();
    auto next = llvm::find_if(rest, llvm::IsaPred<sm::CommitOp>);
    auto coversNext = [&](Operation *wait) { return covers(cast<sm::WaitOp>(wait), cast<sm::CommitOp>(*next)); };
    SmallVector<Operation *, 2> waits = sm::endersOf(commit_.getCopies());
    commit_.setJoinsNext(!waits.empty() && next != rest.end() && llvm::all_of(waits, coversNext));
  }

  /// Inserts a wait after the last use, if all uses are in loops that wait themselves. The copy then finishes even if a
  /// loop runs zero times.
  void waitAfterUses() {
    Operation *last = commit_;
    for (Operation *user : copy_.getShared().getUsers()) {
      Operation *inBlock = commit_->getBlock()->findAncestorOpInBlock(*user);
      if (inBlock && last->isBeforeInBlock(inBlock))
        last = inBlock;
    }
    waitBefore(last->getNextNode(), commit_);
  }

private:
  llvm::iterator_range<Block::iterator> restOfBlock() {
    return llvm::make_range(std::next(commit_->getIterator()), commit_->getBlock()->end());
  }

  /// Lets the wait that covers the group and comes first in `ops` name it, and those in regions before. Returns this
  /// wait, or the first op that needs the copy earlier; null if there is neither.
  Operation *nameInWaits(llvm::iterator_range<Block::iterator> ops) {
    for (Operation &op : ops) {
      auto wait = dyn_cast<sm::WaitOp>(op);
      if (wait && covers(wait, commit_)) {
        if (!llvm::is_contained(wait.getCopies(), commit_.getCopies()))
          wait.getCopiesMutable().append(commit_.getCopies());
        return wait;
      }
      if (readsCopy(op) || overwritesSource(op) || needsCopyEarly(op))
        return &op;
    }
    return nullptr;
  }

  bool readsCopy(Operation &op) { return llvm::is_contained(op.getOperands(), copy_.getShared()); }

  bool overwritesSource(Operation &op) {
    return llvm::any_of(sm::accessesOf(&op), [&](const sm::Access &access) {
      return access.kind != sm::AccessKind::read && tile::rootOf(access.place->get()) == tile::rootOf(copy_.getView());
    });
  }

  /// Returns true if an op in a region of `op` needs the copy before a wait in this region. Waits there name the group,
  /// but do not count after the region, because it may not run.
  bool needsCopyEarly(Operation &op) {
    return llvm::any_of(op.getRegions(), [&](Region &region) {
      if (region.empty())
        return false;
      Operation *end = nameInWaits(llvm::make_range(region.front().begin(), region.front().end()));
      return end && !isa<sm::WaitOp>(end);
    });
  }

  sm::CommitOp commit_;
  sm::CopyInOp copy_;
};
} // namespace

/// Replaces the load by the start of a copy to a new buffer.
static Group startCopy(sm::LoadSharedOp fetch) {
  LocBuilder b(fetch.getLoc(), fetch);
  Value buffer = sm::AllocOp::create(b, fetch.getType());
  auto copy = sm::CopyInOp::create(b, fetch.getView(), fetch.getPosition(), fetch.getShape(), buffer);
  auto commit = sm::CommitOp::create(b);
  fetch.replaceAllUsesWith(buffer);
  fetch.erase();
  return Group(commit, copy);
}

/// Lowers all loads to shared memory. The youngest group comes first, because its wait serves the older groups, too.
static void lowerSharedLoads(Operation *root) {
  SmallVector<Group> groups;
  root->walk([&](sm::LoadSharedOp fetch) { groups.push_back(startCopy(fetch)); });
  for (Group &group : llvm::reverse(groups))
    group.waitForUse();
  for (Group &group : llvm::reverse(groups))
    group.joinNext();
  for (Group &group : llvm::reverse(groups))
    if (!group.waitForUse())
      group.waitAfterUses();
}

//===-- Tiles from registers -------------------------------------------------------------------------------------===//

/// Moves `op` up to the definition of its only operand, if that is in the same block.
static void hoist(Operation *op) {
  Operation *place = op->getOperand(0).getDefiningOp();
  if (!place || place->getBlock() != op->getBlock())
    return;
  // A wait after a loop frees memory.
  while (isa<sm::WaitOp>(place->getNextNode()))
    place = place->getNextNode();
  op->moveAfter(place);
}

/// Moves the store of a tile to shared memory up, with its rounding. The earlier it is written, the more likely it
/// shares a barrier with another one.
static void hoistStage(sm::ToSharedOp stage) {
  if (auto narrowed = stage.getTile().getDefiningOp<arith::TruncFOp>())
    hoist(narrowed);
  hoist(stage);
}

/// Returns the type of the buffer of a conversion. It has panels, because threads that share a row may write what
/// threads that share a column read.
static sm::SharedType exchangeType(RankedTensorType tile) {
  unsigned bytes = llvm::divideCeil(tile.getElementTypeBitWidth(), 8);
  bool panelled = tile.getRank() == 2 && (bytes == 2 || bytes == 4);
  return sm::SharedType::get(tile.getContext(), tile.getShape(), tile.getElementType(),
                             panelled ? sm::panelFor(tile.getDimSize(1), bytes) : 0);
}

static sm::SharedType rowMajorType(RankedTensorType tile) {
  return sm::SharedType::get(tile.getContext(), tile.getShape(), tile.getElementType(), /*panel=*/0);
}

static Value write(LocBuilder &b, Value tile, sm::SharedType type) {
  Value buffer = sm::AllocOp::create(b, type);
  sm::WriteOp::create(b, tile, buffer);
  return buffer;
}

static void lowerToWrite(Operation *op) {
  LocBuilder b(op->getLoc(), op);
  auto result = TypeSwitch<Operation *, Value>(op)
                    .Case([&](sm::ToSharedOp stage) { return write(b, stage.getTile(), stage.getType()); })
                    .Case([&](sm::ConvertOp convert) {
                      Value buffer = write(b, convert.getSource(), exchangeType(convert.getType()));
                      return sm::ReadOp::create(b, convert.getType(), buffer);
                    })
                    .Case([&](sm::SelectColumnsOp select) {
                      Value buffer = write(b, select.getSource(), exchangeType(select.getSource().getType()));
                      return sm::ReadOp::create(b, select.getType(), buffer, /*reshaped=*/false, select.getFirstAttr(),
                                                select.getStepAttr());
                    })
                    .Case([&](sm::ReshapeOp reshape) {
                      Value buffer = write(b, reshape.getSource(), rowMajorType(reshape.getSource().getType()));
                      return sm::ReadOp::create(b, reshape.getType(), buffer, /*reshaped=*/true);
                    })
                    .Default(Value());
  if (!result)
    return;
  op->replaceAllUsesWith(ValueRange(result));
  op->erase();
}

namespace {
struct AllocateShared : cuda::impl::AllocateSharedBase<AllocateShared> {
  void runOnOperation() override {
    lowerSharedLoads(getOperation());
    getOperation()->walk(hoistStage);
    getOperation()->walk(lowerToWrite);
  }
};
} // namespace
