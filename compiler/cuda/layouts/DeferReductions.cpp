// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/Passes.h"

#include "compiler/sm/Sm.h"
#include "compiler/tile/Walks.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/ControlFlowSinkUtils.h"

namespace tegula::cuda {
#define GEN_PASS_DEF_DEFERREDUCTIONS
#include "compiler/cuda/layouts/Passes.h.inc"
} // namespace tegula::cuda

using namespace mlir;
using namespace tegula;

//===-- Partial results ------------------------------------------------------------------------------------------===//

/// Returns true if `reduce` reduces the last axis and several threads hold elements along it.
static bool isSpread(tile::ReduceOp reduce) {
  auto source = cast<RankedTensorType>(reduce.getSource().getType());
  return static_cast<int64_t>(reduce.getAxis()) == source.getRank() - 1 && source.getRank() > 1 &&
         sm::threadsAlong(sm::layoutOf(source), reduce.getAxis()) > 1;
}

/// Returns the type of the partial results of `reduce`. Its last axis has one element for each thread that holds
/// elements along the reduced axis.
static RankedTensorType typeOfParts(tile::ReduceOp reduce, Type element) {
  auto source = cast<RankedTensorType>(reduce.getSource().getType());
  SmallVector<int64_t> shape(source.getShape());
  shape.back() = sm::threadsAlong(sm::layoutOf(source), reduce.getAxis());
  return RankedTensorType::get(shape, element, sm::reducedWithinThreads(sm::layoutOf(source), reduce.getAxis()));
}

/// Splits `reduce` into a partial reduction within each thread and a reduction of the partial results. Returns the
/// partial results.
static Value split(tile::ReduceOp reduce) {
  if (auto parts = reduce.getSource().getDefiningOp<sm::PartialReduceOp>())
    return parts;
  OpBuilder b(reduce);
  RankedTensorType type = typeOfParts(reduce, cast<RankedTensorType>(reduce.getType()).getElementType());
  Value parts =
      sm::PartialReduceOp::create(b, reduce.getLoc(), type, reduce.getKind(), reduce.getSource(), reduce.getAxis());
  reduce.getSourceMutable().assign(parts);
  return parts;
}

/// Broadcasts `rows`, a tile with one element for each row, to the shape of the partial results of `reduce`.
static Value forParts(OpBuilder &b, Value rows, tile::ReduceOp reduce) {
  auto type = cast<RankedTensorType>(rows.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape.push_back(1);
  auto column =
      RankedTensorType::get(shape, type.getElementType(), sm::withUnitDim(sm::layoutOf(rows), type.getRank()));
  Value reshaped = tile::ReshapeOp::create(b, rows.getLoc(), column, rows);
  return tile::BroadcastOp::create(b, rows.getLoc(), typeOfParts(reduce, type.getElementType()), reshaped);
}

//===-- Conditions -----------------------------------------------------------------------------------------------===//

namespace {
/// Repeats elementwise ops of a reduced tile on its partial results.
class OnParts {
public:
  OnParts(tile::AnyOp any, tile::ReduceOp reduce) : b_(any), reduce_(reduce) {
    parts_[reduce.getResult()] = split(reduce);
  }

  Value operator()(Value value) {
    Value &known = parts_[value];
    if (known)
      return known;
    Operation *op = value.getDefiningOp();
    if (!op || !op->hasTrait<OpTrait::Elementwise>())
      return known = forParts(b_, value, reduce_);
    Operation *clone = b_.clone(*op);
    for (OpOperand &operand : clone->getOpOperands()) {
      OpBuilder::InsertionGuard guard(b_);
      b_.setInsertionPoint(clone);
      operand.set((*this)(operand.get()));
    }
    clone->getResult(0).setType(typeOfParts(reduce_, cast<RankedTensorType>(value.getType()).getElementType()));
    return parts_[value] = clone->getResult(0);
  }

private:
  OpBuilder b_;
  tile::ReduceOp reduce_;
  llvm::DenseMap<Value, Value> parts_;
};
} // namespace

/// Returns the only maximum or minimum that `value` is computed from by elementwise ops, if several threads hold its
/// elements. Otherwise returns null.
static tile::ReduceOp extremeBehind(Value value) {
  if (auto reduce = value.getDefiningOp<tile::ReduceOp>())
    return reduce.getKind() != tile::Reduction::Add && isSpread(reduce) ? reduce : tile::ReduceOp();
  Operation *op = value.getDefiningOp();
  tile::ReduceOp found;
  if (op && op->hasTrait<OpTrait::Elementwise>())
    for (Value operand : op->getOperands())
      if (tile::ReduceOp reduce =
              isa<RankedTensorType>(operand.getType()) ? extremeBehind(operand) : tile::ReduceOp()) {
        if (found && found != reduce)
          return {};
        found = reduce;
      }
  return found;
}

/// Erases the op of `value` and the ops that only it needs, unless another op uses them.
static void eraseDead(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op || !isOpTriviallyDead(op))
    return;
  SetVector<Value> operands(llvm::from_range, op->getOperands());
  op->erase();
  llvm::for_each(operands, eraseDead);
}

