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
/// last key. The key beside query i is i, or i + seqlen_k - seqlen_q.
enum class Alignment { top_left, bottom_right };

/// Where the scores of a tile lie.
struct ScoreIndex {
  Value batch;    ///< Scalar.
  Value head;     ///< Scalar: the query head.
  Value query;    ///< i32 [rows, 1]
  Value key;      ///< i32 [1, keys]
  Value seqlen_q; ///< Scalar.
  Value seqlen_k; ///< Scalar.

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

/// Query i sees keys `diagonal(i) - left` to `diagonal(i) + right`; nullopt means without bound.
/// Kernels visit only the blocks of keys that a band touches.
struct Band {
  std::optional<int64_t> left;
  std::optional<int64_t> right;
  Alignment alignment;
};

/// The views of Variant::tensors, in the same order.
using VariantViews = std::span<const View>;

/// A variation of attention. The functions run while a kernel is recorded; one forward and one backward program serve
/// every variant, the backward one by differentiating `score`.
struct Variant {
  std::string name;
  std::vector<VariantTensor> tensors = {};
  /// A query sees only keys that lie in every band.
  std::vector<Band> bands = {};
  /// i1 tile that broadcasts to [rows, keys]: false where a score does not exist. Empty: all exist.
  std::function<Value(const ScoreIndex &, VariantViews)> mask = {};
  /// f32 [rows, keys]: the score that goes into the softmax, from scale * q k^T. Empty: unchanged.
  std::function<Value(Value score, const ScoreIndex &, VariantViews)> score = {};
  /// What is wrong with the parameters the variant was made from; reported when it is used.
  Status status = {};
};

/// score -> cap * tanh(score / cap), for cap > 0 (Gemma 2, section 2).
Variant softcap(double cap);

/// score -> score - slopes[head] * |diagonal(query) - key|; `slopes` is f32 [heads] (Press et al. 2021, section 3).
Variant alibi(Alignment alignment);

/// Query i sees keys diagonal(i) - left to diagonal(i) + right; both are 0 or more.
Variant slidingWindow(int64_t left, int64_t right, Alignment alignment);

/// Query i sees key j if j <= diagonal(i) or j < prefix_length[batch]; `prefix_length` is i32 [batch].
/// Not to be combined with a causal problem, which would hide the prefix again.
Variant prefixLm(Alignment alignment);

/// Query i sees key j if query_document[batch, i] = key_document[batch, j];
/// `query_document` is i32 [batch, seqlen_q] and `key_document` i32 [batch, seqlen_k].
Variant documents();

/// score -> score + bias[batch, head, query, key]; `bias` has rank 4 and element type `dtype`, and a stride may be 0 to
/// share it between batches, heads or queries. Its gradient is added to `dbias`, f32, whose elements must all be apart.
Variant additiveBias(DType dtype);

/// Both: a query sees what both let it see, and the score goes through `first`, then `second`.
/// Their tensors must have different names.
Variant combine(Variant first, Variant second);

} // namespace tegula
