// SPDX-License-Identifier: MIT
#include "compiler/cpu/ChooseOrders.h"
#include "compiler/cpu/Costs.h"
#include "compiler/cpu/Passes.h"
#include "compiler/cpu/TileOrder.h"
#include "compiler/tile/NarrowFloats.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"

namespace tegula::cpu {
#define GEN_PASS_DEF_PLANBUFFERS
#include "compiler/cpu/Passes.h.inc"

using namespace mlir;

bool isElementwise(Operation *op) {
  return op->getNumResults() == 1 && tileType(op->getResult(0)) && op->hasTrait<OpTrait::Elementwise>();
}

namespace {

/// The orders of tiles. A tile without an entry is row-major.
using Orders = DenseMap<Value, Order>;
/// The loads that were cloned for the dots that use them, and their orders, in program order.
using LoadOrders = llvm::MapVector<Value, Order>;
/// The clone of a load in an order.
using Clones = DenseMap<std::pair<Value, int>, Value>;

/// Gives each dot's vector operands the orders that they need. A load is cloned, and any other operand is packed.
/// Returns the clones.
Clones fixVectorOperands(func::FuncOp function, const Orders &orders, LoadOrders &loadOrders) {
  SmallVector<tile::DotOp> dots;
  function.walk([&](tile::DotOp dot) { dots.push_back(dot); });
  Clones clones;
  auto fix = [&](tile::DotOp dot, VectorOperand vectorOperand) {
    auto [operand, required] = vectorOperand;
    auto load = operand->get().getDefiningOp<tile::LoadOp>();
    if (!load) {
      if (orders.lookup(operand->get()) != required)
        dot->setAttr(kPackAttr, UnitAttr::get(dot.getContext()));
      return;
    }
    Value &clone = clones[{load.getResult(), static_cast<int>(required)}];
    if (!clone)
      clone = OpBuilder(load).clone(*load)->getResult(0);
    loadOrders[clone] = required;
    operand->set(clone);
  };
  for (tile::DotOp dot : dots)
    for (VectorOperand operand : vectorOperands(dot, orders.lookup(dot.getResult())))
      fix(dot, operand);
  return clones;
}

/// Lets a dot that accepts its loaded operand in any order use a clone that exists anyway.
void shareClones(func::FuncOp function, const Clones &clones, const LoadOrders &loadOrders) {
  function.walk([&](tile::DotOp dot) {
    for (OpOperand *operand : {&dot.getLhsMutable(), &dot.getRhsMutable()}) {
      auto load = operand->get().getDefiningOp<tile::LoadOp>();
      if (!load || loadOrders.contains(load.getResult()))
        continue;
      for (auto [clone, order] : loadOrders)
        if (clones.lookup({load.getResult(), static_cast<int>(order)}) == clone) {
          operand->set(clone);
          break;
        }
    }
  });
}

//===-- Buffer or recompute --------------------------------------------------------------------------------------===//

/// Returns true for an operand that is read at other elements than the one that is computed: a tile whose columns move,
/// and the lhs or rhs of a dot. The same tile may also be the dot's `acc`, so the use decides, not the value.
bool isFactor(OpOperand &use) {
  if (isa<tile::ColumnsOp, tile::JoinOp>(use.getOwner()))
    return true;
  auto dot = dyn_cast<tile::DotOp>(use.getOwner());
  return dot && (&use == &dot.getLhsMutable() || &use == &dot.getRhsMutable());
}

bool isYielded(Value value) {
  return llvm::any_of(value.getUsers(), [](Operation *user) { return isa<scf::YieldOp>(user); });
}

/// The decision for every op, operands first: its result gets a buffer or is recomputed.
class BufferDecision {
public:
  explicit BufferDecision(const Orders &orders, const LoadOrders &loadOrders)
      : orders_(orders), loadOrders_(loadOrders) {}

