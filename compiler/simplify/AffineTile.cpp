// SPDX-License-Identifier: MIT
#include "compiler/simplify/AffineTile.h"
#include "compiler/sm/Multiples.h"
#include "compiler/sm/Sm.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

#include <algorithm>
#include <numeric>

using namespace mlir;
using namespace tegula::simplify;

using LocBuilder = ImplicitLocOpBuilder;

//===-- Arithmetic -----------------------------------------------------------------------------------------------===//

/// Returns `value` before conversions between integer types.
static Value withoutCasts(Value value) {
  while (Operation *op = value.getDefiningOp()) {
    if (!isa<arith::IndexCastOp, arith::ExtSIOp>(op))
      break;
    value = op->getOperand(0);
  }
  return value;
}

AffineTile::AffineTile(size_t rank, Value scalar) : AffineTile(rank) {
  scalar = withoutCasts(scalar);
  APInt number;
  if (matchPattern(scalar, m_ConstantInt(&number)))
    constant_ = number.getSExtValue();
  else
    scalars_.push_back({scalar, 1});
}

AffineTile AffineTile::iota() {
  AffineTile tile(1);
  tile.steps_[0] = 1;
  return tile;
}

void AffineTile::addTerm(Value scalar, int64_t factor) {
  auto term = llvm::find_if(scalars_, [&](const auto &other) { return other.first == scalar; });
  if (term == scalars_.end()) {
    scalars_.push_back({scalar, factor});
    return;
  }
  term->second += factor;
  if (term->second == 0)
    scalars_.erase(term);
}

AffineTile AffineTile::combine(const AffineTile &other, int64_t factor) const {
  AffineTile sum = *this;
  sum.constant_ += factor * other.constant_;
  for (auto [scalar, count] : other.scalars_)
    sum.addTerm(scalar, factor * count);
  for (auto [step, more] : llvm::zip_equal(sum.steps_, other.steps_))
    step += factor * more;
  return sum;
}

std::optional<AffineTile> AffineTile::reshaped(ArrayRef<int64_t> from, ArrayRef<int64_t> to) const {
  SmallVector<int64_t> steps;
  for (auto [size, step] : llvm::zip_equal(from, steps_))
    if (size > 1)
      steps.push_back(step);
  AffineTile tile = *this;
  tile.steps_.assign(to.size(), 0);
  if (llvm::all_of(steps, [](int64_t step) { return step == 0; }))
    return tile;
  auto isLong = [](int64_t size) { return size > 1; };
  if (!llvm::equal(llvm::make_filter_range(from, isLong), llvm::make_filter_range(to, isLong)))
    return std::nullopt;
  for (size_t axis = 0, next = 0; axis < to.size(); ++axis)
    if (isLong(to[axis]))
      tile.steps_[axis] = steps[next++];
  return tile;
}

AffineTile AffineTile::broadcast(ArrayRef<int64_t> from) const {
  AffineTile tile = *this;
  for (auto [size, step] : llvm::zip_equal(from, tile.steps_))
    if (size == 1)
      step = 0;
  return tile;
}

AffineTile AffineTile::largest(ArrayRef<int64_t> shape) const {
  AffineTile corner = *this;
  for (auto [size, step] : llvm::zip_equal(shape, steps_))
    corner.constant_ += std::max<int64_t>(step, 0) * (size - 1);
  corner.steps_.clear();
  return corner;
}

bool AffineTile::isConstant() const {
  return scalars_.empty() && llvm::all_of(steps_, [](int64_t step) { return step == 0; });
}

bool AffineTile::countsAlong(size_t dim, ArrayRef<int64_t> shape) const {
  auto fits = [&](size_t axis) { return shape[axis] == 1 || steps_[axis] == (axis == dim ? 1 : 0); };
  return llvm::all_of(llvm::seq(shape.size()), fits);
}

bool AffineTile::isSmall() const {
  auto small = [](int64_t number) { return llvm::isInt<33>(number); };
  return small(constant_) && llvm::all_of(steps_, small) && llvm::all_of(llvm::make_second_range(scalars_), small);
}

//===-- Scalar code ----------------------------------------------------------------------------------------------===//

namespace {
/// A sum of terms of type `index`.
class Sum {
public:
  explicit Sum(LocBuilder &b) : b_(b) {}

