// SPDX-License-Identifier: MIT
// Decoding: attention of a few new queries of each sequence on the keys and values of a cache.
//
//   Expected<PlanSpec> spec = decodeAttention({.dtype = bf16, .head_dim = 128, .value_dim = 128}, cache.target());
//   Expected<Plan> plan = Plan::make(*spec, cache);
//   plan->launch({{"q", q}, {"k", k}, {"v", v}, {"lengths", lengths}, {"o", o}, {"lse", lse}, {"scale", scale}},
//                workspace);
//
// Lengths and page tables are in the memory of the device. No launch waits for them, and a captured launch may be
// replayed with others.
#pragma once

#include "tegula/attention_variant.h"
#include "tegula/cache_lengths.h"
#include "tegula/plan.h"

namespace tegula {

/// The computation of a decoding plan. All sizes belong to the launch.
struct DecodeProblem {
  DType dtype = bf16; ///< Type of q, k, v and o: f32, f16 or bf16.
  int head_dim = 0;   ///< Head dimension of q and k, from 1 to 576.
  int value_dim = 0;  ///< Head dimension of v and o, from 1 to 512.
  /// v is the first value_dim columns of k, as in the absorbed form of multi-head latent attention (DeepSeek-V2, 2024).
  /// Kernels then load each key once, and the plan has no argument v.
  bool latent = false;
  /// The last query of a sequence is the one of its last key, and a query sees no key after its own. If it is false,
  /// all queries see all keys.
  bool causal = true;
  /// The keys of a page. 0 if k and v have no pages. If it is a multiple of 16, a tile has keys of one page: at most as
  /// many as the largest power of two that divides it. Other pages are slower, because a tile has keys of several ones.
  /// On Hopper, TMA loads these only if the size is a multiple of 8.
  int page_size = 0;
  /// The page tables of all sequences lie one after another (CSR, as kv_indptr and kv_indices of FlashInfer).
  bool page_offsets = false;
  /// v has a page table of its own, and as many pages as it likes. Not with a prefix, nor with latent.
  bool page_table_v = false;
  /// The keys that `lengths` counts. Not CacheLengths::last_page without page_offsets.
  CacheLengths lengths = CacheLengths::all;
  /// Bands, a score and a mask, as in AttentionProblem. Diagonals are those of bottom_right. ScoreIndex::head and
  /// ScoreIndex::query are tiles i32 [rows, 1]; ScoreIndex::seqlen_k is the length of the sequence.
  Variant variant = {};
  bool sinks = false; ///< Each query head has a sink, as in AttentionProblem.
  /// About how many rows one head of k and v has: queries of a sequence times query heads of a head of k. Others are as
  /// correct.
  int expected_rows = 8;
  /// Sequences have begins, too: the first key that queries see, such as after padding on the left.
  bool begins = false;
  /// Not 0: sequences are cut after this number of keys, a multiple of 256. If page_size is a multiple of 16, the
  /// largest power of two that divides it is enough. The bits of a result then depend neither on the other sequences
  /// nor on the device's number of multiprocessors, unless a launch gives num_spans.
  int keys_per_part = 0;
  /// All sequences begin with the same keys, such as those of a system prompt. They are read once for all sequences,
  /// and tensor cores multiply them with the queries of all (Hydragen, Juravsky et al. 2024).
  bool prefix = false;
  /// The schedule of the kernels that read the cache; block_m is the rows of a tile, and block_n its keys, a multiple
  /// of
  /// 16. If no field is set, all are chosen.
  Schedule schedule = {};
};

/// Describes the plan. Its arguments, in this order, with any strides:
///
///   q           [batch, heads, seqlen_q, head_dim]
///   k           [batch, kv_heads, seqlen_k, head_dim], or [pages, kv_heads, page_size, head_dim]
///   lengths     i32 [batch]: how many keys each sequence has, those of its queries included, or what
///               DecodeProblem::lengths says
///   page_table  i32 [batch, pages of the longest sequence], with pages only: key j of a sequence lies in page
///               page_table[j / page_size] of its row, at place j % page_size. With page_offsets it is i32 [entries]
///   page_table_v  the same for v, with page_table_v only; otherwise page_table is that of v, too
///   page_offsets  i32 [batch + 1], with page_offsets only: the row of sequence b are the entries page_offsets[b] to
///               page_offsets[b + 1] - 1
///   begins      i32 [batch], with begins only: no query sees the keys before it
///   prefix_lengths  i32 [1], with prefix only: how many keys the prefix has
///   prefix_page_table  i32 [1, pages of the prefix], with prefix and pages only: the pages of the prefix
///   prefix_k    [1, kv_heads, prefix_keys, head_dim], with prefix and without pages only
///   v           [batch, kv_heads, seqlen_k, value_dim], or [pages, kv_heads, page_size, value_dim], not with latent
///   scale       f32, the factor on the scores
///   one tensor for each of Variant::tensors, with all of its dimensions
///   prefix_v    [1, kv_heads, prefix_keys, value_dim], with prefix and without pages only
///   o           [batch, heads, seqlen_q, value_dim], written
///   lse         f32 [batch, heads, seqlen_q], written
///   sinks       f32 [heads], with sinks only
///
/// With a prefix, the keys of a sequence are those of the prefix and then its own. k, lengths, page_table and begins
/// are about its own keys alone, and own keys may be none. Diagonals and ScoreIndex count all keys. A query of a
/// sequence with fewer own keys than queries may have its diagonal in the prefix. In the kernel that reads the prefix
/// ScoreIndex::batch and ScoreIndex::seqlen_k are tiles i32 [rows, 1], too. The choice `num_prefix_parts` is the number
/// of parts into which the prefix is cut.
///
/// A length or a begin below 0 counts as 0, and a length beyond the tensor or the table of the sequence as what these
/// hold. What lies before the first or after the last key of a sequence reaches no result, even if it is NaN. A page
/// that does not exist reads as zeros. A query that sees no key gives o = 0 and lse = -inf, or the sink.
///
/// The blocks of keys of all sequences are shared equally among the program instances of the device. A sequence whose
/// keys several instances read is merged at the end (FlashDecoding, Dao et al. 2023). Results depend by rounding on the
/// lengths of all sequences and on the device, and are the same bits in each run. The choice `num_spans` is the number
/// of shares. Many sequences with room for few keys are not cut.
///
/// How sequences are cut depends on lengths, page offsets, begins and shapes alone, which the layers of a model's step
/// have in common. Plan::prepare computes it once for all of them. It takes the arguments before v and scale, of which
/// it reads only the i32 tensors: q, k and prefix_k may have any values, and layers may have others. Launches of other
/// sequences than the prepared ones have undefined results, but access nothing outside of their tensors.
///
/// Returns invalid_argument with the field, its value and what is legal, and unsupported for a variant with products,
/// ranges, unions or a probability.
Expected<PlanSpec> decodeAttention(const DecodeProblem &problem, const Target &target) noexcept;

} // namespace tegula
