// SPDX-License-Identifier: MIT
// What distinguishes one attention variant from another: which scores exist, and how a score is modified.
#pragma once

#include "tegula/dsl.h"
#include "tegula/status.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace tegula {

/// How queries and keys are lined up where their numbers differ: query 0 beside key 0, or the last query beside the
/// last key. The key beside query i is i, or i + seqlen_k - seqlen_q. All parts of a problem have the same diagonal:
/// its causal mask, and its variant's bands, ranges and peak. make() refuses others.
enum class Alignment { top_left, bottom_right };

/// Which head, and how many queries and keys it has. All are scalars.
struct HeadIndex {
  Value batch;
  Value head; ///< The query head.
  Value seqlen_q;
  Value seqlen_k;

  /// How far the key beside a query is from the query's own position.
  Value shift(Alignment alignment) const;
};

/// Where the scores of a tile lie.
struct ScoreIndex : HeadIndex {
  Value query; ///< i32 [rows, 1]
  Value key;   ///< i32 [1, keys]
  DType dtype; ///< Element type of q, k and v: scores need not be more accurate than it lets them be.

  /// The key beside each query: i32 [rows, 1].
  Value diagonal(Alignment alignment) const;
};

/// What a dimension of a variant's tensor counts; `any` leaves its size to the variant.
enum class Axis { batch, heads, kv_heads, seqlen_q, seqlen_k, any };

/// A tensor that a variant reads besides q, k and v.
struct VariantTensor {
  std::string name;
  DType dtype = f32;
  std::vector<Axis> axes; ///< One per dimension.
  /// The backward pass adds its gradient to an f32 tensor of the same shape, named `d` + name.
  bool wants_gradient = false;
};

/// The views of Variant::tensors, in the same order.
using VariantViews = std::span<const View>;

/// Query i sees keys `diagonal(i) - left` to `diagonal(i) + right`; nullopt means without bound.
/// Kernels visit only the blocks of keys that a band touches.
struct Band {
  std::optional<int64_t> left;
  std::optional<int64_t> right;
  Alignment alignment;
};

/// Positions `begin` to `end - 1`; empty if end <= begin.
struct Interval {
  Value begin;
  Value end;
};

/// A band whose bounds are computed, from the variant's tensors for instance. Kernels visit only the blocks that it
/// touches, which they know from the bounds of a block's first and last position: no bound may decrease as the position
/// grows.
struct VisibleRange {
  /// `position` is an integer, a scalar or a tile; the bounds have its shape, or are scalars.
  using Bounds = std::function<Interval(Value position, const HeadIndex &at, VariantViews tensors)>;

  Bounds keys;    ///< The keys that a query sees.
  Bounds queries; ///< The queries that see a key: query i is one of key j's where key j is one of query i's.
  std::optional<Alignment> alignment = {}; ///< Of the diagonal that the bounds count from; none if they use none.
};

/// A variant of attention. The functions run while a kernel is recorded; one forward and one backward program serve
/// every variant, the backward one by differentiating `score`.
struct Variant {
  /// Stands for what the functions compute where variants are told apart (problemClass): give each its own.
  std::string name;
  std::vector<VariantTensor> tensors = {};
  /// A query sees only keys that lie in every band ...
  std::vector<Band> bands = {};
  /// ... and in every range.
  std::vector<VisibleRange> ranges = {};
  /// i1 tile that broadcasts to [rows, keys]: false where a score does not exist. Empty: all exist.
  std::function<Value(const ScoreIndex &, VariantViews)> mask = {};
  /// f32 [rows, keys]: the score that goes into the softmax, from scale * q k^T. Empty: unchanged.
  std::function<Value(Value score, const ScoreIndex &, VariantViews)> score = {};
  /// Scores fall with the distance from this diagonal: the forward kernel begins there, so that a row's largest score
  /// comes early, and late rescaling and second attempts stay rare. Only an order: results differ by rounding.
  std::optional<Alignment> peak = {};
  /// What is wrong with the parameters the variant was made from; reported when it is used.
  Status status = {};

  bool hasFunctions() const { return score || mask || !ranges.empty(); }
};

/// score -> cap * tanh(score / cap), for cap > 0 (Gemma 2, section 2); with `fastTanh` for 16-bit types.
Variant softcap(double cap);

/// score -> score - slopes[head] * |diagonal(query) - key|; `slopes` is f32 [heads] (Press et al. 2021, section 3).
Variant alibi(Alignment alignment);

/// Query i sees keys diagonal(i) - left to diagonal(i) + right; both are 0 or more.
Variant slidingWindow(int64_t left, int64_t right, Alignment alignment);

/// Query i sees key j if j <= diagonal(i) or j < prefix_length[batch]; `prefix_length` is i32 [batch].
/// Not to be combined with a causal problem, which would hide the prefix again.
Variant prefixLm(Alignment alignment);

/// Documents that lie one after another: query i sees keys key_begin[batch, i] to key_end[batch, i] - 1, and key j is
/// seen by queries query_begin[batch, j] to query_end[batch, j] - 1. `key_begin` and `key_end` are i32
/// [batch, seqlen_q], `query_begin` and `query_end` i32 [batch, seqlen_k]; none decreases along a sequence. Where
/// queries and keys are the same tokens, `query_begin` is `key_begin` and `query_end` is `key_end`. Of sorted numbers
/// of documents, the bounds are what std::lower_bound and std::upper_bound find for each query among those of the keys,
/// and for each key among those of the queries.
Variant documents();

/// score -> score + bias[batch, head, query, key]; `bias` has rank 4 and element type `dtype`, and a stride may be 0 to
/// share it between batches, heads or queries. On sm_90a it is read fastest where it has 16-bit elements and its rows
/// begin at multiples of 16 bytes. Its gradient is added to `dbias`, f32, whose elements must all be apart.
Variant additiveBias(DType dtype);

/// Both: a query sees what both let it see, and the score goes through `first`, then `second`.
/// Their tensors must have different names, and their peaks one diagonal. The name joins both names with a "+"; it is
/// empty if a part has functions and no name.
Variant combine(Variant first, Variant second);

} // namespace tegula
