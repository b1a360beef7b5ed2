// SPDX-License-Identifier: MIT
// Attention as plain loops over single numbers: the answer that kernels are judged by. The oracle shares no code with
// the kernels. It has its own masks and score modifications, written from their definitions.
//
// Arrays are contiguous, in the order of their indices:
//   q, dq [batch, heads, seqlen_q, head_dim]       o, d_o [batch, heads, seqlen_q, value_dim]
//   k, dk [batch, kv_heads, seqlen_k, head_dim]    lse    [batch, heads, seqlen_q], natural logarithm
//   v, dv [batch, kv_heads, seqlen_k, value_dim]
#pragma once

#include "tegula/dtype.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
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
  std::vector<int32_t> diagonal_offsets = {}; ///< Added to the diagonal of each batch entry; empty: nothing.

  int64_t sizeQ() const { return batch * heads * seqlen_q * head_dim; }
  int64_t sizeK() const { return batch * kv_heads * seqlen_k * head_dim; }
  int64_t sizeV() const { return batch * kv_heads * seqlen_k * value_dim; }
  int64_t sizeO() const { return batch * heads * seqlen_q * value_dim; }
  int64_t sizeLse() const { return batch * heads * seqlen_q; }
  int64_t sizeScores() const { return batch * heads * seqlen_q * seqlen_k; }
};

/// The position of one score.
struct Position {
  int64_t batch, head, query, key;
  int run = 0; ///< The run of the plain formula. Runs differ in what the formula leaves open.
};

/// A function of one score: `exact` in 64 bits, `plain` in f32 for the plain formula. Both are made from one lambda. A
/// generic lambda computes in the type of the score.
template <class... Gradient> struct ScoreFunction {
  template <class Function> ScoreFunction(Function function) : exact(function), plain(function) {}

  std::function<double(double score, const Position &, Gradient... gradient)> exact;
  std::function<float(float score, const Position &, Gradient... gradient)> plain;
};

/// One step from scale * q k^T to the scores of the softmax.
struct ScoreStep {
  ScoreFunction<> forward;
  /// Returns the gradient of the incoming score from the gradient of the outgoing one. May record gradients of the
  /// step's parameters.
  ScoreFunction<double> backward;
};

/// The keys that a query sees, and the steps that modify scores and probabilities, in order.
struct Rules {
  std::vector<std::function<bool(const Position &)>> visible; ///< A key is visible if all functions return true.
  std::vector<ScoreStep> steps;
  /// Steps from P = exp(S - LSE) to what is multiplied by V, in order. Dropout comes after them.
  std::vector<ScoreStep> probability_steps;
  /// Returns the factor of dropout on P: 0, or 1 / the probability of keeping. Without dropout the function is empty.
  std::function<double(const Position &)> dropout;
  /// [heads], or nothing without sinks: the logit of a key with the value 0 that each row sees.
  std::vector<float> sinks;
  /// If it becomes true, functions return early, with numbers that mean nothing.
  std::shared_ptr<const std::atomic<bool>> abandoned = {};

  bool isAbandoned() const { return abandoned != nullptr && *abandoned; }
  bool sees(const Position &position) const;
  /// Returns the sink of a head, -inf without sinks.
  double sinkOf(int64_t head) const {
    return sinks.empty() ? -std::numeric_limits<double>::infinity() : double(sinks[size_t(head)]);
  }
  double factorOfP(const Position &position) const { return dropout ? dropout(position) : 1; }
};

/// The key on the diagonal of query 0: key 0, or the key that puts the last key on the diagonal of the last query.
enum class Corner { top_left, bottom_right };

// Each function adds one rule.
void addCausal(Rules &rules, const Shape &shape, Corner corner);
void addWindow(Rules &rules, const Shape &shape, int64_t left, int64_t right, Corner corner);
/// Adds global tokens: a key is visible if it is one of the first `count`, or if the query's diagonal is.
void addGlobals(Rules &rules, const Shape &shape, int64_t count, Corner corner);
/// Adds a union: a key is visible if at least one of `sets` sees it. Steps and dropout of `sets` are not used.
void addAnyOf(Rules &rules, std::vector<Rules> sets);
/// Adds a window for each batch entry. A negative size is no bound.
void addWindows(Rules &rules, const Shape &shape, std::vector<int32_t> left, std::vector<int32_t> right, Corner corner);
void addPrefix(Rules &rules, const Shape &shape, std::vector<int32_t> lengths, Corner corner);
/// Adds document masks. `queries` and `keys` have the documents of [batch, seqlen_q] and [batch, seqlen_k].
void addDocuments(Rules &rules, const Shape &shape, std::vector<int32_t> queries, std::vector<int32_t> keys);
/// Adds cap tanh(score / cap). Every second run of the plain formula rounds tanh to `dtype`, as a framework that writes
/// it.
void addSoftcap(Rules &rules, double cap, DType dtype);
/// Adds ALiBi. `slopes` is [heads].
void addAlibi(Rules &rules, const Shape &shape, std::vector<float> slopes, Corner corner);
/// Adds a bias [batch, heads, seqlen_q, seqlen_k]. `gradient` is null, or has the same size and receives sums.
void addBias(Rules &rules, const Shape &shape, std::vector<float> bias, std::vector<double> *gradient);
/// The operands of a product, q [batch, heads, seqlen_q, dim] and k [batch, kv_heads, seqlen_k, dim].
struct Product {
  int64_t dim = 0;
  std::vector<float> q, k;
};
/// Adds scale q k^T to the scores, before all steps. `dq` and `dk` are null, or have the sizes of q and k and receive
/// sums.
void addProduct(Rules &rules, const Shape &shape, double scale, Product product, std::vector<double> *dq,
                std::vector<double> *dk);
