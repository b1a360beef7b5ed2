// SPDX-License-Identifier: MIT
// Kernels as users of the language write them, without a schedule: what the compiler chooses for them is measured.
#pragma once

#include "tegula/dsl.h"

namespace tegula::bench {

/// y = softmax of each row of x, [rows, columns], columns <= tile_columns. An instance has tile_rows rows.
Expected<Program> recordRowSoftmax(DType dtype, int tile_rows, int tile_columns);

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias for each row of x, [rows, columns] with columns <=
/// tile_columns; weight and bias [columns], epsilon f32. An instance has tile_rows rows.
Expected<Program> recordLayerNorm(DType dtype, int tile_rows, int tile_columns);

/// Attention whose softmax has one more score for each head, its sink, without a value (Xiao et al. 2023, "Efficient
/// Streaming Language Models with Attention Sinks"). q, o [batch, heads, queries, head_dim], k, v [batch, heads, keys,
/// head_dim], sink f32 [heads], scale f32. The grid is (queries / block_m, heads, batch).
Expected<Program> recordSinkAttention(DType dtype, int block_m, int block_n, int head_dim);

/// o = sigmoid(scale q k^T + shift) v (Ramapuram et al. 2024, "Theory, Analysis, and Best Practices for Sigmoid
/// Self-Attention"). Shapes and grid are those of recordSinkAttention; shift f32.
Expected<Program> recordSigmoidForward(DType dtype, int block_m, int block_n, int head_dim);

/// The gradients of sum(o * d_o) of recordSigmoidForward. Adds dq / scale to dq_acc, f32, which begins with 0. The grid
/// is (keys / block_n, heads, batch).
Expected<Program> recordSigmoidBackward(DType dtype, int block_m, int block_n, int head_dim);

/// dq = scale * dq_acc, converted. The grid is (queries / block_m, heads, batch).
Expected<Program> recordSigmoidFinish(DType dtype, int block_m, int head_dim);

} // namespace tegula::bench
