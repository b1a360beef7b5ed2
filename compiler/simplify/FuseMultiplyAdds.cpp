// SPDX-License-Identifier: MIT
#include "compiler/simplify/Constants.h"
#include "compiler/simplify/Passes.h"
#include "compiler/sm/Elements.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/ADT/SetVector.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_FUSEMULTIPLYADDS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

using LocBuilder = ImplicitLocOpBuilder;

/// Returns the value that `tile` is a broadcast of. Null if `tile` is not a broadcast.
static Value broadcastSource(Value tile) {
  auto broadcast = tile.getDefiningOp<tile::BroadcastOp>();
  return broadcast ? broadcast.getSource() : Value();
}

/// Returns a factor of this type in the form that combineFactors gives to factors: a scalar, or its broadcast.
static Value factorOf(LocBuilder &b, Type type, double factor) {
  Value scalar = floatConstant(b, getElementTypeOrSelf(type), factor);
  return isa<ShapedType>(type) ? Value(tile::BroadcastOp::create(b, type, scalar)) : scalar;
}

/// Returns `small` * `factor`, broadcast to `type`.
static Value scaledBroadcast(LocBuilder &b, Value small, double factor, Type type) {
  Value scaled = arith::MulFOp::create(b, small, factorOf(b, small.getType(), factor));
  return tile::BroadcastOp::create(b, type, scaled);
}

/// Returns the scalar that equals every element of `tile`. Null if elements may differ.
static Value sameElement(LocBuilder &b, Value tile) {
  Value source = broadcastSource(tile);
  if (source && !isa<ShapedType>(source.getType()))
    return source;
  SplatElementsAttr splat;
  if (!matchPattern(tile, m_Constant(&splat)))
    return {};
  return arith::ConstantOp::create(b, splat.getSplatValue<TypedAttr>());
}

namespace {
/// The tile x * factor, with one factor for all elements.
struct Scaled {
  Value x;
  Value factor; ///< A scalar; null for 1.
};
} // namespace

/// Returns `tile` as a scaled tile. combineFactors has put the factor on the right.
static Scaled asScaled(Value tile) {
  auto product = tile.getDefiningOp<arith::MulFOp>();
  Value source = product ? broadcastSource(product.getRhs()) : Value();
  if (!source || isa<ShapedType>(source.getType()))
    return {tile, {}};
  return {product.getLhs(), source};
}

static bool isF32Tile(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile && tile.getElementType().isF32();
}

/// Replaces a multiplication or division of all elements of a tile by one number. It becomes a multiplication with the
/// broadcast of a scalar on the right. If the tile is already such a multiplication without other uses, its factor
/// becomes part of the scalar.
static void combineFactors(Operation *op) {
  bool divides = isa<arith::DivFOp>(op);
  if ((!divides && !isa<arith::MulFOp>(op)) || !isF32Tile(op->getResult(0).getType()))
    return;
  LocBuilder b(op->getLoc(), op);
  Value tile = op->getOperand(0), factor = sameElement(b, op->getOperand(1));
  if (!factor && !divides)
    tile = op->getOperand(1), factor = sameElement(b, op->getOperand(0));
  if (!factor)
    return;
  const Scaled inner = asScaled(tile);
  const bool absorbs = inner.factor && tile.hasOneUse();
  if (!divides && !absorbs && broadcastSource(op->getOperand(1)) == factor)
    return;
  if (divides)
    factor = arith::DivFOp::create(b, floatConstant(b, factor.getType(), 1), factor);
  if (absorbs) {
    tile = inner.x;
    factor = arith::MulFOp::create(b, inner.factor, factor);
  }
  Value factors = tile::BroadcastOp::create(b, op->getResult(0).getType(), factor);
  op->getResult(0).replaceAllUsesWith(Value(arith::MulFOp::create(b, tile, factors)));
  op->erase();
}

namespace {
/// The tile sign * (tile + addend_sign * addend), in which the addend is a vector or scalar that a broadcast repeats.
struct Exponent {
  Value tile;
  Value addend; ///< Null for 0.
  double sign = 1, addend_sign = 1;
};
} // namespace

/// Returns true if `value` is computed from the largest elements of rows by elementwise ops.
static bool isFromMaxima(Value value) {
  llvm::SetVector<Operation *> sources; // Each op once: a value may be an operand of many.
  sources.insert(value.getDefiningOp());
  for (size_t n = 0; n < sources.size(); ++n) {
    Operation *op = sources[n];
    if (auto reduce = dyn_cast_if_present<tile::ReduceOp>(op); reduce && reduce.getKind() == tile::Reduction::Max)
      return true;
    if (op && (op->hasTrait<OpTrait::Elementwise>() || isa<tile::ReshapeOp>(op)))
      for (Value operand : op->getOperands())
        sources.insert(operand.getDefiningOp());
  }
  return false;
}

