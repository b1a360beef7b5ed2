// SPDX-License-Identifier: MIT
// Attention as plain loops over single numbers: the answer that kernels are judged by. Shares no code with them; masks
// and score modifications are written again, from their definitions.
//
// Arrays are contiguous, in the order of their indices:
//   q, dq [batch, heads, seqlen_q, head_dim]       o, d_o [batch, heads, seqlen_q, value_dim]
//   k, dk [batch, kv_heads, seqlen_k, head_dim]    lse    [batch, heads, seqlen_q], natural logarithm
//   v, dv [batch, kv_heads, seqlen_k, value_dim]
#pragma once

#include "tegula/dtype.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace tegula::oracle {

struct Shape {
  int64_t batch = 1;
  int64_t heads = 1;
  int64_t kv_heads = 1; ///< Divides heads.
  int64_t seqlen_q = 0;
  int64_t seqlen_k = 0;
  int64_t head_dim = 0;
  int64_t value_dim = 0;

  int64_t sizeQ() const { return batch * heads * seqlen_q * head_dim; }
  int64_t sizeK() const { return batch * kv_heads * seqlen_k * head_dim; }
  int64_t sizeV() const { return batch * kv_heads * seqlen_k * value_dim; }
  int64_t sizeO() const { return batch * heads * seqlen_q * value_dim; }
  int64_t sizeLse() const { return batch * heads * seqlen_q; }
};

/// One score.
struct Position {
  int64_t batch, head, query, key;
};

/// One step from scale * q k^T to what goes into the softmax.
struct ScoreStep {
  std::function<double(double score, const Position &)> forward;
  /// The gradient of the incoming score, from that of the outgoing one; may record gradients of its own parameters.
  std::function<double(double score, const Position &, double gradient)> backward;
};

/// What a query sees, and how scores are modified, in order.
struct Rules {
  std::vector<std::function<bool(const Position &)>> visible; ///< All must hold.
  std::vector<ScoreStep> steps;

  bool sees(const Position &position) const;
};

/// Which key lies beside query 0: key 0, or the one that puts the last query beside the last key.
enum class Corner { top_left, bottom_right };

// Each adds one rule.
void addCausal(Rules &rules, const Shape &shape, Corner corner);
void addWindow(Rules &rules, const Shape &shape, int64_t left, int64_t right, Corner corner);
void addPrefix(Rules &rules, const Shape &shape, std::vector<int32_t> lengths, Corner corner);
/// documents: [batch, seqlen_q] and [batch, seqlen_k].
void addDocuments(Rules &rules, const Shape &shape, std::vector<int32_t> queries, std::vector<int32_t> keys);
void addSoftcap(Rules &rules, double cap);
/// slopes: [heads]
void addAlibi(Rules &rules, const Shape &shape, std::vector<float> slopes, Corner corner);
/// bias: [batch, heads, seqlen_q, seqlen_k]. `gradient` is null or of the same size and receives sums.
void addBias(Rules &rules, const Shape &shape, std::vector<float> bias, std::vector<double> *gradient);

struct Inputs {
  std::vector<float> q, k, v;
};

struct Outputs {
  std::vector<double> o, lse;
};

struct Gradients {
  std::vector<double> dq, dk, dv;
};

/// O = softmax(S) V in 64 bits. Rows that see no key: o = 0, lse = -inf.
Outputs forward(const Shape &shape, const Rules &rules, double scale, const Inputs &inputs);

/// The gradients of sum(o * d_o) in 64 bits.
Gradients backward(const Shape &shape, const Rules &rules, double scale, const Inputs &inputs,
                   const std::vector<float> &d_o);

// The plain formula in low precision: f32 arithmetic, where S, each modification of it, P, dP, dS and all results are
// rounded to `dtype`, as an eager framework would by writing each of them to a tensor.
Outputs plainForward(const Shape &shape, const Rules &rules, double scale, const Inputs &inputs, DType dtype);
Gradients plainBackward(const Shape &shape, const Rules &rules, double scale, const Inputs &inputs,
                        const std::vector<float> &d_o, DType dtype);

/// What rounding alone may do to the largest element of each result of a FlashAttention kernel, where the plain formula
/// happens to be exact or has no such rounding:
///   - f32 arithmetic: 2^-24 (1 + |s| + |lse|) times the sum of the absolute values of all terms, where |s| is the
///   row's
///     largest score as a sum of absolute values, because P = exp(S - LSE) where the plain formula divides by a sum;
///   - D = rowsum(dO O) from an O that was rounded to `dtype`, where the plain formula has the mean of dP under P:
///     two standard deviations of independent roundings.
/// Score modifications are taken not to amplify.
struct Noise {
  double o = 0, lse = 0, dq = 0, dk = 0, dv = 0;
  double score = 0; ///< Of the gradient of a single score, such as a bias's.
};

/// `d_o` is empty if there is no backward pass.
Noise noiseOf(const Shape &shape, const Rules &rules, double scale, const Inputs &inputs, const std::vector<float> &d_o,
              DType dtype);

/// How far a result is from the exact one, measured by how far the plain formula is.
struct Error {
  double worst = 0; ///< max |x - exact|; NaN if x has a NaN, or an infinity that `exact` does not have there.
  double plain = 0; ///< max |plain - exact|
  double noise = 0; ///< See Noise; at least one rounding of the largest exact number to the element type.

  /// worst / max(plain, noise): at most 2 for a good result.
  double ratio() const;
};

/// The three have the same size. Infinities in `exact` count as matched only by themselves.
Error compare(const std::vector<float> &x, const std::vector<double> &plain, const std::vector<double> &exact,
              double noise, DType dtype);

} // namespace tegula::oracle
