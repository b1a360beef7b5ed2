// SPDX-License-Identifier: MIT
// Lowering of reductions, which combine elements within a thread, then between lanes, then between warps, and of
// tile.any.
#include "compiler/cuda/threads/lower/Lower.h"

#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

namespace {

class Reduction {
public:
  template <typename Op>
  Reduction(Threads &t, Op op)
      : t_(t), kind_(op.getKind()), tile_(op.getSource()), source_(cast<RankedTensorType>(tile_.getType())),
        axis_(op.getAxis()) {}

  /// Reduces the thread's own elements to one value for each register of `result`. The axis has been removed from
  /// `result`, or has one element for each thread.
  SmallVector<Value> withinThread(RankedTensorType result);
  void betweenLanes(MutableArrayRef<Value> sums);
  void betweenWarps(MutableArrayRef<Value> sums);

private:
  Type element() const { return source_.getElementType(); }
  Value combine(Value x, Value y);
  Value identity();
  Value treeOf(SmallVector<Value> values);

  void exchange(MutableArrayRef<Value> sums, const sm::Digit &digit, int64_t weight);

  Threads &t_;
  tile::Reduction kind_;
  Value tile_;
  RankedTensorType source_;
  unsigned axis_;
};

} // namespace

//===-- Arithmetic -----------------------------------------------------------------------------------------------===//

Value Reduction::combine(Value x, Value y) {
  bool isFloat = isa<FloatType>(element());
  switch (kind_) {
  case tile::Reduction::Add:
    return isFloat ? Value(arith::AddFOp::create(t_.b, x, y)) : arith::AddIOp::create(t_.b, x, y);
  case tile::Reduction::Max:
    return isFloat ? Value(arith::MaxNumFOp::create(t_.b, x, y)) : arith::MaxSIOp::create(t_.b, x, y);
  case tile::Reduction::Min:
    return isFloat ? Value(arith::MinNumFOp::create(t_.b, x, y)) : arith::MinSIOp::create(t_.b, x, y);
  }
}

Value Reduction::identity() {
  arith::AtomicRMWKind kind;
  bool isFloat = isa<FloatType>(element());
  switch (kind_) {
  case tile::Reduction::Add:
    kind = isFloat ? arith::AtomicRMWKind::addf : arith::AtomicRMWKind::addi;
    break;
  case tile::Reduction::Max:
    kind = isFloat ? arith::AtomicRMWKind::maximumf : arith::AtomicRMWKind::maxs;
    break;
  case tile::Reduction::Min:
    kind = isFloat ? arith::AtomicRMWKind::minimumf : arith::AtomicRMWKind::mins;
    break;
  }
  return arith::getIdentityValue(kind, element(), t_.b, t_.b.getLoc(), /*useOnlyFiniteValue=*/false);
}

/// Combines the values as a tree. Takes three at a time if sm_90 has an instruction for it (VIMNMX3).
Value Reduction::treeOf(SmallVector<Value> values) {
  const size_t arity = kind_ != tile::Reduction::Add && isa<IntegerType>(element()) ? 3 : 2;
  while (values.size() > 1) {
    SmallVector<Value> fewer;
    for (ArrayRef<Value> rest = values; !rest.empty(); rest = rest.drop_front(std::min(arity, rest.size()))) {
      Value result = rest.front();
      for (Value value : rest.take_front(arity).drop_front())
        result = combine(result, value);
      fewer.push_back(result);
    }
    values = std::move(fewer);
  }
  return values.front();
}

//===-- Steps ----------------------------------------------------------------------------------------------------===//

SmallVector<Value> Reduction::withinThread(RankedTensorType result) {
  auto besideAxis = [&](RankedTensorType tile, unsigned reg) {
    sm::Coordinates at = registerOffset(tile, reg);
    if (tile.getRank() == source_.getRank())
      at.erase(at.begin() + axis_);
    return at;
  };
  std::map<sm::Coordinates, SmallVector<Value>> groups;
  for (auto [reg, value] : llvm::enumerate(t_.registers(tile_))) {
    Value isElement = t_.inside(source_, reg, axis_);
    groups[besideAxis(source_, reg)].push_back(isElement ? t_.s.select(isElement, value, identity()) : value);
  }
  SmallVector<Value> sums;
  for (unsigned reg = 0; reg < registerCount(result); ++reg)
    sums.push_back(treeOf(groups.at(besideAxis(result, reg))));
  return sums;
}

void Reduction::betweenLanes(MutableArrayRef<Value> sums) {
  int64_t weight = 1;
  for (const sm::Digit &digit : sm::layoutOf(source_).getLanes()) {
    if (digit.dim == static_cast<int32_t>(axis_))
      for (int64_t mask = weight; mask < weight * digit.size; mask *= 2)
        for (Value &sum : sums)
          sum = combine(sum, t_.gpu.shuffleXor(sum, mask));
    weight *= digit.size;
  }
}

void Reduction::betweenWarps(MutableArrayRef<Value> sums) {
  constexpr size_t atOnce = 8; // Bounds the scratch memory.
  int64_t weight = 1;
  for (const sm::Digit &digit : sm::layoutOf(source_).getWarps()) {
    if (digit.dim == static_cast<int32_t>(axis_))
      for (size_t first = 0; first < sums.size(); first += atOnce)
        exchange(sums.slice(first, std::min(atOnce, sums.size() - first)), digit, weight);
    weight *= digit.size;
  }
}

