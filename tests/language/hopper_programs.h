// SPDX-License-Identifier: MIT
// Programs with warp roles that are not attention, for the tests of their results, of their synchronisation and of
// their PTX.
#pragma once

#include "tegula/dsl.h"

namespace tegula::language {

/// X = A B^T from both sides: U = X^T C, for which each warpgroup has its part of X, and V += X B, which needs all of
/// X. Warpgroups exchange X where `steps` delays V, or names the write of X. a and c are [n, 128], b [128, 128],
/// u [128, 128] and v [n, 128].
Expected<Program> recordBothSides(const char *steps);

/// The gradients of O = P V with P = sigmoid(Q K^T) (Ramapuram et al. 2024, "Theory, Analysis, and Best Practices for
/// Sigmoid Self-Attention"): dV = P^T dO, dS = P (1 - P) dO V^T, dK = dS^T Q, dQ += dS K. q, d_o and dq are
/// [queries, 64], k, v, dk and dv [keys, 64]. A program instance has 128 keys. The loop has the step list `steps`, if
/// any.
Expected<Program> recordSigmoidBackward(const char *steps = "");

/// Y = max(X W, 0) V. The loop has the step list `steps`, in which the MMAs are `hidden` and `out`.
Expected<Program> recordInSteps(const char *steps);

/// C = A B, whose loop also reads the tiles of A to registers, for the sum of each row.
Expected<Program> recordProductAndRowSums();

/// C = A B, and after the loop D = the product of the first tiles.
Expected<Program> recordProductAfterALoop();

/// Y = P V and the sums of P's rows, where P = max(X W + bias, 0) is rounded to bf16. Columns that W does not have
/// count as if their bias were 3. An iteration has `width` columns of W.
Expected<Program> recordWithBias(DType dtype, int width);

/// Y = (X W * scale) V for each row of scale. The product of X and W is rounded to bf16 after it was scaled. x is
/// [m, 128], w [128, hidden], scale f32 [heads, hidden or more], v [hidden, 64] and y [heads, m, 64].
Expected<Program> recordScaledColumns();

/// Y = max(X W + bias + marks, 0) V. The sum is rounded to bf16. The bias is f32, marks are i8.
Expected<Program> recordWithTiles();

/// C = A B, 128 rows after 128 rows. c has elements of `dtype`.
Expected<Program> recordStores(DType dtype);

/// C = A B + A E, D = C + A E and the sums of D's rows, 128 rows after 128 rows. An iteration needs D for the sums, so
/// it has both tiles before it stores C.
Expected<Program> recordTwoStores();

/// C += A B, split along the depth: each instance adds its part of the depth to all rows of a block of columns, from
/// row `first` on. Tiles have `rows` x 128 elements.
Expected<Program> recordSplitProduct(int rows, int first);

/// The same with 64 rows. Instances with a part of the depth add to a tile in the order of the parts.
Expected<Program> recordSplitProductInTurns();

/// C = A B with 128 rows, split along the depth: each instance stores its product in parts [parts, 128, columns]. The
/// last one of a block of columns adds the parts.
Expected<Program> recordSplitProductWithArrivals();

/// C = A B with a [m, k], b [k, n] and c [m, n] of f32, which the tensor cores read as tf32. They need the depth along
/// the rows of both operands, so B must be transposed.
Expected<Program> recordTf32Product(int block_m, int block_n);

/// C = A B with a [m, k] and b [k, n] of e4m3 and c [m, n] of f32. B must be transposed for the same reason.
Expected<Program> recordE4m3Product(int block_m, int block_n);
/// C = A B^T with b [n, k], of which no role transposes a tile.
Expected<Program> recordE4m3ProductOfColumns(int block_m, int block_n);
/// C = (2 A) B, of which threads hold 2 A. b is [k, 128].
Expected<Program> recordE4m3ProductOfAComputedTile();

/// C += A B, 64 rows after 64 rows, with a depth of 32 and 128 columns. B is transposed once, before the loop.
Expected<Program> recordTf32Rows();

/// C = B^T B, whose two operands are one transposed tile. b is [k, 128].
Expected<Program> recordTf32Square();

/// C = A (2 B), of which threads hold 2 B: the warps that compute transpose it. b is [k, 128].
Expected<Program> recordTf32ProductOfAComputedTile();

/// C = A B, in which program instances draw blocks of 128 rows. b has at most 128 columns.
Expected<Program> recordDrawnTf32Product();

} // namespace tegula::language
