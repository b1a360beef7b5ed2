// SPDX-License-Identifier: MIT
// Attention variants: which scores exist, and how a score is modified.
#pragma once

#include "tegula/dsl.h"
#include "tegula/status.h"

#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace tegula {

/// The diagonal of a problem, if the numbers of queries and keys differ. Query 0 belongs to key 0 (top_left), or the
/// last query to the last key (bottom_right). The key of query i is then i, or i + seqlen_k - seqlen_q. All parts of a
/// problem have the same diagonal: its causal mask, and its variant's bands, ranges and peak. make() refuses others.
enum class Alignment { top_left, bottom_right };

/// A query head and its numbers of queries and keys. All are scalars.
struct HeadIndex {
  Value batch;
  Value head; ///< The query head.
  Value seqlen_q;
  Value seqlen_k;
  /// AttentionForward::diagonal_offset of the batch entry, if calls give one.
  std::optional<Value> diagonal_offset = {};

  /// Returns the position of a query's key on the diagonal, minus the query's own position.
  Value shift(Alignment alignment) const;
};

/// The positions of the scores of a tile.
struct ScoreIndex : HeadIndex {
  Value query; ///< i32 [rows, 1]
  Value key;   ///< i32 [1, keys]
  DType dtype; ///< Element type of q, k and v. Scores need not be more accurate than it allows.

  /// Returns the key of each query on the diagonal: i32 [rows, 1].
  Value diagonal(Alignment alignment) const;
};

/// The quantity that a dimension of a variant's tensor counts. `any` leaves its size to the variant. `up_to_seqlen_k`
/// may be smaller than seqlen_k; gather() reads 0 for the keys beyond.
enum class Axis { batch, heads, kv_heads, seqlen_q, seqlen_k, any, up_to_seqlen_k };

/// The most keys of a sliding window on each side of the diagonal.
inline constexpr int64_t kMaxWindow = int64_t(1) << 30;
/// The size of a side of a window that has no bound there. In a tensor of bounds any negative number means the same.
inline constexpr int64_t kNoBound = -1;
/// The largest position of a query's key on the diagonal, and the negative of the smallest one. Positions have 32 bits,
/// also those of tiles that reach beyond the last query and those at the ends of a window.
inline constexpr int64_t kMaxDiagonal = (int64_t(1) << 30) - 1024;
/// The smallest and the largest cap of a softcap.
inline constexpr double kMinSoftcap = 1e-30, kMaxSoftcap = 1e30;

/// A tensor that a variant reads besides q, k and v.
struct VariantTensor {
  std::string name;
  DType dtype = f32;      ///< i1 makes conditions of the bytes of an i8 tensor, such as those of bool.
  std::vector<Axis> axes; ///< One for each dimension.
  /// The backward pass adds its gradient to an f32 tensor of the same shape, named `d` + name.
  bool wants_gradient = false;
  /// Each score reads an element of its own, so that the gradient of an element has one addend.
  bool read_once = false;
  /// A call may pass a tensor that repeats to `axes`, as in NumPy: the first dimensions may be missing, and a size may
  /// be 1. Kernels get it with all dimensions and with strides of 0. Its gradient has no such freedom.
  bool broadcasts = false;
  int last_dim = 0; ///< The size of one more, last dimension; 0 if there is none.

  int rank() const { return static_cast<int>(axes.size()) + (last_dim != 0 ? 1 : 0); }
};

/// A product that is added to q k^T before the scale: scores are scale * (q k^T + the sum of all products). Its
/// operands are tensors of the variant, whose elements have the type of q. Their last dimensions are equal.
struct ScoreProduct {
  size_t queries = 0; ///< The index in Variant::tensors of [batch, heads, seqlen_q, last_dim].
  size_t keys = 0;    ///< The index of [batch, kv_heads, seqlen_k, last_dim].
};

/// The views of Variant::tensors, in the same order.
using VariantViews = std::span<const View>;

/// A band of keys. Query i sees keys `diagonal(i) - left` to `diagonal(i) + right`; nullopt means without bound.
/// Kernels visit only the blocks of keys that a band touches.
struct Band {
  std::optional<int64_t> left;
  std::optional<int64_t> right;
  Alignment alignment;
};

/// The positions `begin` to `end - 1`; empty if end <= begin.
struct Interval {
  Value begin;
  Value end;
};

