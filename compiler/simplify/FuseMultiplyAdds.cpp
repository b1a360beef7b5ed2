// SPDX-License-Identifier: MIT
#include "compiler/simplify/Constants.h"
#include "compiler/simplify/Passes.h"
#include "compiler/tile/Tile.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Pass/Pass.h"

namespace tegula::simplify {
#define GEN_PASS_DEF_FUSEMULTIPLYADDS
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

using namespace mlir;
using namespace tegula;
using namespace tegula::simplify;

using LocBuilder = ImplicitLocOpBuilder;

/// What `tile` is a broadcast of; null if it is none.
static Value broadcastSource(Value tile) {
  auto broadcast = tile.getDefiningOp<tile::BroadcastOp>();
  return broadcast ? broadcast.getSource() : Value();
}

/// `small` * `factor`, broadcast to `type`.
static Value scaledBroadcast(LocBuilder &b, Value small, double factor, Type type) {
  Value scaled = arith::MulFOp::create(b, small, floatConstant(b, small.getType(), factor));
  return tile::BroadcastOp::create(b, type, scaled);
}

/// The number, as a scalar, that is every element of `tile`; null if they may differ.
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
/// x * factor, where the factor is the same for all elements.
struct Scaled {
  Value x;
  Value factor; ///< A scalar; null for 1.
};
} // namespace

/// A product has its factor on the right (combineFactors).
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

/// What multiplies or divides all elements of a tile by one number becomes a product with the broadcast of a scalar on
/// the right, together with what did the same before it.
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
  if (divides)
    factor = arith::DivFOp::create(b, floatConstant(b, factor.getType(), 1), factor);
  if (Scaled inner = asScaled(tile); inner.factor && tile.hasOneUse()) {
    tile = inner.x;
    factor = arith::MulFOp::create(b, inner.factor, factor);
  }
  Value factors = tile::BroadcastOp::create(b, op->getResult(0).getType(), factor);
  op->getResult(0).replaceAllUsesWith(Value(arith::MulFOp::create(b, tile, factors)));
  op->erase();
}

/// `a` * log2e - `b` * log2e
static Value fusedDifference(LocBuilder &b, Value a, Value subtrahend) {
  Type type = a.getType();
  auto [x, factor] = asScaled(a);
  Value scale = factor ? scaledBroadcast(b, factor, log2e, type) : floatConstant(b, type, log2e);
  return math::FmaOp::create(b, x, scale, scaledBroadcast(b, subtrahend, -log2e, type));
}

/// The select that makes `tile` -inf where it is masked; null if there is none.
static arith::SelectOp maskOf(Value tile) {
  auto select = tile.getDefiningOp<arith::SelectOp>();
  bool masks = select && matchPattern(select.getFalseValue(), m_NegInfFloat());
  return masks ? select : arith::SelectOp();
}

static void fuseExponent(math::ExpOp exp) {
  auto difference = exp.getOperand().getDefiningOp<arith::SubFOp>();
  if (!difference || !getElementTypeOrSelf(exp.getType()).isF32())
    return;
  Value subtrahend = broadcastSource(difference.getRhs());
  if (!subtrahend)
    return;
  LocBuilder b(exp.getLoc(), exp);
  Value exponent;
  if (arith::SelectOp mask = maskOf(difference.getLhs())) {
    Value visible = fusedDifference(b, mask.getTrueValue(), subtrahend);
    exponent = arith::SelectOp::create(b, mask.getCondition(), visible, mask.getFalseValue());
  } else {
    exponent = fusedDifference(b, difference.getLhs(), subtrahend);
  }
  exp.replaceAllUsesWith(Value(math::Exp2Op::create(b, exponent)));
  exp.erase();
}

/// The product that `term` is, if nothing else needs it.
static arith::MulFOp soleProduct(Value term) {
  auto product = term.getDefiningOp<arith::MulFOp>();
  return product && product->hasOneUse() ? product : arith::MulFOp();
}

static Value negated(LocBuilder &b, Value x) { return arith::NegFOp::create(b, x); }

/// lhs + rhs, or lhs - rhs, with the first of them that is a product in the multiply-add.
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

/// Of f32 tiles. The product itself is left to be removed as dead code.
static void fuseSums(func::FuncOp function) {
  function.walk([](Operation *op) {
    if (isa<arith::AddFOp, arith::SubFOp>(op) && isF32Tile(op->getResult(0).getType()))
      fuseSum(op, isa<arith::SubFOp>(op));
  });
}

/// The elements of all products' operands.
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
    if (types.empty() || !llvm::all_of(types, llvm::IsaPred<BFloat16Type, Float16Type>))
      return;
    getOperation().walk(combineFactors);
    if (!llvm::all_of(types, llvm::IsaPred<BFloat16Type>))
      return;
    getOperation().walk(fuseExponent);
    fuseSums(getOperation());
  }
};
} // namespace
