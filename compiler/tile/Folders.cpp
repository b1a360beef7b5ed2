// SPDX-License-Identifier: MIT
// Simplifications of single ops: constants, and chains of shape changes.
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace tegula::tile;

Operation *TileDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===-- Shapes ---------------------------------------------------------------------------------------------------===//

/// Replaces `op(op(x))` by one `op` of x.
template <class Op> static bool skipSameOp(Op op) {
  auto previous = op.getSource().template getDefiningOp<Op>();
  if (previous)
    op.getSourceMutable().assign(previous.getSource());
  return static_cast<bool>(previous);
}

OpFoldResult BroadcastOp::fold(FoldAdaptor constants) {
  RankedTensorType type = getResult().getType();
  if (getSource().getType() == type)
    return getSource();
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(constants.getSource()))
    return splat.resizeSplat(type);
  if (isa_and_present<FloatAttr, IntegerAttr>(constants.getSource()))
    return SplatElementsAttr::get(type, constants.getSource());
  return skipSameOp(*this) ? OpFoldResult(getResult()) : nullptr;
}

OpFoldResult ReshapeOp::fold(FoldAdaptor constants) {
  RankedTensorType type = getResult().getType();
  if (getSource().getType() == type)
    return getSource();
  if (auto dense = dyn_cast_if_present<DenseElementsAttr>(constants.getSource()))
    return dense.reshape(type);
  return skipSameOp(*this) ? OpFoldResult(getResult()) : nullptr;
}

/// Folds `transpose(transpose(x))` into one permutation of x.
static bool composeTransposes(TransposeOp op) {
  auto previous = op.getSource().getDefiningOp<TransposeOp>();
  if (!previous)
    return false;
  SmallVector<int64_t> permutation;
  for (int64_t axis : op.getPermutation())
    permutation.push_back(previous.getPermutation()[axis]);
  op.setPermutation(permutation);
  op.getSourceMutable().assign(previous.getSource());
  return true;
}

OpFoldResult TransposeOp::fold(FoldAdaptor constants) {
  if (llvm::is_sorted(getPermutation()))
    return getSource();
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(constants.getSource()))
    return splat.resizeSplat(getResult().getType());
  return composeTransposes(*this) ? OpFoldResult(getResult()) : nullptr;
}

/// Returns the operand of `join` that `range` takes as a whole; null if there is none.
static Value joinedPart(JoinOp join, const ColumnRange &range) {
  for (unsigned operand : {0, 1}) {
    const ColumnRange part = join.rangeOf(operand);
    if (part.first == range.first && part.step == range.step && part.count == range.count)
      return join->getOperand(operand);
  }
  return {};
}

OpFoldResult ColumnsOp::fold(FoldAdaptor constants) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(constants.getSource()))
    return splat.resizeSplat(getResult().getType());
  if (auto join = getSource().getDefiningOp<JoinOp>())
    return joinedPart(join, getRange());
  auto previous = getSource().getDefiningOp<ColumnsOp>();
  if (!previous)
    return {};
  setFirst(previous.getFirst() + getFirst() * previous.getStep());
  setStep(getStep() * previous.getStep());
  getSourceMutable().assign(previous.getSource());
  return getResult();
}

/// Returns the value of a condition of tiles if constants decide it for all elements. (arith compares constant scalars
/// only.)
static std::optional<bool> knownCondition(Value condition) {
  Operation *op = condition.getDefiningOp();
  if (auto compare = dyn_cast_if_present<arith::CmpFOp>(op)) {
    SplatElementsAttr lhs, rhs;
    if (!matchPattern(compare.getLhs(), m_Constant(&lhs)) || !matchPattern(compare.getRhs(), m_Constant(&rhs)))
      return {};
    return arith::applyCmpPredicate(compare.getPredicate(), lhs.getSplatValue<APFloat>(), rhs.getSplatValue<APFloat>());
  }
  if (!isa_and_present<arith::OrIOp, arith::AndIOp>(op))
    return {};
  std::optional<bool> lhs = knownCondition(op->getOperand(0)), rhs = knownCondition(op->getOperand(1));
  const bool decides = isa<arith::OrIOp>(op);
  if (lhs == decides || rhs == decides)
    return decides;
  return lhs && rhs ? std::optional(!decides) : std::nullopt;
}

OpFoldResult AnyOp::fold(FoldAdaptor) {
  std::optional<bool> known = knownCondition(getCondition());
  return known ? OpFoldResult(BoolAttr::get(getContext(), *known)) : OpFoldResult();
}

//===-- Dot ------------------------------------------------------------------------------------------------------===//

/// Returns the matrix whose transpose `value` is. Null if `value` is not a transpose.
static Value transposedMatrix(Value value) {
  auto transpose = value.getDefiningOp<TransposeOp>();
  bool swaps = transpose && !llvm::is_sorted(transpose.getPermutation());
  return swaps ? transpose.getSource() : Value();
}

/// Makes `dot a, (transpose b)` read b with `transpose_rhs`. Does the same for the left operand.
static LogicalResult foldTransposeIntoDot(DotOp dot, PatternRewriter &rewriter) {
  Value lhs = transposedMatrix(dot.getLhs()), rhs = transposedMatrix(dot.getRhs());
  if (!lhs && !rhs)
    return rewriter.notifyMatchFailure(dot, "no operand is a transpose");
  rewriter.modifyOpInPlace(dot, [&] {
    if (lhs) {
      dot.getLhsMutable().assign(lhs);
      dot.setTransposeLhs(!dot.getTransposeLhs());
    }
    if (rhs) {
      dot.getRhsMutable().assign(rhs);
      dot.setTransposeRhs(!dot.getTransposeRhs());
    }
  });
  return success();
}

/// Removes an `acc` that is the constant +0.
static LogicalResult dropZeroAcc(DotOp dot, PatternRewriter &rewriter) {
  if (!dot.getAcc() || !matchPattern(dot.getAcc(), m_PosZeroFloat()))
    return rewriter.notifyMatchFailure(dot, "acc is not the constant 0");
  rewriter.modifyOpInPlace(dot, [&] { dot.getAccMutable().clear(); });
  return success();
}

void DotOp::getCanonicalizationPatterns(RewritePatternSet &patterns, MLIRContext *) {
  patterns.add(foldTransposeIntoDot);
  patterns.add(dropZeroAcc);
}
