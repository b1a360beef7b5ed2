// SPDX-License-Identifier: MIT
// Matrix products before any decision on them.
#pragma once

#include "compiler/tile/Tile.h"

namespace tegula::cuda {

/// The sizes of an MMA: [m, k] times [k, n].
struct MmaShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
};

/// A matrix product: a dot, or the product with the values in an online softmax. A dot converts to it. Cheap to copy.
struct Product {
  Product(tile::DotOp dot);
  explicit Product(tile::SoftmaxUpdateOp update);

  mlir::Operation *op;
  mlir::Value lhs, rhs;
  mlir::Value acc; ///< Null if the accumulators begin with 0.
  mlir::RankedTensorType type;
  /// The types of the operands. The probabilities of an online softmax get the element type of its values.
  mlir::RankedTensorType lhsType, rhsType;
  bool transposesLhs = false, transposesRhs = false, allowsTf32 = false;

  bool isSoftmax() const { return mlir::isa<tile::SoftmaxUpdateOp>(op); }
  /// Returns the product of the transposed operands in the other order, whose result is the transpose of this one.
  Product flipped() const;
};

/// Returns the products in `root`, in the order of the program.
llvm::SmallVector<Product> productsOf(mlir::Operation *root);

MmaShape shapeOf(const Product &product);
/// Returns true if tensor cores compute the product. Otherwise threads multiply in f32.
bool onTensorCores(const Product &product);
/// Returns the operands that must be transposed for `sm.wgmma`, because it reads them K-major only.
llvm::SmallVector<mlir::Value> transposedOperands(const Product &product);

} // namespace tegula::cuda