/// Adds a mask [batch, heads, seqlen_q, seqlen_k]: a query sees a key where it is not 0.
void addMask(Rules &rules, const Shape &shape, std::vector<float> mask);

/// Adds dropout that keeps P where a random byte is below `kept_of_256`: 7 rounds, row query, column key, and the
/// stream `first_stream` + batch * heads + head.
void addDropout(Rules &rules, const Shape &shape, int kept_of_256, int64_t seed, int64_t offset, int64_t first_stream);

struct Inputs {
  std::vector<float> q, k, v;
};

struct Outputs {
  std::vector<double> o, lse;
};

struct Gradients {
  std::vector<double> dq, dk, dv;
  std::vector<double> d_sinks; ///< As Rules::sinks.
};

/// Returns O = softmax(S) V and LSE in 64 bits. The sum of a row's exponentials contains that of its sink. Rows that
/// see no key have o = 0, and the sink as lse.
Outputs forward(const Shape &shape, const Rules &rules, double scale, const Inputs &inputs);

/// Returns the gradients of sum(o * d_o) + sum(lse * d_lse) in 64 bits. Rows that see no key contribute nothing, except
/// to d_sinks. An empty `d_lse` stands for zeros.
Gradients backward(const Shape &shape, const Rules &rules, double scale, const Inputs &inputs,
                   const std::vector<float> &d_o, const std::vector<float> &d_lse = {});

// The plain formula in low precision, as the FlashAttention papers write it. S, each modification of S, P, O, dP and dS
// are rounded to `dtype`, as if an eager framework wrote each of them to a tensor. Arithmetic, LSE and D are f32.
//
//   S = scale Q K^T     P = softmax(S)       O = P V      LSE = log(rowsum(exp(S)))
// With dropout, P is multiplied by its factor and rounded again where it is multiplied by V or dO, and so is dP.
//   P = exp(S - LSE)    D = rowsum(dO O) - dLSE    dS = P (dO V^T - D)
//   dQ = scale dS K     dK = scale dS^T Q          dV = P^T dO
// Each modification of P, g(P), is rounded, too. Then O = g(P) V, dP = g'(P) (dO V^T), and D = rowsum(P dP) - dLSE.
// A sink t is one more score of each row, with P_t = exp(t - LSE), and dt = -colsum(P_t D).
//
// The formula does not define the order of its sums, and the error of one order may be close to 0 by luck: with few
// rows it often is. So there are several runs. Run 0 adds in the order of memory. Other runs add in random orders, and
// their backward pass computes S in another order than their forward pass, so that S - LSE is not exact by luck. With
// 16-bit types, they also multiply v and d_o by factors, so that other numbers are rounded. Every second run is like
// FlashAttention: its exponentials have the base 2, and it rounds no score to `dtype`.
struct PlainGradients : Gradients {
  std::vector<double> dv_of_softmax; ///< P^T dO with P = softmax(S), which does not depend on the rounding of LSE.
};
Outputs plainForward(const Shape &shape, const Rules &rules, double scale, const Inputs &inputs, DType dtype,
                     int run = 0);
PlainGradients plainBackward(const Shape &shape, const Rules &rules, double scale, const Inputs &inputs,
                             const std::vector<float> &d_o, DType dtype, int run = 0,
                             const std::vector<float> &d_lse = {});

/// Returns how many runs show the size of the plain formula's error. Fewer rows need more runs, and so do rows of which
/// dropout keeps few elements: `kept` is the part that it keeps.
int plainRuns(const Shape &shape, double kept = 1);
/// The number of runs that decides if an error is little above its limit with fewer.
inline constexpr int kManyPlainRuns = 64;

/// Returns how far dV may be off because LSE is one f32 number. P is exp(S - LSE), and LSE is rounded by up to |LSE|
/// 2^-24. Roundings of different rows are independent, so the result for each element is the root of the sum over rows
/// of (|LSE| 2^-24 P dO)^2.
std::vector<double> lseRoundingInDv(const Shape &shape, const Rules &rules, double scale, const Inputs &inputs,
                                    const std::vector<float> &d_o);

/// The distance of a result from the exact one, compared with the distance of the plain formula.
struct Error {
  double worst = 0;    ///< max |x - exact|; NaN if x has a NaN, or an infinity where `exact` has none.
  double plain = 0;    ///< max |plain - exact| over all runs.
  double rounding = 0; ///< One rounding of the largest exact number to the element type; at least a subnormal's.

  double lse = 0; ///< The effect of rounding LSE, if `plain` comes from a formula without LSE; otherwise 0.

  /// Returns worst / (max(plain, rounding) + lse), which is at most 2 for a good result.
  double ratio() const;
};

/// Returns an Error with `worst` and `rounding`. `x` and `exact` have the same size. An infinity matches only itself.
Error measure(const std::vector<float> &x, const std::vector<double> &exact, DType dtype);
/// Returns Error::plain of one run.
double plainError(const std::vector<double> &plain, const std::vector<double> &exact);

} // namespace tegula::oracle
