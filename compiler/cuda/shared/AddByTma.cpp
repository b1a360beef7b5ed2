// SPDX-License-Identifier: MIT
#include "compiler/cuda/shared/Passes.h"

#include "compiler/sm/Boxes.h"
#include "compiler/sm/Elements.h"
#include "compiler/sm/Sm.h"
#include "compiler/sm/Steps.h"
#include "compiler/sm/Storage.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Pass/Pass.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_ADDBYTMA
#include "compiler/cuda/shared/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

using LocBuilder = ImplicitLocOpBuilder;

/// Returns true if all ops of the function that access the tensor add to it. Nothing but the end of the kernel waits
/// until TMA has added a box.
static bool isOnlyAddedTo(Value tensor, func::FuncOp function) {
  WalkResult search = function.walk([&](Operation *op) {
    auto isOther = [&](const sm::Access &access) {
      return access.kind != sm::AccessKind::add && tile::rootOf(access.place->get()) == tensor;
    };
    return llvm::any_of(sm::accessesOf(op), isOther) ? WalkResult::interrupt() : WalkResult::advance();
  });
  return !search.wasInterrupted();
}

static bool canAddByTma(tile::AtomicAddOp add) {
  auto type = cast<RankedTensorType>(add.getTile().getType());
  return add->getParentOfType<sm::RolesOp>() && add->getParentOfType<LoopLikeOpInterface>() && sm::isAddedByTma(type) &&
         sm::startsAtBox(add.getPosition().back(), type.getElementType()) &&
         sm::whyNotAddressed(add.getView()).empty() &&
         isOnlyAddedTo(tile::rootOf(add.getView()), add->getParentOfType<func::FuncOp>());
}

/// Returns true if one warp can make both additions: it adds tiles of one layout from one buffer to one tensor.
static bool haveOneForm(tile::AtomicAddOp one, tile::AtomicAddOp other) {
  auto counters = [](tile::AtomicAddOp add) { return add.getTurn() ? tile::rootOf(add.getTurns()) : Value(); };
  return one.getTile().getType() == other.getTile().getType() &&
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
/// the loop does not change. Not for the adder: it waits anyway, and the result would take a register.
static Value fits(LocBuilder &b, tile::AtomicAddOp add, sm::SharedType buffer, bool byAdder) {
  const tile::TensorPosition place = *tile::positionInTensor(add.getView(), add.getPosition());
  SmallVector<Value> limits;
  for (Value index : place.indices)
    addLimits(index, limits);
  auto loop = add->getParentOfType<scf::ForOp>();
  auto isBefore = [&](Value value) { return loop.isDefinedOutsideOfLoop(value); };
  OpBuilder::InsertionGuard guard(b);
  if (loop && !byAdder && llvm::all_of(limits, isBefore))
    b.setInsertionPoint(loop);
  return sm::FitsOp::create(b, tile::rootOf(add.getView()), limits, buffer, sm::hasEnd(add.getView()));
}

namespace {
struct AddByTma : cuda::impl::AddByTmaBase<AddByTma> {
  void runOnOperation() override {
    if (tile::isOn(getOperation(), "tile.add_by_tma"))
      for (auto function : getOperation().getOps<func::FuncOp>())
        addByTma(function);
  }

  static void addByTma(func::FuncOp function) {
    SmallVector<tile::AtomicAddOp> additions, ofAdder;
    function.walk([&](tile::AtomicAddOp add) {
      if (!add->hasAttr(tile::rare) && canAddByTma(add))
        additions.push_back(add);
    });
    // Additions in turns need the adder. Others have it if no loop overlaps its iterations.
    const bool areSerial = llvm::all_of(additions, isInSerialLoop);
    for (bool inTurns : {true, false})
      for (tile::AtomicAddOp add : additions)
        if (bool(add.getTurn()) == inTurns && (inTurns || areSerial) &&
            (ofAdder.empty() || haveOneForm(ofAdder.front(), add)))
          ofAdder.push_back(add);
    llvm::erase_if(additions,
                   [&](tile::AtomicAddOp add) { return add.getTurn() && !llvm::is_contained(ofAdder, add); });
    if (additions.empty())
      function.emitRemark(tile::nameSetting(function, "add_by_tma"))
          << " has no effect: no loop of the consumers adds f32 accumulators of a wgmma, in whole panels of 32 "
             "columns, to a tensor that nothing else accesses";
    // Additions with one layout share a buffer, but those of the adder have one of their own.
    DenseMap<std::pair<Type, unsigned>, Value> buffers;
    for (tile::AtomicAddOp add : additions) {
      LocBuilder b(add.getLoc(), add);
      const bool byAdder = llvm::is_contained(ofAdder, add);
      Value &buffer = buffers[{add.getTile().getType(), byAdder}];
      if (!buffer)
        buffer = makeBuffer(add);
      addByTma(b, add, buffer, byAdder);
    }
  }

  /// Lets TMA make an addition from the buffer where it can. Otherwise lanes make it.
  static void addByTma(LocBuilder &b, tile::AtomicAddOp add, Value buffer, bool byAdder) {
    Value canAdd = fits(b, add, cast<sm::SharedType>(buffer.getType()), byAdder);
    auto branch = scf::IfOp::create(b, canAdd, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    sm::AddOutOp::create(b, add.getTile(), buffer, add.getView(), add.getPosition(), add.getTurn(), add.getTurns(),
                         add.getPlace(), add.getNext(), byAdder && !add.getTurn());
    add->moveBefore(branch.elseBlock()->getTerminator());
    add->setAttr(tile::rare, b.getUnitAttr());
  }

  static Value makeBuffer(tile::AtomicAddOp add) {
    auto tile = cast<RankedTensorType>(add.getTile().getType());
    LocBuilder b(add.getLoc(), add->getParentOfType<sm::RolesOp>());
    auto type = sm::SharedType::get(b.getContext(), tile.getShape(), tile.getElementType(), sm::kPanelBytes);
    return sm::AllocOp::create(b, type, IntegerAttr());
  }
};
} // namespace
