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

/// The quantity that a dimension of a variant's tensor counts. `any` leaves its size to the variant.
enum class Axis { batch, heads, kv_heads, seqlen_q, seqlen_k, any };

/// The most keys of a sliding window on each side of the diagonal.
inline constexpr int64_t kMaxWindow = int64_t(1) << 30;
/// The smallest and the largest cap of a softcap.
inline constexpr double kMinSoftcap = 1e-30, kMaxSoftcap = 1e30;

/// A tensor that a variant reads besides q, k and v.
struct VariantTensor {
  std::string name;
  DType dtype = f32;
  std::vector<Axis> axes; ///< One for each dimension.
  /// The backward pass adds its gradient to an f32 tensor of the same shape, named `d` + name.
  bool wants_gradient = false;
  /// Each score reads an element of its own, so that the gradient of an element has one addend.
  bool read_once = false;
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

  Bounds keys;                             ///< The keys that a query sees; the forward pass masks by them.
  Bounds queries;                          ///< The queries that see a key; the backward pass masks by them.
  std::optional<Alignment> alignment = {}; ///< Diagonal from which the bounds count; none if they use none.
};

/// A variant of attention. Its functions run while a kernel is recorded. One forward and one backward program serve
/// every variant; the backward program differentiates `score`.
struct Variant {
  /// Name that stands for the functions where variants are told apart (problemClass). Give each variant its own.
  std::string name;
  std::vector<VariantTensor> tensors = {};
  /// Bands. A query sees only keys that lie in every band and in every range.
  std::vector<Band> bands = {};
  /// Ranges; see `bands`.
  std::vector<VisibleRange> ranges = {};
  /// Takes `(const ScoreIndex &at, VariantViews tensors)` and returns an i1 tile that broadcasts to [rows, keys]: false
  /// where a score does not exist. If empty, all scores exist.
  VariantFunction<variant_details::MaskRule, Value, const ScoreIndex &, VariantViews> mask = {};
  /// Takes `(Value score, const ScoreIndex &at, VariantViews tensors)` and returns the score that goes into the
  /// softmax, from scale * q k^T: floats of shape [rows, keys], or that repeat to it. Each score depends on that score
  /// alone, not on others of the tile. If empty, scores are unchanged.
  VariantFunction<variant_details::ScoreRule, Value, Value, const ScoreIndex &, VariantViews> score = {};
  /// Diagonal from which scores fall with the distance. The forward kernel visits it first, so that a row's largest
  /// score comes early, and rescaling and the recompute path stay rare. It is only an order: results differ by
  /// rounding.
  std::optional<Alignment> peak = {};
  /// Error in the parameters from which the variant was made. It is reported when the variant is used.
  Status status = {};

  bool hasFunctions() const { return score || mask || !ranges.empty(); }

  // Kernels call the functions by these members. If a function returns what it must not, it is an error of the program
  // at the line that made the result. It names the variant and the function. A score that combines scores of a tile is
  // an error at the line that combines them.
  Value maskAt(const ScoreIndex &at, VariantViews tensors) const; ///< Only if there is a mask.
  /// Returns f32 in the shape of `score`. Only if there is a score.
  Value scoreAt(Value score, const ScoreIndex &at, VariantViews tensors) const;
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
/// from 0 to kMaxWindow.
Variant slidingWindow(int64_t window_left, int64_t window_right, Alignment alignment);

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

/// Returns the variant score -> score + bias[batch, head, query, key]. `bias` has rank 4 and element type `dtype`. A
/// stride may be 0 to share it between batches, heads or queries. On sm_90a it is read fastest if it has 16-bit
/// elements and its rows begin at multiples of 16 bytes. Its gradient is added to `dbias`, f32, whose elements must all
/// be apart.
Variant additiveBias(DType dtype);

/// Returns both variants in one: a query sees the keys that both let it see, and the score goes through `first`, then
/// `second`. Their tensors must have different names, and their peaks one diagonal. The name joins both names with a
/// "+". It is empty if a part has functions and no name.
Variant combine(Variant first, Variant second);

} // namespace tegula
