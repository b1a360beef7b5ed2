// SPDX-License-Identifier: MIT
// The attention kernels as recorded programs.
//
//   q [batch, heads, seqlen_q, head_dim]       o   [batch, heads, seqlen_q, value_dim]
//   k [batch, kv_heads, seqlen_k, head_dim]    lse [batch, heads, seqlen_q], f32, natural logarithm
//   v [batch, kv_heads, seqlen_k, value_dim]
//
// heads is a multiple of kv_heads; query head h reads kv head h / (heads / kv_heads). Shapes, strides and the scale are
// known at run time only; everything in AttentionConfig is known while recording.
#pragma once

#include "tegula/attention_variant.h"
#include "tegula/program.h"

#include <span>
#include <string_view>

namespace tegula {

/// Whether query i sees only keys up to its own position, and which key that is where seqlen_q != seqlen_k.
enum class Causal { none, top_left, bottom_right };

/// What one compiled attention kernel is specialised for.
struct AttentionConfig {
  DType dtype = bf16; ///< Of q, k, v, o and their gradients: f32, f16 or bf16.
  int head_dim = 0;
  int value_dim = 0;
  Causal causal = Causal::none;
  Variant variant = {};
  int block_m = 0;     ///< Query rows per tile.
  int block_n = 0;     ///< Keys per tile.
  int heads_in_l2 = 1; ///< As in Schedule.
  TileScheduler tile_scheduler = TileScheduler::single_tile;
  bool lse_gradient = false;      ///< As in AttentionProblem.
  bool contain_nonfinite = false; ///< As in AttentionProblem, by this program alone.

  /// Returns whether program instances take their blocks of queries from a counter.
  bool isDynamic() const { return tile_scheduler == TileScheduler::dynamic_persistent; }
};

/// Which algorithm computes attention.
enum class Algorithm {
  standard, ///< Writes S and P to memory: the textbook baseline. Forward only.
  flash1,   ///< FlashAttention (Dao et al. 2022). Forward only.
  flash2,   ///< FlashAttention-2 (Dao 2023). Forward and backward.
};

/// The axis of a grid over program instances: positions per instance along the sequence, and which heads.
enum class GridRows {
  scheduled, ///< {Kernel::concurrency(), 1, 1} or fewer if the schedule is persistent, else queries
  queries,   ///< {ceil(seqlen_q / block_m), heads, batch}
  keys,      ///< {ceil(seqlen_k / block_n), kv_heads, batch}
  none,      ///< {1, heads, batch}
};

/// A kernel by name.
struct AttentionProgram {
  std::string_view name;
  GridRows grid;
  Expected<Program> (*record)(const AttentionConfig &config);
};

/// All of them: standard_scores, standard_softmax, standard_output, flash1_forward, flash2_forward,
/// flash2_forward_contain,
/// flash2_backward_preprocess, flash2_backward, flash2_backward_postprocess.
std::span<const AttentionProgram> attentionPrograms();

/// Looks a program up; the error names the unknown word and lists the legal ones.
Expected<AttentionProgram> findAttentionProgram(std::string_view name);

// s, p: f32 [batch, heads, seqlen_q, seqlen_k].
Expected<Program> recordStandardScores(const AttentionConfig &config);  ///< s = variant(scale q k^T)
Expected<Program> recordStandardSoftmax(const AttentionConfig &config); ///< p = softmax(s), lse
Expected<Program> recordStandardOutput(const AttentionConfig &config);  ///< o = p v

/// Dao et al. 2022, Algorithm 1. m, l: f32 [batch, heads, seqlen_q]; acc: f32, shaped like o.
Expected<Program> recordFlash1Forward(const AttentionConfig &config);

/// Dao 2023, Algorithm 1. With isDynamic(), counter: i32 [1], which a launch sets to 0.
Expected<Program> recordFlash2Forward(const AttentionConfig &config);
/// Computes blocks of o that are not finite once more: what a row does not see changes no number of it.
Expected<Program> recordFlash2ForwardContain(const AttentionConfig &config);

// Dao 2023, Algorithm 2, in three programs. delta: f32 [batch, heads, seqlen_q]; dq_acc: f32, shaped like q.
/// delta = rowsum(do o), dq_acc = 0. With lse_gradient, delta = rowsum(do o) - dlse, where lse is not -inf.
Expected<Program> recordFlash2BackwardPreprocess(const AttentionConfig &config);
Expected<Program> recordFlash2Backward(const AttentionConfig &config);            ///< dk, dv, dq_acc
Expected<Program> recordFlash2BackwardPostprocess(const AttentionConfig &config); ///< dq = scale dq_acc

} // namespace tegula
