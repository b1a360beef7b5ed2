// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"
#include "compiler/sm/Boxes.h"
#include "compiler/sm/Elements.h"
#include "compiler/sm/PendingGroups.h"
#include "compiler/sm/Roles.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_STOREBYTMA
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

static bool overlap(sm::AllocOp one, sm::AllocOp other) {
  auto endsBefore = [](sm::AllocOp first, sm::AllocOp second) {
    return static_cast<int64_t>(*first.getOffset()) + first.getType().bytes() <=
           static_cast<int64_t>(*second.getOffset());
  };
  return !endsBefore(one, other) && !endsBefore(other, one);
}

/// Returns true if the role of `copy` writes another buffer that overlaps with its buffer. Warps would then have to
/// wait for the boxes of other warps.
static bool sharesItsPlace(sm::CopyOutOp copy) {
  sm::AllocOp own = sm::allocOf(copy.getShared());
  auto isOver = [&](const sm::Access &access) {
    sm::AllocOp other = sm::allocOf(access.place->get());
    return access.kind == sm::AccessKind::write && other && other != own && overlap(other, own);
  };
  return tile::anyOp(sm::roleOf(copy)->body(), [&](Operation *op) { return llvm::any_of(sm::accessesOf(op), isOver); });
}

/// Returns true if tiles of different iterations of `loop` do not overlap in this dimension.
static bool isDisjoint(Value position, int64_t size, LoopLikeOpInterface loop) {
  auto counting = scf::getForInductionVarOwner(position);
  APInt step;
  return counting && counting == loop && matchPattern(counting.getStep(), m_ConstantInt(&step)) &&
         step.getSExtValue() >= size;
}

/// Returns true if the rows of the view, if it has only some of its tensor, are the same in all iterations of `loop`.
static bool hasFixedRows(Value view, LoopLikeOpInterface loop) {
  Value begin = tile::positionInTensor(view, {})->begin;
  return !begin || loop.isDefinedOutsideOfLoop(begin);
}

/// Returns true if no other op of the function accesses the tensor.
static bool isOnlyAccess(sm::CopyOutOp copy) {
  Value tensor = tile::rootOf(copy.getView());
  auto isOfTensor = [&](const sm::Access &access) { return tile::rootOf(access.place->get()) == tensor; };
  return !tile::anyOp(copy->getParentOfType<func::FuncOp>(),
                      [&](Operation *op) { return op != copy && llvm::any_of(sm::accessesOf(op), isOfTensor); });
}

/// Returns true if a warp writes each element of the tensor at most once, and nothing reads it. TMA copies of one warp
/// may overtake each other.
static bool isWrittenOnce(sm::CopyOutOp copy) {
  if (!isOnlyAccess(copy))
    return false;
  for (auto loop = copy->getParentOfType<LoopLikeOpInterface>(); loop;
       loop = loop->getParentOfType<LoopLikeOpInterface>()) {
    auto isApart = [&](auto dim) { return isDisjoint(std::get<0>(dim), std::get<1>(dim), loop); };
    if (!loop->hasAttr(tile::parallelLoop) &&
        !(hasFixedRows(copy.getView(), loop) && llvm::any_of(llvm::zip(copy.getPosition(), copy.getShape()), isApart)))
      return false;
  }
  return true;
}

static bool canStoreByTma(sm::CopyOutOp copy) {
  sm::SharedType type = copy.getShared().getType();
  return sm::roleOf(copy) && copy.getRowsOfWarp() && sm::isCopiedByTma(type.getElementType()) &&
         type.getPanel() == sm::kPanelBytes && type.getShape() == copy.getShape() &&
         sm::startsAtBox(copy.getPosition().back(), type.getElementType()) &&
         sm::whyNotStored(copy.getView()).empty() && !sharesItsPlace(copy) && isWrittenOnce(copy);
}

namespace {
/// The two ways of a store.
struct Branch {
  sm::TmaStoreOp store;
  sm::TmaCommitOp commit; ///< Closes a group where lanes copy the tile.
};
} // namespace