/// Combines the values of warps that differ only in one digit of their number, through scratch memory. All these warps
/// combine in the same order, so replicas stay equal.
void Reduction::exchange(MutableArrayRef<Value> sums, const sm::Digit &digit, int64_t weight) {
  constexpr int64_t bytes = 4, row = sm::kWarpSize * bytes;
  int64_t plane = t_.warps() * row;
  Scalars &s = t_.s;
  Value lane = s.add(t_.scratch(static_cast<int64_t>(sums.size()) * plane), s.mul(t_.lane(), bytes));
  Value own = s.add(lane, s.mul(t_.warp(), row));
  for (auto [i, sum] : llvm::enumerate(sums))
    t_.gpu.storeShared(sum, s.add(own, static_cast<int64_t>(i) * plane));
  t_.barrier();
  Value number = s.mul(s.rem(s.div(t_.warp(), weight), digit.size), weight);
  Value first = s.add(lane, s.mul(s.sub(t_.warp(), number), row));
  for (auto [i, sum] : llvm::enumerate(sums)) {
    SmallVector<Value> held;
    for (int64_t warp = 0; warp < digit.size; ++warp) {
      Value address = s.add(first, static_cast<int64_t>(i) * plane + warp * weight * row);
      held.push_back(t_.gpu.loadShared(element(), 1, address).front());
    }
    sum = treeOf(held);
  }
  t_.barrier();
}

static LogicalResult lower(Threads &t, tile::ReduceOp op) {
  Reduction reduction(t, op);
  SmallVector<Value> sums = reduction.withinThread(cast<RankedTensorType>(op.getType()));
  reduction.betweenLanes(sums);
  reduction.betweenWarps(sums);
  t.define(op, sums);
  return success();
}

static LogicalResult lower(Threads &t, sm::PartialReduceOp op) {
  t.define(op, Reduction(t, op).withinThread(op.getType()));
  return success();
}

//===-- Conditions -----------------------------------------------------------------------------------------------===//

/// Adds the branches and selects that depend on the condition: those that it guards, alone or together with other
/// conditions, and those that are guarded by a condition that such a branch returns. Returns false if anything else
/// uses the condition.
static bool findBranches(Value condition, SetVector<Operation *> &branches) {
  return llvm::all_of(condition.getUses(), [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto yield = dyn_cast<scf::YieldOp>(user); yield && isa<scf::IfOp>(yield->getParentOp()))
      return findBranches(yield->getParentOp()->getResult(use.getOperandNumber()), branches);
    if (isa<arith::AndIOp, arith::OrIOp>(user))
      return findBranches(user->getResult(0), branches);
    if (!isa<scf::IfOp, arith::SelectOp>(user))
      return false;
    branches.insert(user);
    return llvm::all_of(user->getResults(),
                        [&](Value result) { return !result.getType().isInteger(1) || findBranches(result, branches); });
  });
}

/// Returns true if one warp may execute the branch while others do not.
static bool isBranchOfWarps(Operation *branch) {
  WalkResult search = branch->walk([](Operation *inside) {
    const bool isAlone = !sm::meetsOtherWarps(inside) && sm::onlyReads(inside);
    return inside->getNumRegions() || isAlone ? WalkResult::advance() : WalkResult::interrupt();
  });
  return !search.wasInterrupted();
}

/// Returns the warp digits of a tile for its first dimension, the rows. Digits of other dimensions count as replicas.
static sm::Digits rowsOfWarps(Value tile) {
  sm::Digits rows;
  for (const sm::Digit &digit : sm::layoutOf(tile).getWarps()) {
    if (digit.dim == 0 || rows.empty() || rows.back().dim == 0)
      rows.push_back(digit.dim == 0 ? digit : sm::Digit{sm::Digit::replicas, digit.size, 0});
    else
      rows.back().size *= digit.size;
  }
  return rows;
}

/// Returns true if each warp has whole rows of the condition, and the same rows of the branch's results.
static bool isOfRows(Operation *branch, Value condition) {
  auto isOfRow = [](const sm::Digit &digit) { return digit.dim > 0; };
  return llvm::none_of(sm::layoutOf(condition).getWarps(), isOfRow) &&
         llvm::all_of(branch->getResults(), [&](Value result) {
           return !isa<RankedTensorType>(result.getType()) || rowsOfWarps(result) == rowsOfWarps(condition);
         });
}

/// Returns true if a tile has a single element, which all warps hold.
static bool isOneNumber(Value tile) {
  return cast<RankedTensorType>(tile.getType()).getNumElements() == 1 &&
         llvm::all_of(sm::layoutOf(tile).getWarps(),
                      [](const sm::Digit &digit) { return digit.dim == sm::Digit::replicas; });
}

/// Emits a vote of each warp on its own elements, if every use guards a branch in which each warp works alone on its
/// own rows. Otherwise a warp could miss a barrier, or decide about rows of other warps, and the result is constant
/// true. A condition with a single element always gets a vote, because all warps vote alike.
static LogicalResult lower(Threads &t, tile::AnyOp op) {
  SetVector<Operation *> branches;
  const bool isForWarps = findBranches(op, branches) && llvm::all_of(branches, [&](Operation *branch) {
                            return isBranchOfWarps(branch) && isOfRows(branch, op.getCondition());
                          });
  if (!isForWarps && !isOneNumber(op.getCondition())) {
    t.define(op, t.s.i1(true));
    return success();
  }
  Value any;
  for (Value holds : t.registers(op.getCondition()))
    any = any ? t.s.bitOr(any, holds) : holds;
  t.define(op, t.gpu.anyLane(any));
  return success();
}

void cuda::addReductionLowerings(Lowerings &known) {
  known.add<tile::ReduceOp, sm::PartialReduceOp, tile::AnyOp>([](Threads &t, auto op) { return lower(t, op); });
}
