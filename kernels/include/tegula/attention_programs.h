// SPDX-License-Identifier: MIT
// The attention kernels as recorded programs.
//
//   q [batch, heads, seqlen_q, head_dim]       o   [batch, heads, seqlen_q, value_dim]
//   k [batch, kv_heads, seqlen_k, head_dim]    lse [batch, heads, seqlen_q], f32, natural logarithm
//   v [batch, kv_heads, seqlen_k, value_dim]
//
// heads is a multiple of kv_heads. Query head h reads kv head h / (heads / kv_heads). Shapes, strides and the scale are
// known only at run time. Everything in AttentionConfig is known while recording.
#pragma once

#include "tegula/attention_variant.h"
#include "tegula/program.h"

#include <span>
#include <string_view>

namespace tegula {

/// The causal mask: query i sees only keys up to its own position. If seqlen_q != seqlen_k, positions count from query
/// 0 and key 0 (top_left), or from the last query and the last key (bottom_right).
enum class Causal { none, top_left, bottom_right };

/// The values for which one compiled attention kernel is specialised.
struct AttentionConfig {
  DType dtype = bf16; ///< Type of q, k, v, o and their gradients: f32, f16 or bf16.
  int head_dim = 0;
  int value_dim = 0;
  Causal causal = Causal::none;
  Variant variant = {};
  int block_m = 0;     ///< Query rows per tile.
  int block_n = 0;     ///< Keys per tile.
  int heads_in_l2 = 1; ///< As in Schedule.
  TileScheduler tile_scheduler = TileScheduler::single_tile;
  bool lse_gradient = false;      ///< As in AttentionProblem.
  bool contain_nonfinite = false; ///< As in AttentionProblem, but for this program alone.
  bool deterministic = false;     ///< As in AttentionProblem.

  /// Returns true if program instances take their blocks of queries from a counter.
  bool isDynamic() const { return tile_scheduler == TileScheduler::dynamic_persistent; }
};

/// The algorithm that computes attention.
enum class Algorithm {
  standard, ///< Writes S and P to memory: the textbook baseline. Forward only.
  flash1,   ///< FlashAttention (Dao et al. 2022). Forward only.
  flash2,   ///< FlashAttention-2 (Dao 2023). Forward and backward.
};

/// The grid of a kernel's program instances, along the sequence, the heads and the batch.
enum class GridRows {
  scheduled, ///< {Kernel::concurrency(), 1, 1} or fewer if the schedule is persistent, otherwise as queries
  queries,   ///< {ceil(seqlen_q / block_m), heads, batch}
  keys,      ///< {ceil(seqlen_k / block_n), kv_heads, batch}
  /// {together, ceil(seqlen_k / block_n), kv_heads / together * batch}: `together` kv heads alternate, so that an
  /// instance of a kv head starts later than the one before it. flash2_backward has this grid instead of `keys` if it
  /// is deterministic.
  ordered_keys,
  none, ///< {1, heads, batch}
};

/// A kernel that is recorded by its name.
struct AttentionProgram {
  std::string_view name;
  GridRows grid;
  Expected<Program> (*record)(const AttentionConfig &config);
};

/// Returns all programs: standard_scores, standard_softmax, standard_output, flash1_forward, flash2_forward,
/// flash2_forward_contain, flash2_backward_preprocess, flash2_backward, flash2_backward_postprocess.
std::span<const AttentionProgram> attentionPrograms();

/// Finds a program by its name. The error names the unknown word and lists the legal ones.
Expected<AttentionProgram> findAttentionProgram(std::string_view name);

// s, p: f32 [batch, heads, seqlen_q, seqlen_k].
Expected<Program> recordStandardScores(const AttentionConfig &config);  ///< s = variant(scale q k^T)
Expected<Program> recordStandardSoftmax(const AttentionConfig &config); ///< p = softmax(s), lse
Expected<Program> recordStandardOutput(const AttentionConfig &config);  ///< o = p v

/// Records Algorithm 1 of Dao et al. 2022. m and l are f32 [batch, heads, seqlen_q]; acc is f32, shaped like o.
Expected<Program> recordFlash1Forward(const AttentionConfig &config);

/// Records Algorithm 1 of Dao 2023. With isDynamic(), it also takes `counter`, i32 [1], which a launch sets to 0.
Expected<Program> recordFlash2Forward(const AttentionConfig &config);
/// Records a program that computes blocks of o again if they are not finite. Data that a row does not see then changes
/// no number of the row.
Expected<Program> recordFlash2ForwardContain(const AttentionConfig &config);

// Dao 2023, Algorithm 2, in three programs. lse_term, dp_init: f32 [batch, heads, seqlen_q]; dq_acc: f32, like q.
/// Records lse_term = -lse / scale, from which the accumulators of S start; lse_term = lse if the variant modifies
/// scores or NaN is contained. A row that sees no key counts as lse = +inf. Also records dp_init = -rowsum(do o), from
/// which the accumulators of dP start, and dq_acc = 0. With lse_gradient, dp_init = d_lse - rowsum(do o), where lse is
/// not -inf. With deterministic, it also writes turns = 0, i32 [batch, heads, seqlen_q], which the main program counts
/// in.
Expected<Program> recordFlash2BackwardPreprocess(const AttentionConfig &config);
Expected<Program> recordFlash2Backward(const AttentionConfig &config);            ///< dk, dv, dq_acc
Expected<Program> recordFlash2BackwardPostprocess(const AttentionConfig &config); ///< dq = scale dq_acc

} // namespace tegula
