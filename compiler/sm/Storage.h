// SPDX-License-Identifier: MIT
// The algebra of addresses in shared memory and of the tensor cores' fragments: what is decided at compile time.
#pragma once

#include "compiler/sm/Layout.h"

#include <optional>

namespace tegula::sm {

/// A tile of 16 x 16 blocks on tensor cores: each warp has rows x columns blocks, on warpsM x warpsN warps.
struct Fragments {
  int64_t rows, columns, warpsM, warpsN;
};

/// What accumulatorLayout was asked for.
std::optional<Fragments> accumulatorFragments(LayoutAttr layout);
/// What operandLayout was asked for.
std::optional<Fragments> operandFragments(LayoutAttr layout);

/// Which 16 bytes each lane points ldmatrix.x4 at, for the first 16 x 16 block of its warp: coordinates are those of
/// the tile as it is stored. The four words that a lane receives are then those of mma.m16n8k16's operand: all of
/// `lhs`, or those of two n8 blocks of `rhs`. Operands stored with k as the fast dimension are read as they are, the
/// others need the transposing form.
LayoutAttr lhsMatrices(mlir::MLIRContext *context, const Fragments &grid, bool transposed);
LayoutAttr rhsMatrices(mlir::MLIRContext *context, const Fragments &grid, bool transposed);
/// The same for a tile of 16-bit elements that is held in either of the fragment layouts: the words are its registers.
LayoutAttr blockMatrices(LayoutAttr layout);

/// What is known of a coordinate that differs between threads.
struct Spread {
  int64_t bits = 0; ///< Those that may be set.
  int64_t last = 0; ///< The largest value.
};

/// Of the coordinates that lane and warp contribute.
llvm::SmallVector<Spread> threadSpread(LayoutAttr layout, unsigned rank);

/// From a thread's place in a tile to another one: (place ^ flip) + add.
struct Step {
  int64_t flip = 0; ///< Only chunks within a panel.
  int64_t add = 0;
};

/// The step along `distance` from any place with this spread; none where it differs between such places.
std::optional<Step> stepAlong(llvm::ArrayRef<int64_t> shape, unsigned elementBytes, int64_t panel,
                              llvm::ArrayRef<Spread> from, llvm::ArrayRef<int64_t> distance);

} // namespace tegula::sm
