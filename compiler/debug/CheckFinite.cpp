// SPDX-License-Identifier: MIT
#include "compiler/debug/Passes.h"
#include "compiler/debug/StoredElements.h"
#include "compiler/debug/TileBuilder.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "llvm/ADT/StringSwitch.h"

#include <limits>

namespace tegula::debug {
#define GEN_PASS_DEF_CHECKFINITE
#include "compiler/debug/Passes.h.inc"
} // namespace tegula::debug

using namespace mlir;
using namespace tegula;
using namespace tegula::debug;

//===-- The program -----------------------------------------------------------------------------------------------===//

static bool isFloatTile(Value value) {
  auto tile = dyn_cast<RankedTensorType>(value.getType());
  return tile && isa<FloatType>(tile.getElementType());
}

static bool isElementwise(Operation *op) {
  return op->hasTrait<OpTrait::Elementwise>() && op->getNumResults() == 1 && isFloatTile(op->getResult(0));
}

/// Returns true for ops other than elementwise arithmetic that can make a NaN, or read one.
static bool isSource(Operation *op) {
  return isa<tile::LoadOp, tile::GatherOp, tile::DotOp, tile::ReduceOp, tile::CumsumOp, tile::SoftmaxUpdateOp,
             tile::SoftmaxOutputOp, tile::SoftmaxLseOp>(op);
}

/// Returns the name that the language has for an op.
static StringRef nameOf(Operation *op) {
  if (auto reduce = dyn_cast<tile::ReduceOp>(op))
    return reduce.getKind() == tile::Reduction::Add
               ? "reduceSum"
               : (reduce.getKind() == tile::Reduction::Max ? "reduceMax" : "reduceMin");
  StringRef name = op->getName().getStringRef();
  return llvm::StringSwitch<StringRef>(name)
      .Case("arith.addf", "+")
      .Cases({"arith.subf", "arith.negf"}, "-")
      .Case("arith.mulf", "*")
      .Case("arith.divf", "/")
      .Case("arith.minnumf", "min")
      .Case("arith.maxnumf", "max")
      .Cases({"arith.extf", "arith.truncf", "arith.sitofp", "arith.uitofp"}, "cast")
      .Case("math.absf", "abs")
      .Case("math.powf", "pow")
      .Case("tile.softmax_update", "OnlineSoftmax::update")
      .Case("tile.softmax_output", "OnlineSoftmax::output")
      .Case("tile.softmax_lse", "OnlineSoftmax::logSumExp")
      .Default(name.substr(name.find('.') + 1));
}

/// Returns true if a NaN that this use reads can only reach the result of elementwise arithmetic, or a decision.
static bool staysElementwise(OpOperand &use) {
  Operation *user = use.getOwner();
  return isElementwise(user) || isa<arith::CmpFOp, tile::PrintOp, tile::AssertOp>(user);
}

/// Returns the first op in the block of `tile` that, itself or inside it, does more with the tile than elementwise
/// arithmetic; null if there is none.
static Operation *firstEscape(Value tile) {
  Operation *first = nullptr;
  for (OpOperand &use : tile.getUses()) {
    if (staysElementwise(use))
      continue;
    Operation *user = tile.getParentBlock()->findAncestorOpInBlock(*use.getOwner());
    if (!first || user->isBeforeInBlock(first))
      first = user;
  }
  return first;
}

/// Appends the results, of the shape of `tile`, in which an element of it may have become NaN; operands come first.
static void findMakers(Value tile, SetVector<Value> &makers) {
  Operation *op = tile.getDefiningOp();
  if (!op || makers.contains(tile) || (!isElementwise(op) && !isSource(op)))
    return;
  if (isElementwise(op))
    for (Value operand : op->getOperands())
      if (isFloatTile(operand))
        findMakers(operand, makers);
  makers.insert(tile);
}

/// Returns where a store that may drop elements writes its tile; null if it writes all elements inside the view.
static Value whereWritten(TileBuilder &b, Operation *op) {
  if (auto store = dyn_cast<tile::StoreOp>(op))
    return store.getCondition();
  auto scatter = dyn_cast<tile::ScatterOp>(op);
  Value written;
  for (auto [axis, index] : llvm::enumerate(scatter ? scatter.getIndices() : ValueRange())) {
    auto type = RankedTensorType::get(cast<RankedTensorType>(index.getType()).getShape(), b.getIndexType());
    Value at = index.getType() == type ? index : arith::IndexCastOp::create(b, type, index).getResult();
    Value size = b.broadcast(tile::DimOp::create(b, b.getIndexType(), scatter.getView(), axis), type.getShape());
    Value inside = b.compare(arith::CmpIPredicate::ult, at, size);
    written = written ? b.both(written, inside) : inside;
  }
  return written;
}

