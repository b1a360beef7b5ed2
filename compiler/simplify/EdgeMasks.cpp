// SPDX-License-Identifier: MIT
#include "compiler/simplify/AffineTile.h"
#include "compiler/simplify/Passes.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Pass/Pass.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_EDGEMASKS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

using LocBuilder = ImplicitLocOpBuilder;

/// Below this a mask costs no more than the branch around it.
constexpr int64_t smallestTile = 256;

namespace {
/// Where a term can fail: terms that fail at other tiles have a branch each.
enum class Side : uint8_t {
  lower, ///< It holds for columns behind one.
  upper, ///< For those before one.
  any,   ///< A scalar says.
};

/// Some compares of a mask, and what tells that all of them hold for the whole tile: an affine tile that is at most 0,
/// or a scalar that is true.
struct EdgeTerm {
  Side side;
  std::optional<AffineTile> bound;
  Value scalar;
  SmallVector<Value> compares;

  bool has(Value compare) const { return is_contained(compares, compare); }

  Value holdsEverywhere(LocBuilder &b) const {
    if (scalar)
      return scalar;
    auto [below, above] = bound->sides(b);
    return arith::CmpIOp::create(b, arith::CmpIPredicate::sle, below, above);
  }
};

/// The conjunction that decides one select. Told from the rest of it are compares of affine tiles, and terms that a
/// scalar makes true for the whole tile: `or` of that scalar and a tile.
class EdgeMask {
public:
  explicit EdgeMask(Value mask) : mask_(mask) { collect(mask); }

  /// Whether there are such terms, and they may hold for a whole tile.
  bool isWorthTesting() const { return !terms_.empty() && !neverUniform_; }

  auto terms(Side side) const {
    return llvm::make_filter_range(terms_, [=](const EdgeTerm &term) { return term.side == side; });
  }

  /// The mask without these terms; null if nothing is left.
  Value remainder(LocBuilder &b) const {
    Kept kept;
    return keep(b, mask_, [&](Value compare) { return isEdge(compare) ? Value() : compare; }, kept);
  }

  /// The mask with nothing but the terms of this side, computed at `b`, `mayAllHold` or not.
  Value only(LocBuilder &b, Side side, bool mayAllHold) {
    Kept kept;
    IRMapping copies;
    auto chosen = terms(side);
    const bool isScalarFalse = !mayAllHold && side == Side::any && llvm::hasSingleElement(chosen);
    auto choose = [&](Value compare) {
      if (llvm::none_of(chosen, [&](const EdgeTerm &term) { return term.has(compare); }))
        return Value();
      if (side == Side::any)
        return recomputeHere(b, isScalarFalse ? scalarOr(compare).tile : compare, copies);
      return recompute(b, compare, copies);
    };
    return keep(b, mask_, choose, kept);
  }

private:
  using Kept = DenseMap<Value, Value>; // of conjunctions; null where nothing is kept

  /// The scalar of which all elements are copies, if `tile` is such a tile.
  static Value repeatedScalar(Value tile) {
    Operation *op = tile.getDefiningOp();
    if (!isa_and_present<tile::BroadcastOp, tile::ReshapeOp>(op))
      return {};
    Value source = op->getOperand(0);
    return isa<RankedTensorType>(source.getType()) ? repeatedScalar(source) : source;
  }

  /// What a tile is the `or` of, if one is a scalar, which makes the whole tile true; nulls if none is.
  struct ScalarOr {
    Value scalar, tile;
  };
  static ScalarOr scalarOr(Value value) {
    auto either = value.getDefiningOp<arith::OrIOp>();
    if (!either)
      return {};
    for (auto [one, other] : {std::pair(either.getLhs(), either.getRhs()), {either.getRhs(), either.getLhs()}})
      if (Value scalar = repeatedScalar(one))
        return {scalar, other};
    return {};
  }

  void collect(Value value) {
    if (!seen_.insert(value).second)
      return;
    Operation *op = value.getDefiningOp();
    if (isConjunction(op))
      llvm::for_each(op->getOperands(), [&](Value operand) { collect(operand); });
    else if (Value scalar = scalarOr(value).scalar)
      terms_.push_back({Side::any, {}, scalar, {value}});
    else if (std::optional<AffineTile> excess = tiles_.excess(value))
      addBound(excess->largest(cast<RankedTensorType>(value.getType()).getShape()), value,
               excess->steps().back() < 0 ? Side::lower : Side::upper);
  }

  /// Of bounds that differ by a constant the tightest implies the others.
  void addBound(AffineTile bound, Value compare, Side side) {
    if (bound.isConstant()) {
      neverUniform_ |= bound.constant() > 0;
      alwaysTrue_.insert(compare);
      return;
    }
    auto same = llvm::find_if(
        terms_, [&](const EdgeTerm &term) { return term.bound && bound.minus(*term.bound).isConstant(); });
    if (same == terms_.end()) {
      terms_.push_back({side, std::move(bound), {}, {compare}});
      return;
    }
    same->compares.push_back(compare);
    if (bound.constant() > same->bound->constant())
      same->bound = std::move(bound);
  }

  bool isEdge(Value compare) const {
    return alwaysTrue_.contains(compare) ||
           llvm::any_of(terms_, [&](const EdgeTerm &term) { return term.has(compare); });
  }

