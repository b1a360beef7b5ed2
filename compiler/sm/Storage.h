// SPDX-License-Identifier: MIT
// Addresses in shared memory and fragments of tensor cores, as far as they are known at compile time.
#pragma once

#include "compiler/sm/Sm.h"

#include <optional>

namespace tegula::sm {

/// An MMA tile in blocks of 16 x 16. The tile is divided among `warpsM` x `warpsN` warps; each warp has `rows` x
/// `columns` blocks. From one block to the block below it are `rowStride` rows.
struct Fragments {
  int64_t rows, columns, warpsM, warpsN;
  int64_t rowStride = 16;
};

/// Returns the blocks and warps for which accumulatorLayout makes `layout`; none if `layout` is not an accumulator
/// layout.
std::optional<Fragments> accumulatorFragments(LayoutAttr layout);
/// Returns the blocks and warps for which warpgroupLayout makes `layout`; none if `layout` is not the layout of
/// accumulators of `sm.wgmma`.
std::optional<Fragments> warpgroupFragments(LayoutAttr layout);
/// Returns the blocks and warps for which operandLayout makes `layout`; none if `layout` is not an operand layout.
std::optional<Fragments> operandFragments(LayoutAttr layout);

/// Returns the buffer from which TMA can add the tile to memory, warp by warp; null if TMA cannot. The tile is f32
/// accumulators of `sm.wgmma`, of which each warp has whole panels or all columns. The buffer has whole panels.
SharedType additionBuffer(mlir::RankedTensorType tile);
/// Returns the number of columns that TMA may see of a tensor to which it adds the tile from such a buffer; null if it
/// may see all. The columns end with the tile if the buffer has more. Such a tile begins at column 0.
mlir::IntegerAttr limitOfColumns(mlir::RankedTensorType tile);

/// Returns the 16 bytes whose address each lane gives to ldmatrix.x4, for the first 16 x 16 block of its warp.
/// Coordinates are those of the tile as it is stored. The four 32-bit registers that a lane receives are operands of
/// mma.m16n8k16: all of `lhs`, or those of two n8 blocks of `rhs`. If the depth k is the fast dimension of the stored
/// tile, ldmatrix reads it as it is. Otherwise it needs the transposing form.
LayoutAttr lhsMatrices(mlir::MLIRContext *context, const Fragments &grid, bool transposed);
LayoutAttr rhsMatrices(mlir::MLIRContext *context, const Fragments &grid, bool transposed);
/// Returns the same for a tile of 16-bit elements in an accumulator or operand layout. The four 32-bit registers are
/// then the tile's own registers, two elements in each.
LayoutAttr blockMatrices(LayoutAttr layout);

/// The bits and the largest value that a coordinate may have in any thread.
struct Spread {
  int64_t bits = 0; ///< May be set in some thread.
  int64_t last = 0; ///< The largest value.
};

/// Returns, for each dimension, the bits and the largest value of the coordinate that lane and warp contribute.
llvm::SmallVector<Spread> threadSpread(LayoutAttr layout, unsigned rank);

/// The way from the byte offset of one element in a tile to that of another: (offset ^ flip) + add.
struct Displacement {
  int64_t flip = 0; ///< Bits of the 16-byte chunk within a panel.
  int64_t add = 0;
};

/// Returns the displacement from an element to the one `distance` further. `from` describes the coordinates of the
/// first element in all threads. None if the displacement is not the same for all of them.
std::optional<Displacement> displacementAlong(llvm::ArrayRef<int64_t> shape, unsigned elementBytes, int64_t panel,
                                              llvm::ArrayRef<Spread> from, llvm::ArrayRef<int64_t> distance);

} // namespace tegula::sm