/// Returns the parts of an exponent. A maximum stays part of the tile: the difference from it must be exact, or the
/// exponential of the largest element is not 1, and overflows if the maximum is far from 0.
static Exponent asExponent(Value operand) {
  Exponent exponent{operand, {}};
  if (auto negation = operand.getDefiningOp<arith::NegFOp>())
    exponent = {negation.getOperand(), {}, -1};
  Operation *sum = exponent.tile.getDefiningOp();
  if (!isa_and_present<arith::AddFOp, arith::SubFOp>(sum))
    return exponent;
  if (Value addend = broadcastSource(sum->getOperand(1)); addend && !isFromMaxima(addend))
    exponent.addend = addend;
  if (exponent.addend)
    exponent.tile = sum->getOperand(0);
  exponent.addend_sign = isa<arith::SubFOp>(sum) ? -1 : 1;
  return exponent;
}

/// Returns the exponent times log2e with one operation on each element. `unmasked` stands for its tile. Returns null if
/// there is nothing to fuse.
static Value fusedExponent(LocBuilder &b, const Exponent &exponent, Value unmasked) {
  Type type = unmasked.getType();
  auto [x, factor] = asScaled(unmasked);
  if (!factor && !exponent.addend && exponent.sign == 1)
    return {};
  const double by = exponent.sign * log2e;
  Value scale = factor ? scaledBroadcast(b, factor, by, type) : factorOf(b, type, by);
  if (!exponent.addend)
    return arith::MulFOp::create(b, x, scale);
  return math::FmaOp::create(b, x, scale, scaledBroadcast(b, exponent.addend, exponent.addend_sign * by, type));
}

/// Returns the select that makes `tile` -inf where it is masked. Null if there is none.
static arith::SelectOp maskOf(Value tile) {
  auto select = tile.getDefiningOp<arith::SelectOp>();
  bool masks = select && matchPattern(select.getFalseValue(), m_NegInfFloat());
  return masks ? select : arith::SelectOp();
}

static void fuseExponent(math::ExpOp exp) {
  if (!getElementTypeOrSelf(exp.getType()).isF32())
    return;
  const Exponent parts = asExponent(exp.getOperand());
  arith::SelectOp mask = parts.sign == 1 ? maskOf(parts.tile) : arith::SelectOp();
  LocBuilder b(exp.getLoc(), exp);
  Value exponent = fusedExponent(b, parts, mask ? mask.getTrueValue() : parts.tile);
  if (!exponent)
    return;
  if (mask)
    exponent = arith::SelectOp::create(b, mask.getCondition(), exponent, mask.getFalseValue());
  exp.replaceAllUsesWith(Value(math::Exp2Op::create(b, exponent)));
  exp.erase();
}

/// Returns the multiplication that computes `term`, if nothing else uses its result.
static arith::MulFOp soleProduct(Value term) {
  auto product = term.getDefiningOp<arith::MulFOp>();
  return product && product->hasOneUse() ? product : arith::MulFOp();
}

static Value negated(LocBuilder &b, Value x) { return arith::NegFOp::create(b, x); }

/// Replaces lhs + rhs, or lhs - rhs, by a multiply-add with the first operand that is a multiplication without other
/// uses.
static void fuseSum(Operation *sum, bool minus) {
  Value lhs = sum->getOperand(0), rhs = sum->getOperand(1);
  LocBuilder b(sum->getLoc(), sum);
  Value fused;
  if (arith::MulFOp product = soleProduct(lhs))
    fused = math::FmaOp::create(b, product.getLhs(), product.getRhs(), minus ? negated(b, rhs) : rhs);
  else if (arith::MulFOp product = soleProduct(rhs))
    fused = math::FmaOp::create(b, minus ? negated(b, product.getLhs()) : product.getLhs(), product.getRhs(), lhs);
  else
    return;
  sum->getResult(0).replaceAllUsesWith(fused);
  sum->erase();
}

/// Fuses sums of f32 tiles. The multiplications themselves are left to dead code elimination.
static void fuseSums(func::FuncOp function) {
  function.walk([](Operation *op) {
    if (isa<arith::AddFOp, arith::SubFOp>(op) && isF32Tile(op->getResult(0).getType()))
      fuseSum(op, isa<arith::SubFOp>(op));
  });
}

/// Returns the element types of the operands of all dots.
static SmallPtrSet<Type, 3> multipliedTypes(func::FuncOp function) {
  SmallPtrSet<Type, 3> types;
  function.walk([&](tile::DotOp dot) {
    types.insert(getElementTypeOrSelf(dot.getLhs()));
    types.insert(getElementTypeOrSelf(dot.getRhs()));
  });
  return types;
}

namespace {
struct FuseMultiplyAdds : simplify::impl::FuseMultiplyAddsBase<FuseMultiplyAdds> {
  void runOnOperation() override {
    const SmallPtrSet<Type, 3> types = multipliedTypes(getOperation());
    if (types.empty() || !llvm::all_of(types, tile::isNarrowFloat))
      return;
    getOperation().walk(combineFactors);
    if (!llvm::all_of(types, sm::hidesRounding))
      return;
    getOperation().walk(fuseExponent);
    fuseSums(getOperation());
  }
};
} // namespace