/// A user's function that a variant calls while a kernel is recorded, with the line where it was given. Made implicitly
/// from a lambda. `Rule` says at compile time what is wrong with a lambda of another signature.
template <class Rule, class Result, class... Arguments> class VariantFunction {
public:
  VariantFunction() = default;
  template <class Function>
    requires(!std::same_as<Function, VariantFunction>)
  VariantFunction(Function function, Location where = Location::current()) : where_(where) {
    constexpr bool takes = std::is_invocable_v<Function &, Arguments...>;
    if constexpr (Rule::template takes<takes>())
      if constexpr (Rule::template returns<std::is_invocable_r_v<Result, Function &, Arguments...>>())
        function_ = std::move(function);
  }

  Result operator()(Arguments... arguments) const { return function_(arguments...); }
  explicit operator bool() const { return static_cast<bool>(function_); }
  Location where() const { return where_; }

private:
  std::function<Result(Arguments...)> function_;
  Location where_;
};

/// Positions `begin` to `end - 1` as numbers; empty if end <= begin.
struct KeyInterval {
  int64_t begin = 0, end = 0;
};

namespace variant_details {

struct BoundsRule {
  template <bool ok> static constexpr bool takes() {
    static_assert(ok, "VisibleRange: bounds take (Value position, const HeadIndex &at, VariantViews tensors)");
    return ok;
  }
  template <bool ok> static constexpr bool returns() {
    static_assert(ok, "VisibleRange: bounds return an Interval: write -> Interval, and return {begin, end}");
    return ok;
  }
};

struct MaskRule {
  template <bool ok> static constexpr bool takes() {
    static_assert(ok, "Variant::mask takes (const ScoreIndex &at, VariantViews tensors)");
    return ok;
  }
  template <bool ok> static constexpr bool returns() {
    static_assert(ok, "Variant::mask returns a Value, a condition such as at.key <= at.query");
    return ok;
  }
};

struct ScoreRule {
  template <bool ok> static constexpr bool takes() {
    static_assert(ok, "Variant::score takes (Value score, const ScoreIndex &at, VariantViews tensors)");
    return ok;
  }
  template <bool ok> static constexpr bool returns() {
    static_assert(ok, "Variant::score returns a Value, the score such as 2.0 * score");
    return ok;
  }
};

struct ProbabilityRule {
  template <bool ok> static constexpr bool takes() {
    static_assert(ok, "Variant::probability takes (Value p, const ScoreIndex &at, VariantViews tensors)");
    return ok;
  }
  template <bool ok> static constexpr bool returns() {
    static_assert(ok, "Variant::probability returns a Value, the factor of the values such as p * p");
    return ok;
  }
};

} // namespace variant_details

/// A band whose bounds are computed, for example from the variant's tensors. Kernels visit only the blocks that it
/// touches. They find these blocks from the bounds of a block's first and last position. Therefore, no bound may
/// decrease as the position grows.
/// Both functions describe the same pairs: query i is among the queries of key j exactly if j is among the keys of i.
/// Otherwise gradients are those of another mask.
struct VisibleRange {
  /// Takes `(Value position, const HeadIndex &at, VariantViews tensors)` and returns an Interval, the bounds of a
  /// position. `position` is an integer, a scalar or a tile; the bounds have its shape, or are
  /// scalars.
  using Bounds = VariantFunction<variant_details::BoundsRule, Interval, Value, const HeadIndex &, VariantViews>;

  Bounds keys; ///< The keys that a query sees; the forward pass masks by them.
  /// The queries that see a key; the backward pass masks by them. If empty, the backward pass masks by `keys`, too, and
  /// visits the tiles of all queries.
  Bounds queries = {};
  std::optional<Alignment> alignment = {}; ///< Diagonal from which the bounds count; none if they use none.
  /// Returns about the keys that a query sees, for the cost model of the tuner, which has no tensors. `position` is
  /// that of the query, or of its diagonal if there is an `alignment`. No bound decreases as it grows. If empty, the
  /// model expects all keys.
  std::function<KeyInterval(int64_t position, int64_t seqlen_k)> expected = {};
};

/// The keys that a query sees by all bands and ranges of the set. There is at least one band or range.
struct KeySet {
  std::vector<Band> bands = {};
  std::vector<VisibleRange> ranges = {};
};

/// The most sets of a union.
inline constexpr size_t kMaxKeySets = 4;

