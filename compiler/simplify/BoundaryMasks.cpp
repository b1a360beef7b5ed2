// SPDX-License-Identifier: MIT
#include "compiler/simplify/AffineTile.h"
#include "compiler/simplify/Passes.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_BOUNDARYMASKS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

using LocBuilder = ImplicitLocOpBuilder;

/// The fewest elements of a tile that is changed. In a smaller tile, a mask costs no more than a branch around it.
constexpr int64_t smallestTile = 256;

namespace {
/// The kind of limit that a term is. Terms of different kinds are false at different tiles, so each kind has its own
/// branch.
enum class Side : uint8_t {
  lower, ///< The term is true from some column on.
  upper, ///< The term is true up to some column.
  any,   ///< A scalar decides.
};

/// Some compares of a mask, and one test of them. They are true for the whole tile if the affine tile `bound` is at
/// most 0, or if `scalar` is true.
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

/// The conjunction that decides one select. Two kinds of its conjuncts are terms: compares of affine tiles, and an `or`
/// of a scalar and a tile, which is true for the whole tile if the scalar is.
class EdgeMask {
public:
  explicit EdgeMask(Value mask) : mask_(mask) { collect(mask); }

  /// Returns true if there are terms, and they can be true for a whole tile.
  bool isWorthTesting() const { return !terms_.empty() && !neverUniform_; }

  auto terms(Side side) const {
    return llvm::make_filter_range(terms_, [=](const EdgeTerm &term) { return term.side == side; });
  }

  /// Returns the mask without its terms. Null if nothing is left.
  Value remainder(LocBuilder &b) const {
    Kept kept;
    return keep(b, mask_, [&](Value compare) { return isEdge(compare) ? Value() : compare; }, kept);
  }

  /// Returns the mask with only the terms of this side, computed at `b`. If `mayAllHold` is false, a test has shown
  /// that they are not all true. A single `or` with a scalar is then replaced by its tile.
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
  using Kept = DenseMap<Value, Value>; // Results of conjunctions, null where nothing is kept.

  /// Returns the scalar that all elements of `tile` equal. Null if `tile` does not repeat a scalar.
  static Value repeatedScalar(Value tile) {
    Operation *op = tile.getDefiningOp();
    if (!isa_and_present<tile::BroadcastOp, tile::ReshapeOp>(op))
      return {};
    Value source = op->getOperand(0);
    return isa<RankedTensorType>(source.getType()) ? repeatedScalar(source) : source;
  }

  /// The operands of an `or` of a repeated scalar and a tile. Both are null for other values.
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

  /// Adds a bound. If bounds differ by a constant, only the tightest is tested, because it implies the others.
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

  /// Returns the conjunction `value` with each compare replaced by the result of `choose`. Null stands for a compare
  /// that is left out, and for a conjunction of which nothing is left.
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

  /// Copies affine positions and their compares to `b`. Other values stay where they are.
  Value recompute(LocBuilder &b, Value value, IRMapping &copies) {
    if (Value copy = copies.lookupOrNull(value))
      return copy;
    bool isScalar = !isa<RankedTensorType>(value.getType());
    bool isCompare = seen_.contains(value) && tiles_.excess(value);
    if (isScalar || (!isCompare && !tiles_.find(value)))
      return value;
    return copy(b, value, copies, [&](Value operand) { return recompute(b, operand, copies); });
  }

  /// Copies `value` and all tiles that it depends on in the block of the mask to `b`.
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
  DenseSet<Value> seen_; // The mask and the values that it is the conjunction of.
  SmallVector<EdgeTerm> terms_;
  DenseSet<Value> alwaysTrue_; // Compares.
  bool neverUniform_ = false;  // True if a constant bound is above 0.
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

/// Marks a branch whose else side is always right.
static void markFastPath(scf::IfOp branch) { branch->setAttr(tile::fastPath, UnitAttr::get(branch.getContext())); }

static void branchOnEdge(arith::SelectOp select) {
  EdgeMask mask(select.getCondition());
  if (!mask.isWorthTesting())
    return;
  LocBuilder b(select.getLoc(), select);
  auto masked = [&](Value by, Value tile) -> Value {
    return by ? arith::SelectOp::create(b, by, tile, select.getFalseValue()) : tile;
  };
  SmallVector<std::pair<Side, Value>> sides; // Each with the condition that its terms are true everywhere.
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

/// Returns true if this pass has made the select.
static bool isOnFastPath(arith::SelectOp select) {
  Operation *op = select->getParentOp();
  while (op && !op->hasAttr(tile::fastPath))
    op = op->getParentOp();
  return op != nullptr;
}

namespace {
struct BoundaryMasks : simplify::impl::BoundaryMasksBase<BoundaryMasks> {
  void runOnOperation() override {
    SmallVector<arith::SelectOp> selects;
    getOperation()->walk([&](arith::SelectOp select) {
      if (isLarge(select) && !isOnFastPath(select))
        selects.push_back(select);
    });
    llvm::for_each(selects, branchOnEdge);
  }
};
} // namespace
