// SPDX-License-Identifier: MIT
// Integer tiles whose elements grow by a constant along each dimension, such as positions of rows and keys.
#pragma once

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>

namespace mlir {
class ImplicitLocOpBuilder;
} // namespace mlir

namespace tegula::simplify {

/// tile[i, j] = constant + sum of factor * scalar + steps[0] * i + steps[1] * j. Nothing wraps around: tile indices
/// fit.
class AffineTile {
public:
  explicit AffineTile(size_t rank, int64_t constant = 0) : constant_(constant), steps_(rank, 0) {}
  /// All elements are equal to a scalar.
  AffineTile(size_t rank, mlir::Value scalar);
  /// 0, 1, 2, ...
  static AffineTile iota();

  AffineTile plus(const AffineTile &other) const { return combine(other, 1); }
  AffineTile minus(const AffineTile &other) const { return combine(other, -1); }
  AffineTile plus(int64_t number) const { return combine(AffineTile(steps_.size(), number), 1); }
  AffineTile times(int64_t factor) const { return AffineTile(steps_.size()).combine(*this, factor); }
  /// Of the same elements, for shapes that differ in dimensions of size 1.
  std::optional<AffineTile> reshaped(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to) const;
  AffineTile broadcast(llvm::ArrayRef<int64_t> from) const;
  /// The largest element of a tile of this shape, as a tile of rank 0.
  AffineTile largest(llvm::ArrayRef<int64_t> shape) const;

  /// How much elements grow along each dimension.
  llvm::ArrayRef<int64_t> steps() const { return steps_; }
  /// Whether it holds neither scalars nor different elements.
  bool isConstant() const;
  /// Whether elements of a tile of this shape grow by 1 along `dim`, and by nothing along other dimensions.
  bool countsAlong(size_t dim, llvm::ArrayRef<int64_t> shape) const;
  int64_t constant() const { return constant_; }
  /// All scalars in it.
  auto scalars() const { return llvm::make_first_range(scalars_); }
  /// Whether all numbers in it are so small that no operation above overflows.
  bool isSmall() const;

  /// For a tile of rank 0, two scalars of type `index`: it is at most 0 where the first is at most the second.
  std::pair<mlir::Value, mlir::Value> sides(mlir::ImplicitLocOpBuilder &b) const;
  /// The first element, a scalar of type `index`.
  mlir::Value first(mlir::ImplicitLocOpBuilder &b) const;

private:
  using Terms = llvm::SmallVector<std::pair<mlir::Value, int64_t>, 4>;

  AffineTile combine(const AffineTile &other, int64_t factor) const;
  void addTerm(mlir::Value scalar, int64_t factor);

  int64_t constant_ = 0;
  Terms scalars_;
  llvm::SmallVector<int64_t, 4> steps_;
};

/// Whether each element of the result is one of the operand's, or the conjunction of two.
bool isConjunction(mlir::Operation *op);

/// Recognises affine tiles.
class AffineTiles {
public:
  /// Nothing if `tile` is not affine.
  std::optional<AffineTile> find(mlir::Value tile);
  /// A tile that is at most 0 exactly where `compare` holds; nothing if it is no compare of affine tiles by order.
  std::optional<AffineTile> excess(mlir::Value compare);

private:
  std::optional<AffineTile> analyze(mlir::Value tile);

  llvm::DenseMap<mlir::Value, std::optional<AffineTile>> known_;
};

} // namespace tegula::simplify