  void decide(Operation *op) {
    if (isa<scf::ForOp, scf::IfOp>(op))
      return setOrders(op);
    if (op->getNumResults() != 1 || !tileType(op->getResult(0)) || op->hasAttr(kBufferAttr))
      return;
    if (mustBuffer(op) || cheaperInBuffer(op))
      op->setAttr(kBufferAttr, StringAttr::get(op->getContext(), toWord(orderOf(op->getResult(0)))));
  }

private:
  Order orderOf(Value value) { return loadOrders_.contains(value) ? loadOrders_.lookup(value) : orders_.lookup(value); }

  void setOrders(Operation *op) {
    SmallVector<Attribute> words;
    for (Value result : op->getResults())
      words.push_back(StringAttr::get(op->getContext(), toWord(orderOf(result))));
    if (!op->hasAttr(kBuffersAttr) && llvm::any_of(op->getResults(), [](Value v) { return tileType(v) != nullptr; }))
      op->setAttr(kBuffersAttr, ArrayAttr::get(op->getContext(), words));
  }

  static bool mustBuffer(Operation *op) {
    if (isa<tile::LoadOp, tile::GatherOp, tile::DotOp, tile::ReduceOp, tile::CumsumOp, tile::ColumnsOp, tile::JoinOp>(
            op))
      return true;
    // A yielded tile is complete before it overwrites the carried tile, which it may be computed from.
    return llvm::any_of(op->getResult(0).getUses(), isFactor) ||
           (isYielded(op->getResult(0)) && llvm::any_of(op->getOperands(), tileType));
  }

  bool cheaperInBuffer(Operation *op) {
    double cost = costOf(op->getResult(0));
    double uses = 0;
    for (Operation *user : op->getResult(0).getUsers())
      uses += frequency(user) / frequency(op);
    return uses * cost > cost + 1 + uses;
  }

  // Returns the cost of computing one vector of `value` at its use.
  double costOf(Value value) {
    Operation *op = value.getDefiningOp();
    if (!tileType(value) || !op || op->hasAttr(kBufferAttr) || op->getNumRegions())
      return tileType(value) ? 1 : 0;
    auto [it, inserted] = costs_.try_emplace(value, 0);
    if (!inserted)
      return it->second;
    double cost = ownCost(op);
    for (Value operand : op->getOperands())
      cost += costOf(operand);
    return costs_[value] = cost;
  }