/// Lets a store read 0 in the place of elements that it drops, which then count as discarded.
static void hideDropped(Operation *op) {
  TileBuilder b(op->getLoc(), op);
  if (op->getNumOperands() == 0 || !isFloatTile(op->getOperand(0)))
    return;
  if (Value written = whereWritten(b, op)) {
    Value tile = op->getOperand(0);
    Value zero = arith::ConstantOp::create(b, b.getZeroAttr(tile.getType()));
    op->setOperand(0, b.select(written, tile, zero));
  }
}

//===-- Tests -----------------------------------------------------------------------------------------------------===//

namespace {

class Test {
public:
  /// `where` is the op before which the builder stands.
  Test(TileBuilder &b, Value tile, Operation *where, bool infinities)
      : b(b), where_(where), tile_(tile), type_(cast<RankedTensorType>(tile.getType())), infinities_(infinities) {
    findMakers(tile_, makers_);
  }

  /// Emits the test and, in a branch, the report.
  void emit(StoredElements &stored, DominanceInfo &dominance) {
    bad_ = isBad(tile_);
    for (unsigned axis = 0; axis < type_.getRank(); ++axis)
      if (Value counts = countsAlong(axis, stored.along(tile_, axis), dominance))
        bad_ = b.both(bad_, counts);
    ifAny(bad_, [&] { report(); });
  }

private:
  RankedTensorType i32() { return b.i32Tile(type_.getShape()); }

  /// Emits a branch for which all warps decide alike: the count of true elements is one number, which all threads know.
  void ifAny(Value condition, function_ref<void()> emit) {
    RankedTensorType type = b.i32Tile(cast<RankedTensorType>(condition.getType()).getShape());
    Value count = b.reduce(tile::Reduction::Add, b.select(condition, b.splat(type, 1), b.splat(type, 0)));
    Value some = b.compare(arith::CmpIPredicate::sgt, count, b.splat(b.i32Tile(1), 0));
    auto branch = scf::IfOp::create(b, tile::AnyOp::create(b, some), /*withElseRegion=*/false);
    branch->setAttr(tile::rare, UnitAttr::get(branch.getContext()));
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    emit();
  }

  Value isNan(Value x) { return arith::CmpFOp::create(b, arith::CmpFPredicate::UNO, x, x); }
  /// Compares |x| with infinity.
  Value compareSize(Value x, arith::CmpFPredicate predicate) {
    auto type = cast<RankedTensorType>(x.getType());
    auto element = cast<FloatType>(type.getElementType());
    Value infinity = b.splat(type, FloatAttr::get(element, APFloat::getInf(element.getFloatSemantics())));
    return arith::CmpFOp::create(b, predicate, math::AbsFOp::create(b, x), infinity);
  }
  Value isBad(Value x) { return infinities_ ? compareSize(x, arith::CmpFPredicate::UGE) : isNan(x); }

  /// Returns where `maker`, a result, is NaN, or an infinity that its op has made from finite operands.
  Value isMade(Value maker) {
    Value nan = isNan(maker);
    if (!infinities_ || !isElementwise(maker.getDefiningOp()))
      return nan;
    Value made = compareSize(maker, arith::CmpFPredicate::OEQ);
    for (Value operand : maker.getDefiningOp()->getOperands())
      if (isFloatTile(operand))
        made = b.both(made, compareSize(operand, arith::CmpFPredicate::OLT));
    return arith::OrIOp::create(b, nan, made);
  }

  /// Returns `x`, a scalar or a view, or a copy of it that is defined before the test; null if there is none.
  Value before(Value x, DominanceInfo &dominance) {
    Operation *op = x.getDefiningOp();
    if (dominance.properlyDominates(x, where_))
      return x;
    if (!op || !isPure(op) || op->getNumRegions())
      return {};
    IRMapping mapping;
    for (Value operand : op->getOperands()) {
      Value known = before(operand, dominance);
      if (!known)
        return {};
      mapping.map(operand, known);
    }
    return b.clone(*op, mapping)->getResult(0);
  }

