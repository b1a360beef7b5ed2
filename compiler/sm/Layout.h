// SPDX-License-Identifier: MIT
// Layouts (`#sm.layout`): where the hardware expects a tile, and how a layout changes with the shape of its tile.
#pragma once

#include "compiler/sm/Hopper.h"
#include "compiler/tile/ColumnRange.h"

#include "mlir/IR/AttrTypeSubElements.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/Hashing.h"

namespace tegula::sm {

/// A digit of the mixed-radix number of a register, lane or warp. It has `size` values; value d adds d * stride to the
/// coordinate `dim`. With `registers = [1:2:1, 0:2:8]`, register 3 has the digits 1 and 1: it is one column and eight
/// rows from register 0. CuTe calls a digit a mode.
struct Digit {
  static constexpr int32_t replicas = -1;

  /// A dimension of the tile, or `replicas`: threads that differ in this digit hold the same element, and `stride` is
  /// 0.
  int32_t dim = replicas;
  int64_t size = 1;
  int64_t stride = 0;

  bool operator==(const Digit &) const = default;
};

llvm::hash_code hash_value(const Digit &digit);

using Digits = llvm::SmallVector<Digit, 4>;
using Coordinates = llvm::SmallVector<int64_t, 5>;

class LayoutAttr;

/// Returns true if `type` is a tensor with a layout.
bool isRegisterTile(mlir::Type type);
LayoutAttr layoutOf(mlir::Value tile);
LayoutAttr layoutOf(mlir::Type tile);
/// Returns the type `tile` with `layout` as its encoding; a null layout removes the encoding.
mlir::RankedTensorType withLayout(mlir::Type tile, LayoutAttr layout);

int64_t countOf(llvm::ArrayRef<Digit> digits);
/// Returns the number of registers, lanes or warps that differ in their coordinate along `dim`.
int64_t countAlong(llvm::ArrayRef<Digit> digits, unsigned dim);
/// Returns the coordinates that `index`, a register, lane or warp number, contributes.
Coordinates coordinatesOf(llvm::ArrayRef<Digit> digits, int64_t index, unsigned rank);

/// A digit along some dimension. Registers, lanes or warps that differ by one in it have numbers that are `weight`
/// apart.
struct DigitAlong {
  int64_t weight, size, stride;
};

/// Returns those of the digits that are along `dim`.
llvm::SmallVector<DigitAlong, 2> digitsAlong(llvm::ArrayRef<Digit> digits, unsigned dim);

/// Returns the layout of the accumulators of mma.m16n8 for an m x n tile on warps_m x warps_n warps. Each warp has a
/// contiguous block of rows and columns, in repetitions of 16 x 16.
LayoutAttr accumulatorLayout(mlir::MLIRContext *context, int64_t m, int64_t n, int64_t warps_m, int64_t warps_n);
/// Returns the layout of an lhs in registers, m x k 16-bit elements, of an MMA whose accumulators are on the same
/// warps. If warps_n is 1, it is the accumulator layout of an m x k tile: the result of one MMA is the operand of the
/// next one without moving between threads.
LayoutAttr operandLayout(mlir::MLIRContext *context, int64_t m, int64_t k, int64_t warps_m, int64_t warps_n);
/// Returns the layout of the accumulators of `sm.wgmma` for an m x n tile on warps_m x warps_n warps, where warps_m is
/// a multiple of 4. The warps along the rows take 16 rows each, one after another, and repeat this until all rows are
/// taken. If that needs no repetition, the layout is that of `accumulatorLayout`. With warps_n = 1 it is also the
/// layout of a left operand in registers.
LayoutAttr warpgroupLayout(mlir::MLIRContext *context, int64_t m, int64_t n, int64_t warps_m, int64_t warps_n);
/// Returns the layout in which `warps` warps, a multiple of 4, read an m x n tile from tensor memory, where m is 128.
/// Each lane holds columns of one row. Warpgroups take different columns.
LayoutAttr tensorLayout(mlir::MLIRContext *context, int64_t m, int64_t n, int64_t warps);
/// Returns a layout in which each lane holds `vector` consecutive elements of the last dimension, and consecutive lanes
/// follow each other in it. Warps take different rows, so a row stays within one warp. If the tile has fewer elements
/// than there are threads, the remaining threads hold replicas.
LayoutAttr rowMajorLayout(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape, int64_t vector, int64_t warps);

/// Returns a layout of a matrix in which each lane holds squares of `side` x `side` elements. It then reads whole rows
/// and writes whole columns of a square. A warp covers at least two squares along a row. Eight lanes then touch few
/// banks twice, both in reads of rows and in writes of columns. The layout may reach beyond the shape.
LayoutAttr squaresLayout(mlir::MLIRContext *context, llvm::ArrayRef<int64_t> shape, int64_t side, int64_t warps);

/// Returns the layout after dimension `dim` has been reduced and removed, which is also the layout of the source of a
/// broadcast along `dim`. Threads that differ along `dim` hold replicas.
LayoutAttr without(LayoutAttr layout, unsigned dim);
/// Returns the layout after each thread has reduced its own elements along dimension `dim`. The dimension stays, with
/// one element for each of threadsAlong(layout, dim) threads.
LayoutAttr reducedWithinThreads(LayoutAttr layout, unsigned dim);
int64_t threadsAlong(LayoutAttr layout, unsigned dim);
/// Returns the layout of pairs of elements along dimension `columns`. The first register digit of `layout` must be the
/// position in a pair.
LayoutAttr ofPairs(LayoutAttr layout, unsigned columns);
/// Returns the layout of `without`, but keeps dimension `dim` with size 1.
LayoutAttr collapsed(LayoutAttr layout, unsigned dim);
/// Returns true if several warps have elements of one line along `dim`.
bool isSplitAmongWarps(mlir::RankedTensorType tile, unsigned dim);
/// Returns the number of rows (`dim` 0) or columns (`dim` 1) of each warp, if warp after warp has a block of whole rows
/// or columns and no element belongs to two warps. Otherwise returns 0.
int64_t extentOfWarp(mlir::RankedTensorType tile, unsigned dim);
/// Inserts a dimension of size 1 before dimension `dim`. Undoes `without` on a collapsed layout.
LayoutAttr withUnitDim(LayoutAttr layout, unsigned dim);
/// Permutes the dimensions: dimension i of the result is dimension permutation[i] of `layout`.
LayoutAttr permuted(LayoutAttr layout, llvm::ArrayRef<int64_t> permutation);

/// Returns the layout in which each thread keeps those of its elements that are in the columns `range` of a tile with
/// the layout `all`. Columns lie along dimension `dim`. Null if `range` begins or ends between the registers of a
/// thread differently for different threads.
LayoutAttr columnsOf(LayoutAttr all, unsigned dim, const tile::ColumnRange &range);
/// Returns a layout of all columns from which `columnsOf` makes `columns`; null if there is none.
LayoutAttr aroundColumns(LayoutAttr columns, unsigned dim, const tile::ColumnRange &range);
/// Returns true if no element changes threads between a tile with the layout `all` and the tile of its columns `range`
/// with the layout `columns`.
bool areColumnsOf(LayoutAttr columns, LayoutAttr all, unsigned dim, const tile::ColumnRange &range);

/// Returns the width of the panels of a tile with `columns` columns: the largest of 128, 64, 32 and 16 bytes that
/// divides a row; 0 if none does.
int64_t panelFor(int64_t columns, unsigned elementBytes);
/// Returns the distance in bytes from the start of a tile to the element at (row, column). This function defines the
/// order of elements in panels.
int64_t panelOffset(llvm::ArrayRef<int64_t> shape, unsigned elementBytes, int64_t panel, int64_t row, int64_t column);

} // namespace tegula::sm
