// SPDX-License-Identifier: MIT
#include "compiler/cuda/layouts/analysis/Product.h"

#include "compiler/sm/Elements.h"

using namespace mlir;

namespace tegula::cuda {

Product::Product(tile::DotOp dot)
    : op(dot), lhs(dot.getLhs()), rhs(dot.getRhs()), acc(dot.getAcc()), type(dot.getType()),
      lhsType(dot.getLhs().getType()), rhsType(dot.getRhs().getType()), transposesLhs(dot.getTransposeLhs()),
      transposesRhs(dot.getTransposeRhs()), allowsTf32(dot.getAllowTf32()) {}

Product::Product(tile::SoftmaxUpdateOp update)
    : op(update), lhs(update.getScores()), rhs(update.getValues()), acc(update.getOutput()),
      type(update.getOutput().getType()), rhsType(update.getValues().getType()) {
  lhsType = update.getScores().getType().clone(rhsType.getElementType());
}

Product Product::flipped() const {
  Product other = *this;
  std::swap(other.lhs, other.rhs);
  std::swap(other.lhsType, other.rhsType);
  other.transposesLhs = !transposesRhs;
  other.transposesRhs = !transposesLhs;
  other.type = RankedTensorType::get({type.getDimSize(1), type.getDimSize(0)}, type.getElementType());
  return other;
}

SmallVector<Product> productsOf(Operation *root) {
  SmallVector<Product> products;
  root->walk([&](Operation *op) {
    if (auto dot = dyn_cast<tile::DotOp>(op))
      products.emplace_back(dot);
    else if (auto update = dyn_cast<tile::SoftmaxUpdateOp>(op))
      products.emplace_back(update);
  });
  return products;
}

MmaShape shapeOf(const Product &product) {
  return {product.type.getDimSize(0), product.type.getDimSize(1),
          product.lhsType.getDimSize(product.transposesLhs ? 0 : 1)};
}

bool onTensorCores(const Product &product) {
  const Type lhs = product.lhsType.getElementType(), rhs = product.rhsType.getElementType();
  return lhs == rhs && (!lhs.isF32() || product.allowsTf32);
}

SmallVector<Value> transposedOperands(const Product &product) {
  SmallVector<Value> operands;
  const std::optional<sm::MmaElement> element = sm::mmaElement(product.rhsType.getElementType());
  if (!element || !element->mustBeKMajor)
    return operands;
  if (product.transposesLhs)
    operands.push_back(product.lhs);
  if (!product.transposesRhs)
    operands.push_back(product.rhs);
  return operands;
}

} // namespace tegula::cuda