  /// Returns where the coordinate along `axis` can reach memory; null if all can, or if it is not known.
  Value countsAlong(unsigned axis, const AxisUse &use, DominanceInfo &dominance) {
    Value counts;
    for (auto [store, ofStore] : use.stores) {
      if (use.all)
        return {};
      Value position = before(store->getOperand(2 + ofStore), dominance);
      Value view = before(store->getOperand(1), dominance);
      if (!position || !view)
        return {};
      Value inside = insideOf(axis, position, tile::DimOp::create(b, b.getIndexType(), view, ofStore));
      counts = counts ? arith::OrIOp::create(b, counts, inside).getResult() : inside;
    }
    return counts;
  }

  /// Returns where the coordinate along `axis`, plus `position`, is inside a dimension.
  Value insideOf(unsigned axis, Value position, Value dimension) {
    Value none = b.index(0), all = b.index(type_.getDimSize(axis));
    auto limit = [&](Value x) -> Value {
      Value clamped = arith::MinSIOp::create(b, arith::MaxSIOp::create(b, x, none), all);
      return b.broadcast(arith::IndexCastOp::create(b, b.getI32Type(), clamped), type_.getShape());
    };
    Value at = b.positions(type_.getShape(), axis);
    return b.both(b.compare(arith::CmpIPredicate::sge, at, limit(b.sub(none, position))),
                  b.compare(arith::CmpIPredicate::slt, at, limit(b.sub(dimension, position))));
  }

  /// Emits one report, of the first maker of a bad element. The smallest key tells the maker and the element.
  void report() {
    const int64_t elements = type_.getNumElements();
    Value indices = b.indices(type_.getShape());
    Value keys = b.splat(i32(), std::numeric_limits<int32_t>::max());
    for (size_t maker = makers_.size(); maker-- > 0;) {
      Value key = b.add(indices, b.splat(i32(), static_cast<int64_t>(maker) * elements));
      keys = b.select(b.both(bad_, isMade(makers_[maker])), key, keys);
    }
    Value first = b.reduce(tile::Reduction::Min, keys);
    for (auto [number, maker] : llvm::enumerate(makers_)) {
      Value index = b.sub(first, b.splat(b.i32Tile(1), static_cast<int64_t>(number) * elements));
      Value isElement = b.compare(arith::CmpIPredicate::ult, index, b.splat(b.i32Tile(1), elements));
      ifAny(isElement, [&] { reportElement(maker, index, indices); });
    }
  }

  void reportElement(Value maker, Value index, Value indices) {
    Location around = b.getLoc();
    b.setLoc(maker.getLoc());
    auto f32 = RankedTensorType::get(type_.getShape(), b.getF32Type());
    Value wide = maker.getType() == f32 ? maker : arith::ExtFOp::create(b, f32, maker).getResult();
    SmallVector<int64_t> ones(type_.getRank(), 1);
    Value only = type_.getRank() == 1 ? index : tile::ReshapeOp::create(b, b.i32Tile(ones), index).getResult();
    Value isIt = b.compare(arith::CmpIPredicate::eq, indices, b.broadcast(only, type_.getShape()));
    Value bits = b.select(isIt, arith::BitcastOp::create(b, i32(), wide), b.splat(i32(), 0));
    tile::ReportElementOp::create(b, nameOf(maker.getDefiningOp()), index, b.reduce(tile::Reduction::Add, bits),
                                  maker.getType());
    b.setLoc(around);
  }

  TileBuilder &b;
  Operation *where_;
  Value tile_, bad_;
  RankedTensorType type_;
  bool infinities_;
  SetVector<Value> makers_;
};

struct CheckFinite : debug::impl::CheckFiniteBase<CheckFinite> {
  using CheckFiniteBase::CheckFiniteBase;

  void runOnOperation() override {
    getOperation().walk([](Operation *op) {
      if (isa<tile::StoreOp, tile::ScatterOp>(op))
        hideDropped(op);
    });
    StoredElements stored(getOperation());
    SmallVector<std::pair<Value, Operation *>> tests;
    getOperation().walk([&](Operation *op) {
      for (Value result : op->getResults())
        if (isFloatTile(result) && (isElementwise(op) || isSource(op)))
          if (Operation *where = firstEscape(result))
            tests.push_back({result, where});
    });
    DominanceInfo dominance(getOperation());
    for (auto [tile, where] : tests) {
      TileBuilder b(tile.getLoc(), where);
      Test(b, tile, where, infinities).emit(stored, dominance);
    }
  }
};

} // namespace
