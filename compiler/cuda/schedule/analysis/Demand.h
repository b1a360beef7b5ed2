// SPDX-License-Identifier: MIT
// What the loops of a program need: registers for accumulators, and shared memory for tiles.
#pragma once

#include "compiler/cuda/layouts/analysis/Product.h"

#include "mlir/IR/BuiltinOps.h"

namespace tegula::cuda {

/// Returns the products in innermost loops: most of the work.
llvm::SmallVector<Product> hotProducts(mlir::ModuleOp module);

/// Returns true if an operand of one of the products is computed from the result of `product` in the same iteration.
bool isUsedByProduct(const Product &product, llvm::ArrayRef<Product> products);

/// Returns true if exponentials stand between two products of an iteration. While one warpgroup computes them, the
/// tensor cores can compute products of the other.
bool hasExponentialsBetween(llvm::ArrayRef<Product> products);

/// The elements of the accumulators of an iteration.
class Accumulators {
public:
  /// `sizeOf` returns the elements of a product's accumulators, with padding.
  Accumulators(llvm::ArrayRef<Product> products, llvm::function_ref<int64_t(const Product &)> sizeOf);

  /// Returns the most that one product needs.
  int64_t ofProduct() const { return ofProduct_; }
  /// Returns what an iteration needs whose MMAs follow each other in the order of the program.
  int64_t inOrder() const { return carried_ + largest_; }
  /// Returns what an iteration needs whose MMAs start as soon as they can.
  int64_t early() const { return carried_ + std::max(largest_, independent_); }
  /// Returns what an iteration needs that holds the probabilities of the one before.
  int64_t withPingpong() const { return carried_ + largest_ + largest_ / 2; }
  /// Returns what warpgroups need that exchange tiles.
  int64_t withExchanges() const { return carried_ + 2 * largest_; }

private:
  int64_t ofProduct_ = 0;
  int64_t carried_ = 0;     ///< Elements that a loop carries.
  int64_t largest_ = 0;     ///< The largest of the others.
  int64_t independent_ = 0; ///< Elements of the others that wait for no product: their MMAs start together.
};

/// Returns the elements of the tiles that the loops of the products carry beside accumulators.
int64_t carriedBeside(llvm::ArrayRef<Product> products);

/// Returns the load of a product's operand in the iteration of the product; null if there is none.
tile::LoadOp loadInIteration(mlir::Value operand, const Product &product);
/// Returns the bytes of a product's operand in shared memory. Its rows are whole panels.
int64_t bytesOfOperand(mlir::RankedTensorType type);
/// Returns the bytes of the tiles that an iteration loads for its products, and of their transposes.
int64_t bytesOfIteration(llvm::ArrayRef<Product> products);
/// Returns the bytes of computed operands, which warpgroups exchange through shared memory.
int64_t bytesOfComputed(llvm::ArrayRef<Product> products);
/// Returns the bytes of tiles that may lie in shared memory beside the rings: loads outside innermost loops bring them,
/// or stores inside loops write them.
int64_t bytesBesideRings(mlir::ModuleOp module);
/// Returns the bytes of the tiles that innermost loops add to memory. TMA adds them from shared memory.
int64_t bytesOfAdded(mlir::ModuleOp module);

} // namespace tegula::cuda