  /// What is left of the conjunction `value` if `choose` gives what stands for a compare, null for nothing.
  static Value keep(LocBuilder &b, Value value, function_ref<Value(Value)> choose, Kept &kept) {
    Operation *op = value.getDefiningOp();
    if (!isConjunction(op))
      return choose(value);
    if (auto it = kept.find(value); it != kept.end())
      return it->second;
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      if (Value left = keep(b, operand, choose, kept))
        operands.push_back(left);
    const bool isWhole = operands.size() == op->getNumOperands();
    return kept[value] = isWhole ? cloneWith(b, op, operands) : operands.empty() ? Value() : operands.front();
  }

  /// Compares that are not affine are not moved.
  Value recompute(LocBuilder &b, Value value, IRMapping &copies) {
    if (Value copy = copies.lookupOrNull(value))
      return copy;
    bool isScalar = !isa<RankedTensorType>(value.getType());
    bool isCompare = seen_.contains(value) && tiles_.excess(value);
    if (isScalar || (!isCompare && !tiles_.find(value)))
      return value;
    return copy(b, value, copies, [&](Value operand) { return recompute(b, operand, copies); });
  }

  /// All of `value` that is computed in the block of the mask.
  Value recomputeHere(LocBuilder &b, Value value, IRMapping &copies) {
    if (Value copy = copies.lookupOrNull(value))
      return copy;
    Operation *op = value.getDefiningOp();
    if (!isa<RankedTensorType>(value.getType()) || value.getParentBlock() != mask_.getParentBlock() || !op ||
        op->getNumRegions() != 0 || !isMemoryEffectFree(op))
      return value;
    return copy(b, value, copies, [&](Value operand) { return recomputeHere(b, operand, copies); });
  }

  static Value copy(LocBuilder &b, Value value, IRMapping &copies, function_ref<Value(Value)> ofOperand) {
    SmallVector<Value> operands = llvm::map_to_vector(value.getDefiningOp()->getOperands(), ofOperand);
    copies.map(value, cloneWith(b, value.getDefiningOp(), operands));
    return copies.lookup(value);
  }

  static Value cloneWith(LocBuilder &b, Operation *op, ArrayRef<Value> operands) {
    Operation *clone = b.clone(*op);
    clone->setOperands(operands);
    return clone->getResult(0);
  }

  Value mask_;
  AffineTiles tiles_;
  DenseSet<Value> seen_; // the mask and what it is the conjunction of
  SmallVector<EdgeTerm> terms_;
  DenseSet<Value> alwaysTrue_; // compares
  bool neverUniform_ = false;  // a constant bound is above 0
};
} // namespace

static scf::IfOp branchOn(LocBuilder &b, Value condition, function_ref<Value()> then, function_ref<Value()> otherwise,
                          Type type) {
  auto branch = scf::IfOp::create(b, type, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(b, then());
  b.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(b, otherwise());
  return branch;
}

/// Of a branch whose second side is right in any case.
static void markFastPath(scf::IfOp branch) { branch->setAttr(tile::fastPath, UnitAttr::get(branch.getContext())); }

static void branchOnEdge(arith::SelectOp select) {
  EdgeMask mask(select.getCondition());
  if (!mask.isWorthTesting())
    return;
  LocBuilder b(select.getLoc(), select);
  auto masked = [&](Value by, Value tile) -> Value {
    return by ? arith::SelectOp::create(b, by, tile, select.getFalseValue()) : tile;
  };
  SmallVector<std::pair<Side, Value>> sides; // and what tells that they hold everywhere
  Value inside;
  auto both = [&](Value one, Value other) { return one ? Value(arith::AndIOp::create(b, one, other)) : other; };
  for (Side side : {Side::lower, Side::upper, Side::any}) {
    Value holds;
    for (const EdgeTerm &term : mask.terms(side))
      holds = both(holds, term.holdsEverywhere(b));
    if (!holds)
      continue;
    sides.push_back({side, holds});
    inside = both(inside, holds);
  }

  auto unmasked = [&] { return masked(mask.remainder(b), select.getTrueValue()); };
  auto atEdge = [&] {
    Value tile = unmasked();
    if (sides.size() == 1)
      return masked(mask.only(b, sides.front().first, /*mayAllHold=*/true), tile);
    for (auto [side, holds] : sides) {
      scf::IfOp branch = branchOn(
          b, holds, [&] { return tile; }, [&] { return masked(mask.only(b, side, /*mayAllHold=*/false), tile); },
          tile.getType());
      if (side != Side::any)
        markFastPath(branch);
      tile = branch.getResult(0);
    }
    return tile;
  };
  scf::IfOp branch = branchOn(b, inside, unmasked, atEdge, select.getType());
  markFastPath(branch);
  select.replaceAllUsesWith(branch.getResult(0));
  select.erase();
}

static bool isLarge(arith::SelectOp select) {
  auto tile = dyn_cast<RankedTensorType>(select.getType());
  return tile && tile.getNumElements() >= smallestTile && isa<RankedTensorType>(select.getCondition().getType());
}

namespace {
struct EdgeMasks : simplify::impl::EdgeMasksBase<EdgeMasks> {
  void runOnOperation() override {
    SmallVector<arith::SelectOp> selects;
    getOperation()->walk([&](arith::SelectOp select) {
      if (isLarge(select))
        selects.push_back(select);
    });
    llvm::for_each(selects, branchOnEdge);
  }
};
} // namespace
