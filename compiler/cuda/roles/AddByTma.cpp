// SPDX-License-Identifier: MIT
#include "compiler/cuda/roles/Adder.h"
#include "compiler/cuda/roles/Passes.h"
#include "compiler/sm/Boxes.h"
#include "compiler/sm/Steps.h"
#include "compiler/sm/Storage.h"
#include "compiler/tile/Settings.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_ADDBYTMA
#include "compiler/cuda/roles/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

using LocBuilder = ImplicitLocOpBuilder;

/// Returns true if all ops of the function that access the tensor add to it. Nothing but the end of the kernel waits
/// until TMA has added a box.
static bool isOnlyAddedTo(Value tensor, func::FuncOp function) {
  auto isOther = [&](const sm::Access &access) {
    return access.kind != sm::AccessKind::add && tile::rootOf(access.place->get()) == tensor;
  };
  return !tile::anyOp(function, [&](Operation *op) { return llvm::any_of(sm::accessesOf(op), isOther); });
}

/// Returns true if boxes add the columns of the tile only: they end with it, or with the columns that TMA sees. Lanes
/// add the few columns of a narrow tile faster than TMA adds them with their padding.
static bool haveBoxes(RankedTensorType tile, Value column) {
  constexpr int64_t leastPadded = 64;
  if (!sm::additionBuffer(tile))
    return false;
  return sm::limitOfColumns(tile) ? tile.getDimSize(1) >= leastPadded && matchPattern(column, m_Zero())
                                  : sm::startsAtBox(column, tile.getElementType());
}

static bool canAddByTma(tile::AtomicAddOp add) {
  return add->getParentOfType<sm::RolesOp>() && add->getParentOfType<LoopLikeOpInterface>() &&
         haveBoxes(add.getTile().getType(), add.getPosition().back()) && sm::whyNotAdded(add.getView()).empty() &&
         isOnlyAddedTo(tile::rootOf(add.getView()), add->getParentOfType<func::FuncOp>());
}

/// Returns true if one role can make both additions: it adds tiles of one layout from one buffer to one tensor.
static bool haveOneForm(tile::AtomicAddOp one, tile::AtomicAddOp other) {
  auto counters = [](tile::AtomicAddOp add) { return add.getTurn() ? tile::rootOf(add.getTurns()) : Value(); };
  return sm::roleOf(one)->number() == sm::roleOf(other)->number() &&
         one.getTile().getType() == other.getTile().getType() &&
         tile::rootOf(one.getView()) == tile::rootOf(other.getView()) &&
         sm::hasEnd(one.getView()) == sm::hasEnd(other.getView()) && counters(one) == counters(other);
}

/// Returns true if the loop of an addition does one thing after another: nothing else hides what it takes consumers to
/// start the addition.
static bool isInSerialLoop(tile::AtomicAddOp add) {
  auto text = add->getParentOfType<LoopLikeOpInterface>()->getAttrOfType<StringAttr>(tile::steps);
  llvm::Expected<sm::StepList> steps = sm::parseSteps(text ? text.getValue() : "");
  if (!steps) {
    llvm::consumeError(steps.takeError());
    return false;
  }
  return llvm::none_of(*steps, [](const sm::Step &step) { return step.isTurn() || step.isDelayed; });
}

/// Adds what limits `index`: its bounds if a loop counts it, or if it is the count of the iteration before.
static void addLimits(Value index, SmallVectorImpl<Value> &limits) {
  auto argument = dyn_cast<BlockArgument>(index);
  auto loop = argument ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp()) : scf::ForOp();
  APInt step;
  if (!loop || !matchPattern(loop.getStep(), m_ConstantInt(&step)) || !step.isStrictlyPositive())
    return limits.push_back(index);
  if (argument != loop.getInductionVar()) {
    if (loop.getTiedLoopYieldedValue(argument)->get() != loop.getInductionVar())
      return limits.push_back(index);
    limits.push_back(loop.getTiedLoopInit(argument)->get());
  }
  limits.append({loop.getLowerBound(), loop.getUpperBound()});
}

/// Returns the test whether TMA can add the tile. It stands before the loop if every index is bounded by values that
/// the loop does not change. Not for the role that adds: warps wait for it anyway, and the result would take a
/// register.
static Value fits(LocBuilder &b, tile::AtomicAddOp add, bool byRole) {
  const tile::TensorPosition place = *tile::positionInTensor(add.getView(), add.getPosition());
  SmallVector<Value> limits;
  for (Value index : place.indices)
    addLimits(index, limits);
  auto loop = add->getParentOfType<scf::ForOp>();
  auto isBefore = [&](Value value) { return loop.isDefinedOutsideOfLoop(value); };
  OpBuilder::InsertionGuard guard(b);
  if (loop && !byRole && llvm::all_of(limits, isBefore))
    b.setInsertionPoint(loop);
  return sm::FitsOp::create(b, tile::rootOf(add.getView()), limits, sm::additionBuffer(add.getTile().getType()),
                            /*rows_of_warp=*/IntegerAttr(), sm::limitOfColumns(add.getTile().getType()),
                            sm::hasEnd(add.getView()));
}