  const Orders &orders_;
  const LoadOrders &loadOrders_;
  DenseMap<Value, double> costs_;
};

//===-- In place -------------------------------------------------------------------------------------------------===//

/// Returns true if every computation that reads `value`, directly or through recomputed values, is `last` or comes
/// before it. `last`, which is elementwise or a dot, may read only the element that it writes next.
bool isReadOnlyUpTo(Value value, Operation *last, bool samePosition) {
  for (OpOperand &use : value.getUses()) {
    Operation *user = use.getOwner();
    if (isa<scf::YieldOp>(user))
      return false;
    if (user == last) {
      if (!samePosition || isFactor(use))
        return false;
      continue;
    }
    bool recomputed = user->getNumRegions() == 0 && user->getNumResults() == 1 && !user->hasAttr(kBufferAttr);
    if (recomputed) {
      if (!isReadOnlyUpTo(user->getResult(0), last, samePosition && isElementwise(user)))
        return false;
      continue;
    }
    Operation *ancestor = last->getBlock()->findAncestorOpInBlock(*user);
    if (!ancestor || !ancestor->isBeforeInBlock(last))
      return false;
  }
  return true;
}

void markInPlace(scf::ForOp loop) {
  auto orders = loop->getAttrOfType<ArrayAttr>(kBuffersAttr);
  for (auto [i, arg, yielded] : llvm::enumerate(loop.getRegionIterArgs(), loop.getYieldedValues())) {
    Operation *op = yielded.getDefiningOp();
    if (!tileType(arg) || !op || op->getBlock() != loop.getBody())
      continue;
    // The orders differ if a transpose in the loop leads back to the carried tile. A dot's operands fit one order only.
    if ((!isElementwise(op) && !isa<tile::DotOp>(op)) || op->getAttr(kBufferAttr) != orders[i])
      continue;
    if (llvm::count_if(yielded.getUses(), [](OpOperand &use) { return isa<scf::YieldOp>(use.getOwner()); }) == 1 &&
        isReadOnlyUpTo(arg, op, /*samePosition=*/true))
      op->setAttr(kInPlaceAttr, UnitAttr::get(loop.getContext()));
  }
}

//===-- Alias ----------------------------------------------------------------------------------------------------===//

/// The elements of the widest vector register.
constexpr int64_t kMostLanes = 16;

/// Returns true if a dot in the load's block reads a loaded tile about once. A copy would then wait for memory, and
/// leave memory idle while the dot runs.
bool isReadOnce(tile::LoadOp load, OpOperand &use) {
  auto dot = dyn_cast<tile::DotOp>(use.getOwner());
  if (!dot || !isFactor(use) || dot->hasAttr(kPackAttr) || dot->getBlock() != load->getBlock())
    return false;
  const int otherSide = &use == &dot.getLhsMutable() ? 1 : 0;
  return tileType(dot.getResult()).getDimSize(otherSide) <= kFewRows;
}

/// Returns true if a dot reads whole vectors of a factor.
bool isReadInVectors(OpOperand &factor) {
  auto dot = cast<tile::DotOp>(factor.getOwner());
  const Order result = toOrder(dot->getAttrOfType<StringAttr>(kBufferAttr).getValue());
  return llvm::any_of(vectorOperands(dot, result), [&](VectorOperand vector) { return vector.operand == &factor; });
}

/// Returns true if all iterations of `loop` compute the same `value`. Skips ops that were `seen`.
bool isInvariant(Value value, scf::ForOp loop, DenseSet<Operation *> &seen) {
  Operation *op = value.getDefiningOp();
  if (loop.isDefinedOutsideOfLoop(value) || (op && !seen.insert(op).second))
    return true;
  return op && op->getNumRegions() == 0 &&
         llvm::all_of(op->getOperands(), [&](Value operand) { return isInvariant(operand, loop, seen); });
}

/// Returns true if the next iteration of a loop loads the rows that follow.
bool isContinued(tile::LoadOp load) {
  auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
  DenseSet<Operation *> seen;
  return loop && load.getPosition().front() == loop.getInductionVar() &&
         getConstantIntValue(loop.getStep()) == tileType(load.getResult()).getDimSize(0) &&
         isInvariant(load.getPosition().back(), loop, seen) && isInvariant(load.getView(), loop, seen);
}

/// Lets dots read the tensor instead of a copy. Narrow floats are widened where they are read, in vectors.
void markAlias(tile::LoadOp load) {
  RankedTensorType type = tileType(load.getResult());
  auto order = load->getAttrOfType<StringAttr>(kBufferAttr);
  const bool isF32 = type.getElementType().isF32(), isNarrow = tile::isNarrowFloat(type.getElementType());
  if (type.getRank() == 2 && (isF32 || (isNarrow && !load.getFillAttr())) && type.getDimSize(1) % kMostLanes == 0 &&
      toOrder(order.getValue()) == Order::Row && tile::isReadOnly(load.getView()) &&
      llvm::all_of(load->getUses(),
                   [&](OpOperand &use) { return isReadOnce(load, use) && (isF32 || isReadInVectors(use)); }))
    load->setAttr(kAliasAttr, UnitAttr::get(load.getContext()));
  if (load->hasAttr(kAliasAttr) && isContinued(load))
    load->setAttr(kContinuesAttr, UnitAttr::get(load.getContext()));
}

struct PlanBuffersPass : impl::PlanBuffersBase<PlanBuffersPass> {
  void runOnOperation() override {
    Orders orders = chooseOrders(getOperation());
    LoadOrders loadOrders;
    Clones clones = fixVectorOperands(getOperation(), orders, loadOrders);
    shareClones(getOperation(), clones, loadOrders);
    eraseUnusedLoads();
    BufferDecision decision(orders, loadOrders);
    getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) { decision.decide(op); });
    getOperation().walk([](scf::ForOp loop) { markInPlace(loop); });
    getOperation().walk([](tile::LoadOp load) { markAlias(load); });
  }

  void eraseUnusedLoads() {
    getOperation().walk([](tile::LoadOp load) {
      if (load->use_empty())
        load->erase();
    });
  }
};

} // namespace

} // namespace tegula::cpu