  void add(Value scalar, int64_t factor) {
    Value term = scalar.getType().isIndex() ? scalar : arith::IndexCastOp::create(b_, b_.getIndexType(), scalar);
    add(factor == 1 ? term : arith::MulIOp::create(b_, term, constant(factor)));
  }
  void add(int64_t number) {
    if (number != 0)
      add(constant(number));
  }
  Value result() { return sum_ ? sum_ : constant(0); }

private:
  Value constant(int64_t number) { return arith::ConstantIndexOp::create(b_, number); }
  void add(Value term) { sum_ = sum_ ? Value(arith::AddIOp::create(b_, sum_, term)) : term; }

  LocBuilder &b_;
  Value sum_;
};
} // namespace

/// Adds scalars from outside the block first, so that their sum can be hoisted from a loop.
std::pair<Value, Value> AffineTile::sides(LocBuilder &b) const {
  assert(steps_.empty() && "elements differ");
  Sum below(b), above(b);
  auto addTerms = [&](bool fromOutside) {
    for (auto [scalar, factor] : scalars_)
      if ((scalar.getParentBlock() != b.getInsertionBlock()) == fromOutside)
        factor > 0 ? below.add(scalar, factor) : above.add(scalar, -factor);
  };
  addTerms(/*fromOutside=*/true);
  above.add(-constant_);
  addTerms(/*fromOutside=*/false);
  return {below.result(), above.result()};
}

bool AffineTile::firstIsMultipleOf(int64_t divisor) const {
  return constant_ % divisor == 0 && llvm::all_of(scalars_, [&](const auto &term) {
           return sm::isMultipleOf(term.first, divisor / std::gcd(term.second, divisor));
         });
}

Value AffineTile::first(LocBuilder &b) const {
  Sum sum(b);
  for (auto [scalar, factor] : scalars_)
    sum.add(scalar, factor);
  sum.add(constant_);
  return sum.result();
}

bool tegula::simplify::isConjunction(Operation *op) {
  return isa_and_present<arith::AndIOp, tile::ReshapeOp>(op) ||
         (isa_and_present<tile::BroadcastOp>(op) && isa<RankedTensorType>(op->getOperand(0).getType()));
}

//===-- Recognition ----------------------------------------------------------------------------------------------===//

std::optional<AffineTile> AffineTiles::find(Value tile) {
  if (auto it = known_.find(tile); it != known_.end())
    return it->second;
  std::optional<AffineTile> found = analyze(tile);
  if (found && !found->isSmall())
    found = std::nullopt;
  return known_[tile] = found;
}

std::optional<AffineTile> AffineTiles::analyze(Value value) {
  Operation *op = value.getDefiningOp();
  auto type = dyn_cast<RankedTensorType>(value.getType());
  if (!op || !type || !type.getElementType().isIntOrIndex())
    return std::nullopt;
  DenseIntElementsAttr number;
  if (matchPattern(value, m_Constant(&number)) && number.isSplat())
    return AffineTile(type.getRank(), number.getSplatValue<APInt>().getSExtValue());
  if (isa<tile::IotaOp>(op))
    return AffineTile::iota();
  if (auto linear = dyn_cast<sm::LinearOp>(op))
    return AffineTile(linear.getFirst(), linear.getSteps());
  if (auto broadcast = dyn_cast<tile::BroadcastOp>(op);
      broadcast && !isa<RankedTensorType>(op->getOperand(0).getType()))
    return AffineTile(type.getRank(), broadcast.getSource());
  if (!isa<tile::BroadcastOp, tile::ReshapeOp, arith::IndexCastOp, arith::ExtSIOp, arith::AddIOp, arith::SubIOp,
           arith::MulIOp>(op))
    return std::nullopt;

  std::optional<AffineTile> lhs = find(op->getOperand(0));
  if (!lhs)
    return std::nullopt;
  ArrayRef<int64_t> from = cast<RankedTensorType>(op->getOperand(0).getType()).getShape();
  if (isa<tile::BroadcastOp>(op))
    return lhs->broadcast(from);
  if (isa<tile::ReshapeOp>(op))
    return lhs->reshaped(from, type.getShape());
  if (op->getNumOperands() == 1)
    return lhs;

  std::optional<AffineTile> rhs = find(op->getOperand(1));
  if (!rhs)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return lhs->plus(*rhs);
  if (isa<arith::SubIOp>(op))
    return lhs->minus(*rhs);
  if (lhs->isConstant())
    return rhs->times(lhs->constant());
  return rhs->isConstant() ? lhs->times(rhs->constant()) : std::optional<AffineTile>();
}

std::optional<AffineTile> AffineTiles::excess(Value value) {
  auto compare = value.getDefiningOp<arith::CmpIOp>();
  if (!compare)
    return std::nullopt;
  std::optional<AffineTile> lhs = find(compare.getLhs()), rhs = find(compare.getRhs());
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
