// SPDX-License-Identifier: MIT
// Kernels that are not attention, written as a user would write them.
#pragma once

#include "tegula/dsl.h"

namespace tegula::bench {

/// The tile of C that a program instance computes, and the depth of a step.
struct ProductBlocks {
  int block_m = 128, block_n = 128, block_k = 64;
};

/// C = A B with a [m, k], b [k, n], c [m, n] and f32 accumulators. One program instance for each tile of C. Tiles of
/// eight rows of tiles follow each other, so that they share columns of B in the L2 cache.
Expected<Program> recordMatrixProduct(DType dtype, ProductBlocks blocks);

/// The same, with a program instance for each multiprocessor, which goes from tile to tile.
Expected<Program> recordPersistentMatrixProduct(DType dtype, ProductBlocks blocks);

/// Y = max(X W, 0) V with x [m, width], w [width, h], v [h, width] and y [m, width]. Each program instance has block_m
/// rows of X and takes block_n columns of W at a time. `width` is a number of columns that fits into a tile.
Expected<Program> recordTwoProducts(DType dtype, ProductBlocks blocks, int width);

/// Causal linear attention, in chunks of block_m positions, with q, k, v and o [heads, n, width]:
/// O_i = mask(Q_i K_i^T) V_i + Q_i S_i and S_i+1 = S_i + K_i^T V_i, where S_0 = 0 (Yang et al. 2023, "Gated Linear
/// Attention Transformers", equation 4 without the gate). One program instance per head.
Expected<Program> recordLinearAttention(DType dtype, int block_m, int width);

} // namespace tegula::bench
