// SPDX-License-Identifier: MIT
// Lowering of reductions, which combine elements within a thread, then between lanes, then between warps, and of
// tile.any.
#include "compiler/cuda/threads/lower/Lower.h"
#include "compiler/tile/Walks.h"

#include "llvm/Support/MathExtras.h"

#include <map>

using namespace mlir;
using namespace tegula;
using namespace tegula::cuda;

void cuda::exchangeBetweenWarps(Threads &t, ArrayRef<Value> values, const sm::DigitAlong &digit,
                                function_ref<void(size_t, LoadOfWarp)> take) {
  constexpr int64_t bytes = 4, row = sm::kWarpSize * bytes;
  const int64_t plane = t.warps() * row;
  Scalars &s = t.s;
  Value lane = s.add(t.scratch(static_cast<int64_t>(values.size()) * plane), s.mul(t.lane(), bytes));
  Value own = s.add(lane, s.mul(t.warp(), row));
  for (auto [i, value] : llvm::enumerate(values))
    t.gpu.storeShared(value, s.add(own, static_cast<int64_t>(i) * plane));
  t.barrier();
  Value number = s.mul(s.rem(s.div(t.warp(), digit.weight), digit.size), digit.weight);
  Value first = s.add(lane, s.mul(s.sub(t.warp(), number), row));
  for (auto [i, value] : llvm::enumerate(values))
    take(i, [&, i = i, type = value.getType()](int64_t warp) {
      Value address = s.add(first, static_cast<int64_t>(i) * plane + warp * digit.weight * row);
      return t.gpu.loadShared(type, 1, address).front();
    });
  t.barrier();
}

namespace {

class Reduction {
public:
  template <typename Op>
  Reduction(Threads &t, Op op)
      : t_(t), kind_(op.getKind()), tile_(op.getSource()), source_(cast<RankedTensorType>(tile_.getType())),
        axis_(op.getAxis()) {}

  /// Reduces the thread's own elements to one value for each register of `result`. The axis has been removed from
  /// `result`, or has one element for each thread.
  SmallVector<Value> withinThread(RankedTensorType result) {
    auto besideAxis = [&](RankedTensorType tile, unsigned reg) {
      sm::Coordinates at = registerOffset(tile, reg);
      if (tile.getRank() == source_.getRank())
        at.erase(at.begin() + axis_);
      return at;
    };
    std::map<sm::Coordinates, SmallVector<Value>> groups;
    for (auto [reg, value] : llvm::enumerate(t_.registers(tile_)))
      groups[besideAxis(source_, reg)].push_back(t_.insideOr(source_, reg, axis_, value, identity()));
    SmallVector<Value> sums;
    for (unsigned reg = 0; reg < registerCount(result); ++reg)
      sums.push_back(treeOf(groups.at(besideAxis(result, reg))));
    return sums;
  }

  void betweenLanes(MutableArrayRef<Value> sums) {
    for (const sm::DigitAlong &digit : sm::digitsAlong(sm::layoutOf(source_).getLanes(), axis_))
      for (int64_t mask = digit.weight; mask < digit.weight * digit.size; mask *= 2)
        for (Value &sum : sums)
          sum = combine(sum, t_.gpu.shuffleXor(sum, mask));
  }

  /// All warps combine in the same order, so replicas stay equal.
  void betweenWarps(MutableArrayRef<Value> sums) {
    constexpr size_t atOnce = 8; // Bounds the scratch memory.
    for (const sm::DigitAlong &digit : sm::digitsAlong(sm::layoutOf(source_).getWarps(), axis_))
      for (MutableArrayRef<Value> rest = sums; !rest.empty(); rest = rest.drop_front(std::min(atOnce, rest.size())))
        exchangeBetweenWarps(t_, rest.take_front(atOnce), digit, [&](size_t i, LoadOfWarp load) {
          rest[i] = treeOf(llvm::map_to_vector(llvm::seq(digit.size), load));
        });
  }

private:
  Value combine(Value x, Value y) {
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

  TypedAttr identity() {
    auto identityOf = [&](arith::AtomicRMWKind ofFloats, arith::AtomicRMWKind ofIntegers) {
      return arith::getIdentityValueAttr(isa<FloatType>(element()) ? ofFloats : ofIntegers, element(), t_.b,
                                         t_.b.getLoc(), /*useOnlyFiniteValue=*/false);
    };
    switch (kind_) {
    case tile::Reduction::Add:
      return identityOf(arith::AtomicRMWKind::addf, arith::AtomicRMWKind::addi);
    case tile::Reduction::Max:
      return identityOf(arith::AtomicRMWKind::maximumf, arith::AtomicRMWKind::maxs);
    case tile::Reduction::Min:
      return identityOf(arith::AtomicRMWKind::minimumf, arith::AtomicRMWKind::mins);
    }
  }

  /// Combines the values as a tree. Takes three at a time if sm_90 has an instruction for it (VIMNMX3).
  Value treeOf(SmallVector<Value> values) {
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

  Type element() const { return source_.getElementType(); }

  Threads &t_;
  tile::Reduction kind_;
  Value tile_;
  RankedTensorType source_;
  unsigned axis_;
};

} // namespace

static void lower(Threads &t, tile::ReduceOp op) {
  Reduction reduction(t, op);
  SmallVector<Value> sums = reduction.withinThread(cast<RankedTensorType>(op.getType()));
  reduction.betweenLanes(sums);
  reduction.betweenWarps(sums);
  t.define(op, sums);
}

static void lower(Threads &t, sm::PartialReduceOp op) { t.define(op, Reduction(t, op).withinThread(op.getType())); }

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
  return !tile::anyOp(*branch, [](Operation *inside) {
    return inside->getNumRegions() == 0 && (sm::meetsOtherWarps(inside) || !sm::onlyReads(inside));
  });
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
static void lower(Threads &t, tile::AnyOp op) {
  SetVector<Operation *> branches;
  const bool isForWarps = findBranches(op, branches) && llvm::all_of(branches, [&](Operation *branch) {
                            return isBranchOfWarps(branch) && isOfRows(branch, op.getCondition());
                          });
  if (!isForWarps && !isOneNumber(op.getCondition())) {
    t.define(op, t.s.i1(true));
    return;
  }
  Value any;
  for (Value holds : t.registers(op.getCondition()))
    any = any ? t.s.bitOr(any, holds) : holds;
  t.define(op, t.gpu.anyLane(any));
}

void cuda::addReductionLowerings(Lowerings &known) {
  known.add<tile::ReduceOp, sm::PartialReduceOp, tile::AnyOp>([](Threads &t, auto op) { return lower(t, op); });
}