/// Lets `any` test partial maxima or minima instead of whole ones. The extreme of a row is one of its partial extremes,
/// so a condition that is true for a row is true for one of its partial results. The branch may run without need, which
/// is harmless. What only the branch needs moves into it.
static void askParts(tile::AnyOp any) {
  tile::ReduceOp reduce = extremeBehind(any.getCondition());
  if (!reduce)
    return;
  Value ofRows = any.getCondition();
  any.getConditionMutable().assign(OnParts(any, reduce)(ofRows));
  eraseDead(ofRows);
  DominanceInfo dominance(any->getParentOfType<ModuleOp>());
  for (Operation *user : any->getUsers())
    controlFlowSink(
        user->getRegions(), dominance, [](Operation *op, Region *) { return isMemoryEffectFree(op); },
        [](Operation *op, Region *region) { op->moveBefore(&region->front(), region->front().begin()); });
}

//===-- Sums -----------------------------------------------------------------------------------------------------===//

namespace {
/// A sum that a loop carries. Each iteration multiplies it by factors of whole rows and adds reduced tiles; branches
/// may choose among several. Ops may also test whether the sum, or what is added, is above a limit.
class CarriedSum {
public:
  explicit CarriedSum(Operation *addition) : addition_(addition) {}

  /// Lets the loop carry partial sums, if it uses the sum only as described above.
  void deferReduction() {
    if (!find())
      return;
    for (Value value : values_)
      value.setType(typeOf(value));
    for (tile::ReduceOp reduce : reduces_) {
      Value parts = split(reduce);
      values_.insert(parts);
      reduce.replaceAllUsesWith(parts);
    }
    for (Operation *op : operations_)
      for (OpOperand &operand : op->getOpOperands())
        if (isa<RankedTensorType>(operand.get().getType()) && !values_.contains(operand.get()))
          operand.set(forParts(*op, operand.get()));
    llvm::for_each(questions_, askParts);
    startFromZero();
    for (tile::ReduceOp reduce : reduces_)
      reduce.erase();
  }

private:
  Type typeOf(Value value) const {
    return typeOfParts(reduces_.front(), cast<RankedTensorType>(value.getType()).getElementType());
  }

  Value forParts(Operation &user, Value rows) {
    OpBuilder b(&user);
    return ::forParts(b, rows, reduces_.front());
  }

  bool find() {
    loop_ = dyn_cast<scf::ForOp>(addition_->getParentOp());
    if (!loop_ || !addition_->hasOneUse() || !isa<scf::YieldOp>(*addition_->user_begin()))
      return false;
    number_ = addition_->use_begin()->getOperandNumber();
    return matchPattern(loop_.getInitArgs()[number_], m_AnyZeroFloat()) && (isSum(0) || isSum(1));
  }

  /// Returns true if operand `added` of the addition is what is added, and the other operand is the scaled carried sum.
  bool isSum(unsigned added) {
    operations_.clear();
    values_.clear();
    reduces_.clear();
    add(addition_);
    return isReduced(addition_->getOperand(added)) && isScaled(addition_->getOperand(1 - added)) && isClosed();
  }

  /// Returns true if `value` is a reduced tile, or if branches choose it among reduced tiles. Collects the values
  /// between.
  bool isReduced(Value value) {
    if (auto reduce = value.getDefiningOp<tile::ReduceOp>()) {
      reduces_.insert(reduce);
      values_.insert(value);
      tile::ReduceOp first = reduces_.front();
      return reduce.getKind() == tile::Reduction::Add && isSpread(reduce) &&
             reduce.getSource().getType() == first.getSource().getType();
    }
    return isChosen(value, [&](Value chosen) { return isReduced(chosen); });
  }

