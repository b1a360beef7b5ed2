// SPDX-License-Identifier: MIT
// Appending: new keys and values of each sequence are written into a cache, perhaps with a rotary embedding.
//
//   Expected<PlanSpec> spec = appendToCache({.dtype = bf16, .head_dim = 128, .value_dim = 128, .rotary_dim = 64});
//   Expected<Plan> plan = Plan::make(*spec, cache);
//
// Lengths and page tables are in the memory of the device. No launch waits for them, and no plan needs a workspace.
#pragma once

#include "tegula/cache_lengths.h"
#include "tegula/plan.h"

namespace tegula {

/// The computation of an appending plan. All sizes belong to the launch.
struct AppendProblem {
  DType dtype = bf16;     ///< Type of all tensors but the lengths and the table: f32, f16 or bf16.
  int head_dim = 0;       ///< Dimension of k and q: 1 to 1024.
  int value_dim = 0;      ///< Dimension of v: up to 1024. 0: there is no v.
  bool has_pages = false; ///< The caches are pages with a table.
  /// The columns of k and q that rotate, an even number up to head_dim (RoFormer, Su et al. 2021). 0: none.
  int rotary_dim = 0;
  /// Columns 2 i and 2 i + 1 are a pair, as in RoFormer and GPT-J. If it is false, columns i and i + rotary_dim / 2
  /// are.
  bool interleaved = false;
  bool rotates_queries = false; ///< Queries rotate, too. Query i has the position of new key i.
  bool same_position = false;   ///< All queries have the position of the first new key instead.
  /// The keys that `lengths` counts. CacheLengths::last_page is not supported.
  CacheLengths lengths = CacheLengths::before;
};

/// Describes the plan. Its arguments, in this order, with any strides:
///
///   k_new       [batch, kv_heads, seqlen_new, head_dim]
///   k           [batch, kv_heads, seqlen_k, head_dim], or [pages, kv_heads, page_size, head_dim], written
///   lengths     i32 [batch]: how many keys each sequence had before, or what AppendProblem::lengths says
///   page_table  i32 [batch, any], with pages only: key j lies in page page_table[j / page_size], at j % page_size, for
///               pages of any size
///   cos, sin    [positions, rotary_dim / 2], with a rotary embedding only
///   v_new, v    as k_new and k, with value_dim; only if there is a v
///   q           [batch, heads, seqlen_q, head_dim], only if queries rotate
///   q_rotated   shaped like q, written
///
/// New key i and query i of a sequence get the position i after the keys that it had before; with same_position, all
/// queries get the first one. If lengths count the new keys, queries that rotate are as many:
///
///   (a, b) -> (a cos - b sin, a sin + b cos)     for the columns a and b of each pair, in f32
///
/// The plan drops rows that have no place in the cache. Positions beyond cos and sin have cos = sin = 0. Returns
/// invalid_argument with the field, its value and what is legal.
Expected<PlanSpec> appendToCache(const AppendProblem &problem) noexcept;

/// The computation of a rotating plan. All sizes belong to the launch.
struct RotaryProblem {
  DType dtype = bf16;       ///< Type of all tensors but the positions: f32, f16 or bf16.
  int head_dim = 0;         ///< Dimension of x: 1 to 1024.
  int rotary_dim = 0;       ///< As in AppendProblem, but not 0.
  bool interleaved = false; ///< As in AppendProblem.
};

/// Describes the plan that rotates x by the angles of its positions, as appendToCache does. Its arguments, in this
/// order:
///
///   x          [batch, heads, length, head_dim]
///   positions  i32 [batch, length]
///   y          shaped like x, written
///   cos, sin   [count, rotary_dim / 2]
///
/// Returns the errors of appendToCache.
Expected<PlanSpec> rotaryEmbedding(const RotaryProblem &problem) noexcept;

} // namespace tegula
