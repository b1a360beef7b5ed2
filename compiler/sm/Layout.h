// SPDX-License-Identifier: MIT
// The algebra of #sm.layout: where the hardware wants a tile, and what becomes of a layout when a tile changes shape.
#pragma once

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/Hashing.h"

namespace tegula::sm {

constexpr int64_t warpSize = 32;

/// A digit of a register, lane or warp number: adds `digit * stride` to coordinate `dim`.
struct Digit {
  static constexpr int32_t copies = -1;

  int32_t dim = copies; ///< Or `copies`, if it changes no coordinate; `stride` is 0 then.
  int64_t size = 1;
  int64_t stride = 0;

  bool operator==(const Digit &) const = default;
};

llvm::hash_code hash_value(const Digit &digit);

using Digits = llvm::SmallVector<Digit, 4>;
using Coordinates = llvm::SmallVector<int64_t, 5>;

class LayoutAttr;

/// A tensor with a layout.
bool isRegisterTile(mlir::Type type);
LayoutAttr layoutOf(mlir::Value tile);
LayoutAttr layoutOf(mlir::Type tile);
/// `tile` in another layout; none removes it.
mlir::RankedTensorType withLayout(mlir::Type tile, LayoutAttr layout);

int64_t countOf(llvm::ArrayRef<Digit> digits);
/// Coordinates that the number `index` contributes.
Coordinates coordinatesOf(llvm::ArrayRef<Digit> digits, int64_t index, unsigned rank);

/// The layouts in which hardware computes.
/// The accumulators of mma.m16n8 for an m x n tile on warps_m x warps_n warps: each warp has a contiguous block of rows
/// and columns, in repetitions of 16 x 16.
LayoutAttr accumulatorLayout(mlir::MLIRContext *context, int64_t m, int64_t n, int64_t warps_m, int64_t warps_n);
/// The register-held lhs, m x k of 16-bit elements, of a product with that accumulator. For warps_n = 1 it is the
/// accumulator layout of an m x k tile: a product's result is the next product's operand without moving.
LayoutAttr operandLayout(mlir::MLIRContext *context, int64_t m, int64_t k, int64_t warps_m, int64_t warps_n);
/// Consecutive lanes hold consecutive elements of the last dimension, `vector` in a row each; warps take different
/// rows, so that a row stays within a warp. Where the tile is smaller than the threads, the rest are copies.
LayoutAttr rowMajorLayout(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape, int64_t vector, int64_t warps);

/// The layout of what is left when dimension `dim` is reduced, or of what was there before it was broadcast: threads
/// along it hold copies.
LayoutAttr without(LayoutAttr layout, unsigned dim);
/// The layout of what is left when each thread reduces what it holds along dimension `dim`: one element for each of
/// threadsAlong(layout, dim) threads.
LayoutAttr reducedWithinThreads(LayoutAttr layout, unsigned dim);
int64_t threadsAlong(LayoutAttr layout, unsigned dim);
/// The layout of pairs of columns, from one whose first register digit is the place in a pair.
LayoutAttr ofPairs(LayoutAttr layout, unsigned columns);
/// `without`, with dimension `dim` kept at size 1.
LayoutAttr collapsed(LayoutAttr layout, unsigned dim);
/// If each warp has a block of whole rows of the matrix (`dim` 0) or columns (1), one after the other, and no other
/// warp has any of them: how many. Else 0.
int64_t extentOfWarp(mlir::RankedTensorType tile, unsigned dim);
/// With a dimension of size 1 inserted before dimension `dim`; undoes `without` on a collapsed layout.
LayoutAttr withUnitDim(LayoutAttr layout, unsigned dim);
/// Dimension i of the result is dimension permutation[i].
LayoutAttr permuted(LayoutAttr layout, llvm::ArrayRef<int64_t> permutation);

/// The panel with which a tile of `columns` elements is stored: the largest of 128, 64, 32 and 16 bytes that divides
/// its rows.
int64_t panelFor(int64_t columns, unsigned elementBytes);
/// Bytes from the start of a tile to the element at (row, column) of panelled storage: the definition of that order.
int64_t panelOffset(llvm::ArrayRef<int64_t> shape, unsigned elementBytes, int64_t panel, int64_t row, int64_t column);

} // namespace tegula::sm