/// Lets TMA store the tile where it can. Otherwise lanes do.
static Branch branch(sm::CopyOutOp copy) {
  ImplicitLocOpBuilder b(copy.getLoc(), copy);
  const SmallVector<Value> indices = tile::positionInTensor(copy.getView(), copy.getPosition())->indices;
  Value fits = sm::FitsOp::create(b, tile::rootOf(copy.getView()), indices, copy.getShared().getType(),
                                  copy.getRowsOfWarpAttr(), /*columns=*/IntegerAttr(), sm::hasEnd(copy.getView()));
  auto branch = scf::IfOp::create(b, fits, /*withElseRegion=*/true);
  b.setInsertionPointToStart(branch.thenBlock());
  auto store =
      sm::TmaStoreOp::create(b, copy.getShared(), copy.getView(), copy.getPosition(), copy.getRowsOfWarpAttr());
  copy->moveBefore(branch.elseBlock()->getTerminator());
  b.setInsertionPointAfter(copy);
  return {store, sm::TmaCommitOp::create(b)};
}

//===-- Waits ----------------------------------------------------------------------------------------------------===//

static void waitBefore(Operation *op, Value buffer) {
  auto before = dyn_cast_if_present<sm::TmaStoreWaitOp>(op->getPrevNode());
  if (before && before.getShared() == buffer)
    return;
  OpBuilder b(op);
  sm::TmaStoreWaitOp::create(b, op->getLoc(), buffer);
}

/// Returns true if the store may have started before the write, such as in an earlier iteration.
static bool mayPrecede(Operation *store, sm::WriteOp write) {
  Operation *inBlock = write->getBlock()->findAncestorOpInBlock(*store);
  return write->getParentOfType<LoopLikeOpInterface>() || !inBlock || inBlock->isBeforeInBlock(write);
}

/// Waits before a write to a buffer until TMA has read what it stores from there.
static void waitBefore(sm::WriteOp write) {
  if (llvm::any_of(sm::tmaReadersOf(write.getShared()), [&](Operation *store) { return mayPrecede(store, write); }))
    waitBefore(write, write.getShared());
}

/// Erases the commits of lanes in place of stores that no wait counts. A wait counts younger stores from other buffers.
static void eraseUncounted(ArrayRef<Branch> branches, Operation *root) {
  SmallVector<Value> buffers;
  for (auto [op, pending] : sm::pendingGroups(root))
    if (auto wait = dyn_cast<sm::TmaStoreWaitOp>(op); wait && pending != 0)
      buffers.push_back(wait.getShared());
  for (Branch branch : branches)
    if (llvm::all_of(buffers, [&](Value buffer) { return buffer == branch.store.getShared(); }))
      branch.commit.erase();
}

/// Returns true if TMA reads a buffer for warps of the role. A slot that the role has received is read before it is
/// released.
static bool readsBuffers(const sm::RoleRef &role) {
  auto isOfBuffer = [](const sm::Access &access) {
    Value place = access.place->get();
    return access.engine == sm::Engine::tma && access.kind == sm::AccessKind::read &&
           isa<sm::SharedType>(place.getType()) && !sm::isReceived(place);
  };
  return tile::anyOp(role.body(), [&](Operation *op) { return llvm::any_of(sm::accessesOf(op), isOfBuffer); });
}

/// Waits at the end of each role: the end frees shared memory, which TMA must have read.
static void waitAtEnds(sm::RolesOp roles) {
  for (const sm::RoleRef &role : sm::rolesOf(roles))
    if (readsBuffers(role))
      waitBefore(role.block().getTerminator(), /*buffer=*/Value());
}

namespace {
struct StoreByTma : cuda::impl::StoreByTmaBase<StoreByTma> {
  void runOnOperation() override {
    SmallVector<Branch> branches;
    getOperation()->walk([&](sm::CopyOutOp copy) {
      if (canStoreByTma(copy))
        branches.push_back(branch(copy));
    });
    getOperation()->walk([](sm::WriteOp write) { waitBefore(write); });
    eraseUncounted(branches, getOperation());
    getOperation()->walk(waitAtEnds);
  }
};
} // namespace
