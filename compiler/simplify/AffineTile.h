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

/// An integer tile with tile[i, j] = constant + sum of factor * scalar + steps[0] * i + steps[1] * j. Nothing wraps
/// around, because tile indices are small.
class AffineTile {
public:
  explicit AffineTile(size_t rank, int64_t constant = 0) : constant_(constant), steps_(rank, 0) {}
  /// Makes a tile whose elements all equal `scalar`.
  AffineTile(size_t rank, mlir::Value scalar);
  /// Makes a tile whose first element is `first`.
  AffineTile(mlir::Value first, llvm::ArrayRef<int64_t> steps) : AffineTile(steps.size(), first) {
    steps_.assign(steps.begin(), steps.end());
  }
  /// Returns the tile 0, 1, 2, ...
  static AffineTile iota();

  AffineTile plus(const AffineTile &other) const { return combine(other, 1); }
  AffineTile minus(const AffineTile &other) const { return combine(other, -1); }
  AffineTile plus(int64_t number) const { return combine(AffineTile(steps_.size(), number), 1); }
  AffineTile times(int64_t factor) const { return AffineTile(steps_.size()).combine(*this, factor); }
  /// Returns the same elements in another shape. Returns nothing unless the shapes differ only in dimensions of size 1,
  /// or all elements are equal.
  std::optional<AffineTile> reshaped(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to) const;
  /// Returns the tile of shape `from`, repeated along its dimensions of size 1.
  AffineTile broadcast(llvm::ArrayRef<int64_t> from) const;
  /// Returns the largest element of a tile of this shape, as a tile of rank 0.
  AffineTile largest(llvm::ArrayRef<int64_t> shape) const;

  /// Returns the growth of elements along each dimension.
  llvm::ArrayRef<int64_t> steps() const { return steps_; }
  /// Returns true if the tile contains no scalar and all its elements are equal.
  bool isConstant() const;
  /// Returns true if elements of a tile of this shape grow by 1 along `dim`, and by nothing along other dimensions.
  bool countsAlong(size_t dim, llvm::ArrayRef<int64_t> shape) const;
  /// Returns true if the first element is provably a multiple of `divisor`, a power of two.
  bool firstIsMultipleOf(int64_t divisor) const;
  int64_t constant() const { return constant_; }
  /// Returns all scalars of the sum.
  auto scalars() const { return llvm::make_first_range(scalars_); }
  /// Returns true if all numbers of the sum are so small that no operation above overflows.
  bool isSmall() const;

  /// Returns two scalars of type `index` for a tile of rank 0. The tile is at most 0 exactly if the first scalar is at
  /// most the second.
  std::pair<mlir::Value, mlir::Value> sides(mlir::ImplicitLocOpBuilder &b) const;
  /// Returns the first element as a scalar of type `index`.
  mlir::Value first(mlir::ImplicitLocOpBuilder &b) const;

private:
  using Terms = llvm::SmallVector<std::pair<mlir::Value, int64_t>, 4>;

  AffineTile combine(const AffineTile &other, int64_t factor) const;
  void addTerm(mlir::Value scalar, int64_t factor);

  int64_t constant_ = 0;
  Terms scalars_;
  llvm::SmallVector<int64_t, 4> steps_;
};

/// Returns true if each element of the result equals an element of the operand, or is the conjunction of two.
bool isConjunction(mlir::Operation *op);

/// A finder of affine tiles, which remembers its results.
class AffineTiles {
public:
  /// Returns `tile` as an affine tile. Returns nothing if it is not affine.
  std::optional<AffineTile> find(mlir::Value tile);
  /// Returns a tile that is at most 0 exactly where `compare` is true. Returns nothing unless `compare` compares affine
  /// tiles by signed order.
  std::optional<AffineTile> excess(mlir::Value compare);

private:
  std::optional<AffineTile> analyze(mlir::Value tile);

  llvm::DenseMap<mlir::Value, std::optional<AffineTile>> known_;
};

} // namespace tegula::simplify
