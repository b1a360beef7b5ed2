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

/// Which tiles of scores kernels need not visit, besides those that bands and ranges hide. Only flash2 has block masks.
struct BlockMask {
  enum class Source {
    none,     ///< Kernels visit each tile that the bands and ranges touch. A mask alone skips nothing.
    computed, ///< A program evaluates all conditions of the problem, and lists the tiles in which scores exist.
    /// Each call brings lists of blocks (BlockMaskTensors), as FlexAttention's BlockMask has them. A score exists if
    /// its block is listed as full, or is listed as partial and the variant's mask is true there. The causal mask,
    /// bands and ranges hold in both.
    given,
  };
  Source source = Source::none;
  bool per_batch = false; ///< Entries of the batch have given lists of their own.
  bool per_head = false;  ///< The same for query heads.
  int block_q = 128;      ///< Queries of a given block, at least 1. Blocks need not fit to the tiles of kernels,
  int block_k = 128;      ///< Keys of one.                          but multiples of a tile take less time.

  bool exists() const { return source != Source::none; }
};

/// A number of each score that the forward pass writes besides o and lse: AttentionForward::scores.
enum class ScoresOutput {
  none,
  products, ///< scale * (q k^T + products), also where a score does not exist.
  scores,   ///< The products after the variant's modification; -inf where a score does not exist.
  /// P = exp(score - lse), before Variant::probability; 0 where a score does not exist. P that dropout drops is
  /// negated, and then -0 if it is 0, as in FlashAttention's `return_attn_probs`.
  probabilities,
};

/// The axes along which the lists of tiles differ.
struct ListAxes {
  bool batch = false, heads = false;

  bool operator==(const ListAxes &) const = default;
};

/// Returns the columns of a tile whose rows have `dim` elements. MMAs need a multiple of 8. Loads fill what a row does
/// not have with zeros, and stores drop it.
constexpr int columnsOf(int dim) { return (dim + 7) / 8 * 8; }

/// The values for which one compiled attention kernel is specialised.
struct AttentionConfig {
  DType dtype = bf16; ///< Type of q, k, v, o and their gradients: f32, f16 or bf16.
  int head_dim = 0;   ///< Columns of tiles of q and k: columnsOf() of the problem's head_dim.
  int value_dim = 0;  ///< The same of v and o.
  Causal causal = Causal::none;
  Variant variant = {};
  BlockMask block_mask = {};
  ListAxes list_axes = {}; ///< The axes on which the conditions of the problem and its given blocks depend.
  int block_m = 0;         ///< Query rows per tile.
  int block_n = 0;         ///< Keys per tile.
  int heads_in_l2 = 1;     ///< As in Schedule.
  TileScheduler tile_scheduler = TileScheduler::single_tile;
  bool lse_gradient = false;                       ///< As in AttentionProblem.
  bool contain_nonfinite = false;                  ///< As in AttentionProblem, but for this program alone.
  bool deterministic = false;                      ///< As in AttentionProblem.
  bool sinks = false;                              ///< As in AttentionProblem.
  ScoresOutput scores_output = ScoresOutput::none; ///< As in AttentionProblem.
  bool diagonal_offset = false;                    ///< As in AttentionProblem.
  int page_size = 0;                               ///< As in AttentionProblem.
  bool strips = false;                             ///< The blocks of the program are listed (recordStripsOfQueries).
  int kept_of_256 = 256; ///< 256 times the probability of keeping an element of P; 256: no dropout.

  /// Returns true if program instances take their blocks of queries from a counter.
  bool isDynamic() const { return tile_scheduler == TileScheduler::dynamic_persistent; }
  /// Returns true if blocks of scores are given, and each tile lies in one of them.
  bool hasTilesInBlocks() const {
    return block_mask.source == BlockMask::Source::given && block_mask.block_q % block_m == 0 &&
           block_mask.block_k % block_n == 0;
  }
  bool dropsOut() const { return kept_of_256 < 256; }
  /// Returns the factor on the kept elements of P.
  double keptFactor() const { return 256.0 / kept_of_256; }
};

/// The algorithm that computes attention.
enum class Algorithm {
  standard, ///< Writes S and P to memory: the textbook baseline. Forward only.
  flash1,   ///< FlashAttention (Dao et al. 2022). Forward only.
  flash2,   ///< FlashAttention-2 (Dao 2023). Forward and backward.
};

enum class Pass { forward, backward };