/// Returns the additions that one role makes for all warps: those in turns, and others if no loop overlaps its
/// iterations.
static SmallVector<tile::AtomicAddOp> additionsOfRole(ArrayRef<tile::AtomicAddOp> additions) {
  SmallVector<tile::AtomicAddOp> chosen;
  const bool areSerial = llvm::all_of(additions, isInSerialLoop);
  for (bool inTurns : {true, false})
    for (tile::AtomicAddOp add : additions)
      if (bool(add.getTurn()) == inTurns && (inTurns || areSerial) &&
          (chosen.empty() || haveOneForm(chosen.front(), add)))
        chosen.push_back(add);
  return chosen;
}

namespace {
struct AddByTma : cuda::impl::AddByTmaBase<AddByTma> {
  void runOnOperation() override {
    if (tile::scheduleOf(getOperation()).add_by_tma == true)
      for (auto function : getOperation().getOps<func::FuncOp>())
        addByTma(function);
  }

  static void addByTma(func::FuncOp function) {
    auto additions =
        tile::allOps(function, [](tile::AtomicAddOp add) { return !add->hasAttr(tile::rare) && canAddByTma(add); });
    const SmallVector<tile::AtomicAddOp> ofRole = additionsOfRole(additions);
    auto isOfRole = [&](tile::AtomicAddOp add) { return llvm::is_contained(ofRole, add); };
    llvm::erase_if(additions, [&](tile::AtomicAddOp add) { return add.getTurn() && !isOfRole(add); });
    if (additions.empty())
      function.emitRemark(tile::nameSetting(function, "add_by_tma"))
          << " has no effect: no loop of the consumers adds f32 accumulators of a wgmma, of which each warp has whole "
             "panels of 32 columns or all columns, to a tensor that nothing else accesses";
    sm::ChannelOp toRole;
    DenseMap<Type, Value> buffers; // Additions by warps that have one layout share a buffer.
    for (tile::AtomicAddOp add : additions)
      if (isOfRole(add)) {
        toRole = toRole ? toRole : makeChannelToAdder(add);
        handOver(add, toRole);
      } else {
        Value &buffer = buffers[add.getTile().getType()];
        addByWarps(add, buffer = buffer ? buffer : makeBuffer(add));
      }
    if (toRole)
      addAdder(ofRole.front(), toRole);
  }

  static Value makeBuffer(tile::AtomicAddOp add) {
    LocBuilder b(add.getLoc(), add->getParentOfType<sm::RolesOp>());
    return sm::AllocOp::create(b, sm::additionBuffer(add.getTile().getType()));
  }

  /// Lets each warp start the additions of what it has written to the buffer.
  static void addByWarps(tile::AtomicAddOp add, Value buffer) {
    branch(add, /*byRole=*/false, [&](LocBuilder &b) {
      auto at = sm::CoordinatesOp::create(b, add.getView(), add.getPosition(), /*tested=*/true);
      sm::TmaStoreWaitOp::create(b, buffer);
      sm::WriteOp::create(b, add.getTile(), buffer, /*staggered=*/true);
      auto byTma = sm::TmaAddOp::create(b, buffer, sm::layoutOf(add.getTile().getType()),
                                        sm::limitOfColumns(add.getTile().getType()), tile::rootOf(add.getView()),
                                        at.getCoordinates());
      tile::inheritAttributes(byTma, add);
    });
  }

  /// Hands the tile to the role that adds.
  static void handOver(tile::AtomicAddOp add, sm::ChannelOp channel) {
    branch(add, /*byRole=*/true, [&](LocBuilder &b) { handToAdder(b, add, channel); });
  }

  /// Lets TMA make an addition where it can. Otherwise lanes make it.
  static void branch(tile::AtomicAddOp add, bool byRole, function_ref<void(LocBuilder &)> byTma) {
    LocBuilder b(add.getLoc(), add);
    auto branch = scf::IfOp::create(b, fits(b, add, byRole), /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    byTma(b);
    add->moveBefore(branch.elseBlock()->getTerminator());
    add->setAttr(tile::rare, b.getUnitAttr());
  }
};
} // namespace