/// A variant of attention. Its functions run while a kernel is recorded. One forward and one backward program serve
/// every variant; the backward program differentiates `score`.
struct Variant {
  /// Name that stands for the functions where variants are told apart (problemClass). Give each variant its own.
  std::string name;
  std::vector<VariantTensor> tensors = {};
  std::vector<ScoreProduct> products = {}; ///< Products that are added to q k^T.
  /// Bands. A query sees only keys that lie in every band and in every range.
  std::vector<Band> bands = {};
  /// Ranges; see `bands`.
  std::vector<VisibleRange> ranges = {};
  /// A union: a query sees only keys of at least one of these sets. `bands` and `ranges` hold too. There are at most
  /// kMaxKeySets. If empty, there is no such limit. Kernels visit each block of keys that a set touches once.
  std::vector<KeySet> any_of = {};
  /// Takes `(const ScoreIndex &at, VariantViews tensors)` and returns an i1 tile that broadcasts to [rows, keys]: false
  /// where a score does not exist. If empty, all scores exist.
  VariantFunction<variant_details::MaskRule, Value, const ScoreIndex &, VariantViews> mask = {};
  /// Takes `(Value score, const ScoreIndex &at, VariantViews tensors)` and returns the score that goes into the
  /// softmax, from scale * (q k^T + products): floats of shape [rows, keys], or that repeat to it. Each score depends
  /// on that score alone, not on others of the tile. If empty, scores are unchanged.
  VariantFunction<variant_details::ScoreRule, Value, Value, const ScoreIndex &, VariantViews> score = {};
  /// Takes `(Value p, const ScoreIndex &at, VariantViews tensors)` and returns what is multiplied by the values instead
  /// of the probability p = exp(score - lse), as `prob_mod` of ONNX's FlexAttention: floats of shape [rows, keys], or
  /// that repeat to it. Each element depends on that p alone. Where a score does not exist or is -inf, the result
  /// counts as 0. lse stays that of the scores, and dropout comes after it. If empty, probabilities are unchanged. Each
  /// pass then visits each tile twice. Needs flash2.
  VariantFunction<variant_details::ProbabilityRule, Value, Value, const ScoreIndex &, VariantViews> probability = {};
  /// Diagonal from which scores fall with the distance. The forward kernel visits it first, so that a row's largest
  /// score comes early, and rescaling and the recompute path stay rare. It is only an order: results differ by
  /// rounding.
  std::optional<Alignment> peak = {};
  /// Sequences lie one after another, and the ranges of the variant keep them apart. Its tensors `query_offsets` and,
  /// for a backward pass, `key_offsets`, i32 [any], have the first position of each sequence and the end of the last
  /// one; no offset is less than the one before it. A block of queries or keys of flash2 then has rows of one long
  /// sequence, or of short ones, and blocks of the longest sequences start first. Results differ by rounding.
  bool sequences = false;
  /// Error in the parameters from which the variant was made. It is reported when the variant is used.
  Status status = {};

  /// Returns true if the variant has ranges, of its own or in a set of its union.
  bool hasRanges() const;
  /// Returns true if it has more than numbers, which only a name tells apart.
  bool needsName() const { return score || mask || probability || hasRanges() || !products.empty(); }
  /// Returns the sum of the last dimensions of all products.
  int productDims() const;

  // Kernels call the functions by these members. If a function returns what it must not, it is an error of the program
  // at the line that made the result. It names the variant and the function. A score that combines scores of a tile is
  // an error at the line that combines them, and so is a probability.
  Value maskAt(const ScoreIndex &at, VariantViews tensors) const; ///< Only if there is a mask.
  /// Returns f32 in the shape of `score`. Only if there is a score.
  Value scoreAt(Value score, const ScoreIndex &at, VariantViews tensors) const;
  /// Returns f32 in the shape of `p`. Only if there is a probability.
  Value probabilityAt(Value p, const ScoreIndex &at, VariantViews tensors) const;
  Interval keysAt(const VisibleRange &range, Value query, const HeadIndex &at, VariantViews tensors) const;
  Interval queriesAt(const VisibleRange &range, Value key, const HeadIndex &at, VariantViews tensors) const;
};

/// Returns the variant score -> cap * tanh(score / cap) (Gemma 2, section 2), for a cap from kMinSoftcap to
/// kMaxSoftcap. It uses `fastTanh` for 16-bit types.
Variant softcap(double cap);

/// Returns the variant score -> score - slopes[head] * |diagonal(query) - key|. `slopes` is f32 [heads] (Press et al.
/// 2021, section 3).
Variant alibi(Alignment alignment);

/// Returns the variant in which query i sees keys diagonal(i) - window_left to diagonal(i) + window_right. Both must be
/// from 0 to kMaxWindow, or kNoBound.
Variant slidingWindow(int64_t window_left, int64_t window_right, Alignment alignment);

/// Returns the same variant with bounds that each call gives: `window_left` and `window_right`, i32 [batch], or [1] for
/// all batch entries. A negative number is no bound, and one above kMaxWindow counts as kMaxWindow. Tiles outside of
/// the window are skipped as those of slidingWindow().
Variant givenWindow(Alignment alignment);

/// Returns the variant of global tokens, the first ones. Query i sees keys 0 to count - 1. If diagonal(i) < count, it
/// sees all keys. `count` must be from 0 to kMaxWindow. It is a union of two sets.
Variant globalTokens(int64_t count, Alignment alignment);

/// Returns the variant of a sliding window with global tokens (Beltagy et al. 2020, section 3.1): either() of
/// slidingWindow() and globalTokens().
Variant windowWithGlobals(int64_t window_left, int64_t window_right, int64_t global_tokens, Alignment alignment);