/// The grid of a kernel's program instances, along the sequence, the heads and the batch.
enum class GridRows {
  scheduled, ///< {Kernel::concurrency(), 1, 1} or fewer if the schedule is persistent, otherwise as queries
  queries,   ///< {ceil(seqlen_q / block_m), heads, batch}
  keys, ///< {ceil(seqlen_k / block_n), kv_heads, batch}; if blocks are listed, {together, most blocks, groups * batch}
  /// {together, ceil(seqlen_k / block_n), kv_heads / together * batch}: `together` kv heads alternate, so that an
  /// instance of a kv head starts later than the one before it. flash2_backward has this grid instead of `keys` if it
  /// is deterministic.
  ordered_keys,
  block_rows, ///< {blocks of queries that a caller gives, heads, batch}, the last two as far as blocks differ
  strips,     ///< {strips, list_heads, list_batch}: the strips of a pass (block_lists.h).
  sequences,  ///< {offsets, 1, 1}: the sequences (Variant::sequences), and what follows the last one.
  tiles,      ///< {tiles, list_heads, list_batch}: the tiles of a strip.
  heads,      ///< {heads, 1, 1}
  none,       ///< {1, heads, batch}
};

/// A kernel that is recorded by its name.
struct AttentionProgram {
  std::string_view name;
  GridRows grid;
  Expected<Program> (*record)(const AttentionConfig &config);
};

/// Returns all programs: standard_scores, standard_softmax, standard_output, flash1_forward, flash2_forward,
/// flash2_forward_contain, flash2_backward_delta, flash2_backward_preprocess, flash2_backward,
/// flash2_backward_postprocess, flash2_backward_sink, attention_scores, merge, merge_backward, block_states,
/// tile_states_of_queries, tile_states_of_keys, visit_lists, visit_order, visit_ranks, strips_of_queries,
/// strips_of_keys.
std::span<const AttentionProgram> attentionPrograms();

/// Finds a program by its name. The error names the unknown word and lists the legal ones.
Expected<AttentionProgram> findAttentionProgram(std::string_view name);

// s, p: f32 [batch, heads, seqlen_q, seqlen_k].
Expected<Program> recordStandardScores(const AttentionConfig &config);  ///< s = variant(scale q k^T)
Expected<Program> recordStandardSoftmax(const AttentionConfig &config); ///< p = softmax(s), lse
Expected<Program> recordStandardOutput(const AttentionConfig &config);  ///< o = p v

/// Records Algorithm 1 of Dao et al. 2022. m and l are f32 [batch, heads, seqlen_q]; acc is f32, shaped like o.
Expected<Program> recordFlash1Forward(const AttentionConfig &config);

// With sinks, the programs of the forward pass of flash2 also take `sinks`, f32 [heads].
// With pages, they take k [pages, kv_heads, page_size, head_dim] and v [pages, kv_heads, page_size, value_dim], and
// also `page_table` and `page_lengths`, i32 [entries]. With dropsOut(), the programs of flash2 that compute P also take
// `dropout_state`, i64 [2]: seed and offset.

/// Records Algorithm 1 of Dao 2023. With isDynamic(), it also takes `counter`, i32 [1], which a launch sets to 0.
Expected<Program> recordFlash2Forward(const AttentionConfig &config);
/// Records a program that computes blocks of o again if they are not finite. Data that a row does not see then changes
/// no number of the row.
Expected<Program> recordFlash2ForwardContain(const AttentionConfig &config);

/// Records delta, f32 [batch, heads, seqlen_q], for a variant that modifies probabilities P to g(P): rowsum(P dP) with
/// dP = g'(P) (do v^T) where dropout keeps P, divided by the probability of keeping. flash2_backward_preprocess then
/// reads it in the place of rowsum(do o).
Expected<Program> recordFlash2BackwardDelta(const AttentionConfig &config);
// Dao 2023, Algorithm 2, in three programs. lse_term, dp_init: f32 [batch, heads, seqlen_q]; dq_acc: f32, like q.
/// Records lse_term = -lse / scale, from which the accumulators of S start; lse_term = lse if the variant modifies
/// scores or NaN is contained. A row that sees no key counts as lse = +inf. Also records dp_init = -rowsum(do o), from
/// which the accumulators of dP start, and dq_acc = 0. With lse_gradient, dp_init = d_lse - rowsum(do o), where lse is
/// not -inf. With dropsOut(), dp_init is multiplied by the probability of keeping. With deterministic, it also writes
/// turns = 0, i32 [batch, heads, seqlen_q], which the main program counts in. With sinks, it also reads `sinks` and
/// writes sink_parts, f32 [heads, batch, blocks of queries]: the sum of exp(sink - lse) (d_lse - rowsum(do o)) over a
/// block.
/// turns = 0, i32 [batch, heads, seqlen_q], which the main program counts in.
Expected<Program> recordFlash2BackwardPreprocess(const AttentionConfig &config);
Expected<Program> recordFlash2Backward(const AttentionConfig &config);            ///< dk, dv, dq_acc
Expected<Program> recordFlash2BackwardPostprocess(const AttentionConfig &config); ///< dq = scale dq_acc
/// Records d_sinks [heads] = the sums of sink_parts, in a fixed order.
Expected<Program> recordFlash2BackwardSink(const AttentionConfig &config);