  /// Returns true if a branch yields `value` and `isFit` is true for both yielded values.
  bool isChosen(Value value, function_ref<bool(Value)> isFit) {
    auto branch = value.getDefiningOp<scf::IfOp>();
    if (!branch)
      return false;
    unsigned number = cast<OpResult>(value).getResultNumber();
    values_.insert(value);
    return isFit(branch.thenYield().getOperand(number)) && isFit(branch.elseYield().getOperand(number));
  }

  void add(Operation *op) {
    operations_.insert(op);
    values_.insert(op->getResult(0));
  }

  /// Returns true if `value` is the carried sum times factors. Collects the ops between.
  bool isScaled(Value value) {
    Operation *op = value.getDefiningOp();
    if (value == loop_.getRegionIterArg(number_)) {
      values_.insert(value);
      return true;
    }
    if (auto product = dyn_cast_if_present<arith::MulFOp>(op)) {
      if (!isScaled(product.getLhs()) && !isScaled(product.getRhs()))
        return false;
      add(op);
      return true;
    }
    return isChosen(value, [&](Value chosen) { return isScaled(chosen); });
  }

  /// Returns true if `op` tests whether sums are above a constant limit, and only a `tile.any` uses the result.
  static bool isQuestion(Operation *op) {
    auto compare = dyn_cast<arith::CmpFOp>(op);
    SplatElementsAttr limit;
    return compare && compare.getPredicate() == arith::CmpFPredicate::UGT &&
           matchPattern(compare.getRhs(), m_Constant(&limit)) &&
           llvm::all_of(op->getUsers(), llvm::IsaPred<tile::AnyOp>);
  }

  /// Replaces the limit of a test by the share of each partial sum. If no partial sum is above its share, their sum is
  /// not above the limit.
  static void askParts(Operation *question) {
    SplatElementsAttr limit;
    matchPattern(question->getOperand(1), m_Constant(&limit));
    auto type = cast<RankedTensorType>(question->getOperand(0).getType());
    APFloat share = limit.getSplatValue<APFloat>();
    APFloat parts(share.getSemantics(), static_cast<uint64_t>(type.getShape().back()));
    share.divide(parts, APFloat::rmTowardNegative);
    OpBuilder b(question);
    question->setOperand(1, arith::ConstantOp::create(b, question->getLoc(), SplatElementsAttr::get(type, share)));
    question->getResult(0).setType(type.clone(b.getI1Type()));
  }

  /// Returns true if nothing but the collected ops, the loop and its branches, and tests of a limit use the values.
  bool isClosed() {
    questions_.clear();
    return llvm::all_of(values_, [&](Value value) {
      return llvm::all_of(value.getUses(), [&](OpOperand &use) {
        Operation *user = use.getOwner();
        if (isQuestion(user))
          return questions_.insert(user), true;
        if (!isa<scf::YieldOp>(user))
          return operations_.contains(user);
        unsigned number = use.getOperandNumber();
        return user->getParentOp() == loop_ ? number == number_
                                            : values_.contains(user->getParentOp()->getResult(number));
      });
    });
  }

  void startFromZero() {
    ImplicitLocOpBuilder b(loop_.getLoc(), loop_);
    auto type = cast<RankedTensorType>(loop_.getRegionIterArg(number_).getType());
    loop_.getInitArgsMutable()[number_].assign(arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(type))));
    Value result = loop_.getResult(number_);
    Type whole = result.getType();
    result.setType(type);
    b.setInsertionPointAfter(loop_);
    auto reduced = tile::ReduceOp::create(b, whole, tile::Reduction::Add, result, type.getRank() - 1);
    result.replaceAllUsesExcept(reduced, reduced);
  }

  Operation *addition_;
  scf::ForOp loop_;
  unsigned number_ = 0;
  SetVector<tile::ReduceOp> reduces_;
  SetVector<Operation *> operations_, questions_;
  SetVector<Value> values_;
};

struct DeferReductions : cuda::impl::DeferReductionsBase<DeferReductions> {
  void runOnOperation() override {
    llvm::for_each(tile::allOps<tile::AnyOp>(*getOperation()), askParts);
    for (Operation *addition : tile::allOps<arith::AddFOp>(*getOperation()))
      CarriedSum(addition).deferReduction();
  }
};
} // namespace
