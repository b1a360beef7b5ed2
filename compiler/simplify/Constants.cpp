// SPDX-License-Identifier: MIT
#include "compiler/simplify/Constants.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

static Value splat(ImplicitLocOpBuilder &b, Type type, TypedAttr element) {
  auto tile = dyn_cast<ShapedType>(type);
  TypedAttr value = tile ? TypedAttr(DenseElementsAttr::get(tile, Attribute(element))) : element;
  return arith::ConstantOp::create(b, value);
}

Value tegula::simplify::floatConstant(ImplicitLocOpBuilder &b, Type type, double value) {
  return splat(b, type, b.getFloatAttr(getElementTypeOrSelf(type), value));
}

Value tegula::simplify::integerConstant(ImplicitLocOpBuilder &b, Type type, const APInt &value) {
  return splat(b, type, b.getIntegerAttr(getElementTypeOrSelf(type), value));
}