/// Returns the variant in which query i sees key j if j <= diagonal(i) or j < prefix_length[batch]. `prefix_length` is
/// i32 [batch]. A causal problem must not use it, because the causal mask would hide the prefix again.
Variant prefixLm(Alignment alignment);

/// Returns the variant of documents that lie one after another. Query i sees keys key_begin[batch, i] to key_end[batch,
/// i] - 1. Queries query_begin[batch, j] to query_end[batch, j] - 1 see key j. `key_begin` and `key_end` are i32
/// [batch, seqlen_q], `query_begin` and `query_end` i32 [batch, seqlen_k]; none decreases along a sequence. If queries
/// and keys are the same tokens, `query_begin` is `key_begin` and `query_end` is `key_end`. If documents have sorted
/// numbers, std::lower_bound and std::upper_bound give the bounds. They search for the number of each query among the
/// numbers of the keys, and for the number of each key among the numbers of the queries.
Variant documents();

/// Returns documents() for sequences that lie one after another in each batch entry. It also takes `query_offsets` and
/// `key_offsets` (Variant::sequences), so that kernels begin their blocks where long sequences begin.
Variant packedSequences();

/// Returns the variant in which query i sees keys interval_begin[batch, i] to interval_end[batch, i] - 1. Both are i32
/// [batch, seqlen_q], or repeat to it (VariantTensor::broadcasts): [batch, 1] are the lengths of padded sequences. None
/// decreases along a sequence. Unlike documents() it needs no bounds of keys, and the backward pass therefore skips no
/// tile by it.
Variant keyIntervals();

/// Returns keyIntervals() for queries of sequences that lie one after another in each batch entry. It also takes
/// `query_offsets` (Variant::sequences), so that blocks of the forward pass begin where long sequences begin. It has no
/// backward pass.
Variant packedQueries();

/// Returns the variant score -> score + bias[batch, head, query, key]. `bias` is [batch, heads, seqlen_q, seqlen_k] of
/// element type `dtype`, or repeats to this shape (VariantTensor::broadcasts). `dtype` may be f32 beside q of 16 bits.
/// On sm_90a it is read fastest if it has 16-bit elements and its rows begin at multiples of 16 bytes. Its gradient is
/// added to `dbias`, f32 [batch, heads, seqlen_q, seqlen_k], whose elements must all be apart. Without `wants_gradient`
/// the backward pass takes the bias as constant, and there is no `dbias`.
Variant additiveBias(DType dtype, bool wants_gradient = true);

/// Returns the variant in which query i sees key j exactly if mask[batch, head, i, j] is not 0. `mask` is i8 [batch,
/// heads, seqlen_q, up to seqlen_k], such as the bytes of a boolean tensor, or repeats to this shape
/// (VariantTensor::broadcasts). Keys beyond its last dimension are hidden; a last size of 1 counts for all keys. It
/// hides scores that are NaN, too, as no bias does. With BlockMask::Source::computed, kernels skip tiles that it hides
/// whole.
Variant maskTensor();

/// Returns the variant whose scores are scale * (q k^T + q_added k_added^T), such as the rotary part of multi-head
/// latent attention (DeepSeek-V2, section 2.1). `q_added` is [batch, heads, seqlen_q, dim]. `k_added` is [batch,
/// kv_heads, seqlen_k, dim], or repeats to this shape (VariantTensor::broadcasts): [batch, 1, seqlen_k, dim] is one for
/// all heads. Both have the element type `dtype`, which is that of q. Their gradients are added to `dq_added` and
/// `dk_added`, which are f32 and do not repeat. head_dim + dim is at most 576.
Variant addedProduct(DType dtype, int dim, bool wants_gradient = true);

/// Returns both variants in one: a query sees the keys that both let it see. The score goes through `first`, then
/// `second`, and so does the probability. Their tensors must have different names, and their peaks one diagonal. The
/// name joins both names with a "+". It is empty if a part has functions and no name. If both have unions, the union of
/// the result has the intersection of each set of `first` with each set of `second`: at most kMaxKeySets.
Variant combine(Variant first, Variant second);

/// Returns the variant in which a query sees the keys that at least one of both lets it see: the union of their bands,
/// ranges and unions, which has at most kMaxKeySets sets. Each variant must limit the keys, and have no mask, score,
/// probability and peak; combine the result with a variant that has them. Names and tensors are as in combine(), with a
/// "|" between the names.
Variant either(Variant first, Variant second);

/// Returns the variant that a text describes, such as
///
///   variant 1
///   tensor slopes f32[heads]
///   score = score - slopes[head] * abs(query - key)
///   mask = key <= query
///
/// docs/kernels.md has the language. Variant::status has the first error, with its line and column. The variant has no
/// name.
Variant variantFromText(std::string_view text);

} // namespace tegula