/// Records scores, f32 [batch, heads, seqlen_q, seqlen_k], as AttentionConfig::scores_output says. It reads lse if they
/// are probabilities. Any algorithm may have it after its programs of the forward pass.
Expected<Program> recordAttentionScores(const AttentionConfig &config);

// The programs of merge.h, which has their arguments. d_lse comes last.
Expected<Program> recordMerge(const AttentionConfig &config);
Expected<Program> recordMergeBackward(const AttentionConfig &config);

// The lists of a block mask: all tensors are i32 of rank 4, and have sizes {list_batch, list_heads, strips, tiles}
// unless said otherwise. A strip is a block of queries for flash2_forward, and a block of keys for flash2_backward.
// list_batch and list_heads are 1 if all entries of the batch, or all heads, have the same lists.
/// Records block_states, i32 [1 or batch, 1 or heads, blocks of queries, blocks of keys]: 0 if a block is not listed,
/// below kFullBlock if it is only listed as partial, and from kFullBlock on if it is listed as full. Takes the lists of
/// BlockMaskTensors. Entries that name no block are left out.
Expected<Program> recordBlockStates(const AttentionConfig &config);
inline constexpr int kFullBlock = 1 << 20;
/// Records tile_states, which are 0 before: 0 if no score of a tile exists, 1 if some do, 2 if all do. Takes the
/// lengths as i64 scalars num_queries and num_keys.
Expected<Program> recordTileStatesOfQueries(const AttentionConfig &config);
Expected<Program> recordTileStatesOfKeys(const AttentionConfig &config);
/// Records visit_tiles: in each row, the numbers of whole tiles, then of the others that exist, each ascending. Also
/// records two columns of visit_counts, {list_batch, list_heads, strips, 3}: how many tiles a row lists, and how many
/// are whole.
Expected<Program> recordVisitLists(const AttentionConfig &config);
/// Records column 2 of visit_counts, for flash2_forward: all strips, those with most tiles first. The kernel begins
/// with strips in this order, so that no long one is left for the end.
Expected<Program> recordVisitOrder(const AttentionConfig &config);
/// Records visit_ranks, for a deterministic backward pass: in how many later strips a tile exists.
Expected<Program> recordVisitRanks(const AttentionConfig &config);
/// Records `query_strips`, i32 [2, 1 + strips], the blocks of queries of flash2_forward if AttentionConfig::strips is
/// set. Element [0, 0] is their number. Block b has the queries from [0, 1 + b] on, below [1, 1 + b], at most block_m.
/// A long sequence has blocks of its own (Variant::sequences). Blocks of long sequences come first, those of the
/// longest one before others. Takes q, of which it reads the shape, and the offsets of queries. Program instance n
/// lists the blocks of sequence n.
Expected<Program> recordStripsOfQueries(const AttentionConfig &config);
/// Records `key_strips`, the same for the blocks of keys of flash2_backward. Takes k and the offsets of keys.
Expected<Program> recordStripsOfKeys(const AttentionConfig &config);
/// Records a program, which no plan has, that writes keep = 1 where dropout keeps P and otherwise 0: i8 [batch, heads,
/// seqlen_q, seqlen_k]. Its parameters are q, k, of which it reads only the shapes, keep and dropout_state. Its grid is
/// GridRows::queries. For debugging, and for tests of frameworks. Without dropsOut(), it returns invalid_argument.
Expected<Program> recordDropoutMask(const AttentionConfig &config);
/// Records a program, which no plan has, that writes which tiles a strip of flash2_forward or flash2_backward visits:
/// visited_tiles, i32 [batch, heads, strips, places]. A row has the first query of the strip, or for the backward pass
/// its first key; then the number of tiles; then the first key, or query, of each tile in the order of the visits. It
/// takes the lengths as i64 scalars num_queries and num_keys, then the tensors that decide which scores exist, then
/// visit_tiles and visit_counts if there is a block mask. VisitedTiles has what it writes, for hosts.
Expected<Program> recordVisitedTiles(const AttentionConfig &config, Pass pass);

} // namespace tegula
