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
/// The conjunction that decides one select. Told from the rest of it are compares of affine tiles, and terms that a
/// scalar makes true for the whole tile: `or` of that scalar and a tile.
class EdgeMask {
public:
  explicit EdgeMask(Value mask) : mask_(mask) { collect(mask); }

  /// Whether there are such terms, and they may hold for a whole tile.
  bool isWorthTesting() const { return (!bounds_.empty() || !scalars_.empty()) && !neverUniform_; }

  /// Whether each of them holds for every element.
  Value uniformlyTrue(LocBuilder &b) const {
    SmallVector<Value> terms(scalars_);
    for (const AffineTile &bound : bounds_) {
      auto [below, above] = bound.sides(b);
      terms.push_back(arith::CmpIOp::create(b, arith::CmpIPredicate::sle, below, above));
    }
    Value all = terms.front();
    for (Value term : ArrayRef(terms).drop_front())
      all = arith::AndIOp::create(b, all, term);
    return all;
  }

  /// What is left of the mask where they hold; null if nothing is.
  Value remainder(LocBuilder &b) { return remainder(b, mask_); }

  /// The mask, with these terms computed at `b`.
  Value recompute(LocBuilder &b) {
    IRMapping copies;
    return recompute(b, mask_, copies);
  }

private:
  /// Whether each element of the result is one of the operand's, or the conjunction of two.
  static bool isConjunction(Operation *op) {
    return isa_and_present<arith::AndIOp, tile::ReshapeOp>(op) ||
           (isa_and_present<tile::BroadcastOp>(op) && isa<RankedTensorType>(op->getOperand(0).getType()));
  }

  /// The scalar of which all elements are copies, if `tile` is such a tile.
  static Value repeatedScalar(Value tile) {
    Operation *op = tile.getDefiningOp();
    if (!isa_and_present<tile::BroadcastOp, tile::ReshapeOp>(op))
      return {};
    Value source = op->getOperand(0);
    return isa<RankedTensorType>(source.getType()) ? repeatedScalar(source) : source;
  }

  /// The scalar that makes the whole tile true; null if there is none.
  static Value sufficientScalar(Value value) {
    auto either = value.getDefiningOp<arith::OrIOp>();
    if (!either)
      return {};
    Value scalar = repeatedScalar(either.getLhs());
    return scalar ? scalar : repeatedScalar(either.getRhs());
  }

  void collect(Value value) {
    if (!seen_.insert(value).second)
      return;
    Operation *op = value.getDefiningOp();
    if (isConjunction(op))
      llvm::for_each(op->getOperands(), [&](Value operand) { collect(operand); });
    else if (Value scalar = sufficientScalar(value))
      scalars_.push_back(scalar);
    else if (std::optional<AffineTile> excess = excessOf(value))
      addBound(excess->largest(cast<RankedTensorType>(value.getType()).getShape()));
  }

  /// A tile that is at most 0 exactly where the compare `value` holds; nothing if that is not affine.
  std::optional<AffineTile> excessOf(Value value) {
    auto compare = value.getDefiningOp<arith::CmpIOp>();
    if (!compare)
      return std::nullopt;
    std::optional<AffineTile> lhs = tiles_.find(compare.getLhs()), rhs = tiles_.find(compare.getRhs());
    if (!lhs || !rhs)
      return std::nullopt;
    switch (compare.getPredicate()) {
    case arith::CmpIPredicate::sle:
      return lhs->minus(*rhs);
    case arith::CmpIPredicate::slt:
      return lhs->minus(*rhs).plus(1);
    case arith::CmpIPredicate::sge:
      return rhs->minus(*lhs);
    case arith::CmpIPredicate::sgt:
      return rhs->minus(*lhs).plus(1);
    default:
      return std::nullopt;
    }
  }

  /// Of bounds that differ by a constant only the tightest is kept: it implies the others.
  void addBound(AffineTile bound) {
    if (bound.isConstant()) {
      neverUniform_ |= bound.constant() > 0;
      return;
    }
    auto same = llvm::find_if(bounds_, [&](const AffineTile &other) { return bound.minus(other).isConstant(); });
    if (same == bounds_.end())
      bounds_.push_back(std::move(bound));
    else if (bound.constant() > same->constant())
      *same = std::move(bound);
  }

  Value remainder(LocBuilder &b, Value value) {
    Operation *op = value.getDefiningOp();
    if (!isConjunction(op))
      return excessOf(value) || sufficientScalar(value) ? Value() : value;
    auto [it, isNew] = remainders_.try_emplace(value);
    return isNew ? remainders_[value] = remainderOfConjunction(b, op) : it->second;
  }

  Value remainderOfConjunction(LocBuilder &b, Operation *op) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands())
      if (Value left = remainder(b, operand))
        operands.push_back(left);
    if (operands.size() == op->getNumOperands())
      return cloneWith(b, op, operands);
    return operands.empty() ? Value() : operands.front();
  }

  /// Compares that are not affine are not moved.
  Value recompute(LocBuilder &b, Value value, IRMapping &copies) {
    if (Value copy = copies.lookupOrNull(value))
      return copy;
    Operation *op = value.getDefiningOp();
    if (seen_.contains(value) && sufficientScalar(value))
      return recomputeHere(b, value, copies);
    bool isScalar = !isa<RankedTensorType>(value.getType());
    bool isMask = seen_.contains(value) && (isConjunction(op) || excessOf(value));
    if (isScalar || (!isMask && !tiles_.find(value)))
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
  DenseSet<Value> seen_;              // the mask and what it is the conjunction of
  SmallVector<AffineTile> bounds_;    // each must be at most 0
  SmallVector<Value> scalars_;        // each must be true
  bool neverUniform_ = false;         // a constant bound is above 0
  DenseMap<Value, Value> remainders_; // of conjunctions; null where nothing remains
};
} // namespace

static void branchOnEdge(arith::SelectOp select) {
  EdgeMask mask(select.getCondition());
  if (!mask.isWorthTesting())
    return;
  LocBuilder b(select.getLoc(), select);
  Value inside = mask.uniformlyTrue(b);
  auto branch = scf::IfOp::create(b, select.getType(), inside, /*withElseRegion=*/true);

  b.setInsertionPointToStart(branch.thenBlock());
  Value unmasked = select.getTrueValue();
  if (Value remainder = mask.remainder(b))
    unmasked = arith::SelectOp::create(b, remainder, unmasked, select.getFalseValue());
  scf::YieldOp::create(b, unmasked);

  b.setInsertionPointToStart(branch.elseBlock());
  Value edge = mask.recompute(b);
  scf::YieldOp::create(b, Value(arith::SelectOp::create(b, edge, select.getTrueValue(), select.getFalseValue())));

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
