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

/// A function of one score in 64 bits, and in f32 for the plain formula. Made from one lambda: if that is generic, it
/// computes in the type of the score.
template <class... Gradient> struct ScoreFunction {
  template <class Function> ScoreFunction(Function function) : exact(function), plain(function) {}

  std::function<double(double score, const Position &, Gradient... gradient)> exact;
  std::function<float(float score, const Position &, Gradient... gradient)> plain;
};

/// One step from scale * q k^T to what goes into the softmax.
struct ScoreStep {
  ScoreFunction<> forward;
  /// The gradient of the incoming score, from that of the outgoing one; may record gradients of its own parameters.
  ScoreFunction<double> backward;
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

/// The gradients of sum(o * d_o) + sum(lse * d_lse) in 64 bits, where rows that see no key count for nothing. An empty
/// `d_lse` stands for zeros.
Gradients backward(const Shape &shape, const Rules &rules, double scale, const Inputs &inputs,
                   const std::vector<float> &d_o, const std::vector<float> &d_lse = {});

// The plain formula in low precision, as the FlashAttention papers write it: S, each modification of it, P, O, dP and
// dS are rounded to `dtype`, as an eager framework would by writing each of them to a tensor; arithmetic, LSE and D are
// f32.
//
//   S = scale Q K^T     P = softmax(S)       O = P V      LSE = log(rowsum(exp(S)))
//   P = exp(S - LSE)    D = rowsum(dO O) - dLSE    dS = P (dO V^T - D)
//   dQ = scale dS K     dK = scale dS^T Q          dV = P^T dO
//
// The order of its sums is nobody's choice, and the error of one order may be close to 0 by luck: with few rows it
// often is. So there are several runs: run 0 takes each sum in the order of memory; the others in random ones, and with
// 16-bit types in other units of v and d_o, so that other numbers are rounded.
struct PlainGradients : Gradients {
  std::vector<double> dv_of_softmax; ///< P^T dO with P = softmax(S), which no rounding of LSE spoils.
};
Outputs plainForward(const Shape &shape, const Rules &rules, double scale, const Inputs &inputs, DType dtype,
                     int run = 0);
PlainGradients plainBackward(const Shape &shape, const Rules &rules, double scale, const Inputs &inputs,
                             const std::vector<float> &d_o, DType dtype, int run = 0,
                             const std::vector<float> &d_lse = {});

/// How many runs show how large the plain formula's error is: the fewer rows, the more.
int plainRuns(const Shape &shape);

/// How far dV may be off because LSE is one f32 number: P is exp(S - LSE), and LSE is rounded by up to |LSE| 2^-24. For
/// each element the root of the sum of (|LSE| 2^-24 P dO)^2 over all rows, whose roundings have nothing in common.
std::vector<double> lseRoundingInDv(const Shape &shape, const Rules &rules, double scale, const Inputs &inputs,
                                    const std::vector<float> &d_o);

/// How far a result is from the exact one, measured by how far the plain formula is.
struct Error {
  double worst = 0;    ///< max |x - exact|; NaN if x has a NaN, or an infinity that `exact` does not have there.
  double plain = 0;    ///< max |plain - exact| of all runs.
  double rounding = 0; ///< One rounding of the largest exact number to the element type; at least of a subnormal one.

  double lse = 0; ///< What rounding LSE does to the result, where `plain` is of a formula that does without.

  /// worst / (max(plain, rounding) + lse): at most 2 for a good result.
  double ratio() const;
};

/// Error::worst and Error::rounding. `x` and `exact` have the same size; infinities are matched only by themselves.
Error measure(const std::vector<float> &x, const std::vector<double> &exact, DType dtype);
/// Error::plain of one run.
double plainError(const std::vector<double> &plain, const std::vector<double> &exact);

} // namespace tegula::oracle
