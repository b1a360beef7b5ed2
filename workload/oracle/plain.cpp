// SPDX-License-Identifier: MIT
// The plain formula in low precision: the results of an eager framework that writes each tensor in `dtype`.
#include "oracle/convert.h"
#include "oracle/oracle.h"
#include "oracle/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>

namespace tegula::oracle {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

using Random = std::mt19937_64;
using Order = std::vector<int64_t>;

/// Returns 0 to count - 1, shuffled if there is a `random`.
Order makeOrder(int64_t count, Random *random) {
  Order order(count);
  std::iota(order.begin(), order.end(), 0);
  for (int64_t n = count - 1; random && n > 0; --n)
    std::swap(order[n], order[(*random)() % uint64_t(n + 1)]);
  return order;
}

/// Returns a number from 0 to 1.
double fraction(Random &random) { return double(random() >> 11) * 0x1p-53; }

/// Returns vectors of `order.size()` numbers, each permuted by `order` and multiplied by `factor`.
std::vector<float> arranged(const std::vector<float> &x, const Order &order, double factor) {
  std::vector<float> out(x.size());
  for (size_t start = 0; start < x.size(); start += order.size())
    for (size_t c = 0; c < order.size(); ++c)
      out[start + c] = float(factor * x[start + order[c]]);
  return out;
}

/// Reverses arranged(), after rounding to `dtype`.
std::vector<double> restored(const std::vector<float> &x, const Order &order, double factor, DType dtype) {
  std::vector<double> out(x.size());
  for (size_t start = 0; start < x.size(); start += order.size())
    for (size_t c = 0; c < order.size(); ++c)
      out[start + order[c]] = rounded(x[start + c], dtype) / factor;
  return out;
}

float product(const float *a, const float *b, int64_t n) {
  float sum = 0;
  for (int64_t c = 0; c < n; ++c)
    sum += a[c] * b[c];
  return sum;
}

float productBackwards(const float *a, const float *b, int64_t n) {
  float sum = 0;
  for (int64_t c = n; c-- > 0;)
    sum += a[c] * b[c];
  return sum;
}

/// Adds `row[n] * factor` to `sum[n]`.
void addScaled(float *sum, const float *row, float factor, int64_t n) {
  for (int64_t c = 0; c < n; ++c)
    sum[c] += factor * row[c];
}

struct RowScores {
  std::vector<std::vector<float>> before; // [step][key], rounded
  std::vector<float> last;                // rounded; -inf if the row does not see the key
};

struct Softmax {
  std::vector<float> s; // the scores
  std::vector<float> p; // rounded
  float lse;
};

/// One run of the formula.
class Plain {
public:
  Plain(const Shape &shape, const Rules &rules, double scale, const Inputs &in, DType dtype, int run)
      : shape_(shape), rules_(rules), scale_(float(scale)), dtype_(dtype), run_(run), random_(uint64_t(run)) {
    Random *random = run ? &random_ : nullptr;
    head_ = makeOrder(shape.head_dim, random);
    value_ = makeOrder(shape.value_dim, random);
    keys_ = makeOrder(shape.seqlen_k, random);
    origin_ = run ? float(fraction(random_)) : 0;
    if (run && dtype != f32) {
      valueUnit_ = 1 + fraction(random_);
      gradientUnit_ = 1 + fraction(random_);
    }
    in_ = {arranged(in.q, head_, 1), arranged(in.k, head_, 1), arranged(in.v, value_, valueUnit_)};
    std::vector<Row> rows;
    forEachRow(shape, [&](const Row &row) { rows.push_back(row); });
    for (int64_t n : makeOrder(int64_t(rows.size()), random))
      rows_.push_back(rows[n]);
  }

  Outputs forward() {
    std::vector<float> o(shape_.sizeO());
    std::vector<double> lse(shape_.sizeLse());
    for (const Row &row : rows_) {
      if (rules_.isAbandoned())
        break;
      Softmax soft = softmax(scoresOf(row).last, sinkOf(row));
      lse[row.lse] = soft.lse;
      addOutput(&o[row.o], row, soft);
    }
    return {restored(o, value_, valueUnit_, dtype_), std::move(lse)};
  }

  PlainGradients backward(const std::vector<float> &upstream, const std::vector<float> &d_lse) {
    d_o_ = arranged(upstream, value_, gradientUnit_);
    d_lse_ = d_lse;
    dq_.resize(shape_.sizeQ());
    dk_.resize(shape_.sizeK());
    dv_.resize(shape_.sizeV());
    dvOfSoftmax_.resize(shape_.sizeV());
    dSinks_.resize(rules_.sinks.size());
    for (const Row &row : rows_)
      if (!rules_.isAbandoned())
        addGradients(row);
    double unit = valueUnit_ * gradientUnit_;
    return {{restored(dq_, head_, unit, dtype_), restored(dk_, head_, unit, dtype_),
             restored(dv_, value_, gradientUnit_, dtype_), restored(dSinks_, {0}, unit, f32)},
            restored(dvOfSoftmax_, value_, gradientUnit_, dtype_)};
  }

private:
  float round(float x) const { return rounded(x, dtype_); }
  /// Rounds a score. Every second run keeps scores in f32, as FlashAttention, which writes none.
  float roundedScore(float x) const { return run_ % 2 == 0 ? round(x) : x; }
  Position at(const Row &row, int64_t key) const {
    Position position = row.at(key);
    position.run = run_;
    return position;
  }
  float sinkOf(const Row &row) const { return float(rules_.sinkOf(row.head)); }
  const float *q(const Row &row) const { return &in_.q[row.q]; }
  const float *k(const Row &row, int64_t key) const { return &in_.k[row.k + key * shape_.head_dim]; }
  const float *v(const Row &row, int64_t key) const { return &in_.v[row.v + key * shape_.value_dim]; }

  /// `sum` adds the products of q and k.
  RowScores scoresOf(const Row &row, decltype(&product) sum = product) const {
    int64_t keys = shape_.seqlen_k;
    RowScores scores{{}, std::vector<float>(keys, -infinity)};
    scores.before.assign(rules_.steps.size(), std::vector<float>(keys));
    for (int64_t j = 0; j < keys; ++j) {
      if (!rules_.sees(row.at(j)))
        continue;
      float s = roundedScore(scale_ * sum(q(row), k(row, j), shape_.head_dim));
      for (size_t t = 0; t < rules_.steps.size(); ++t) {
        scores.before[t][j] = s;
        s = roundedScore(rules_.steps[t].forward.plain(s, at(row, j)));
      }
      scores.last[j] = s;
    }
    return scores;
  }

  /// Returns whether the base of exponentials is 2, as in FlashAttention, and not e.
  bool isBinary() const { return run_ % 2 != 0; }
  float inBase(float x) const { return isBinary() ? x * std::numbers::log2e_v<float> : x; }
  float power(float x) const { return isBinary() ? std::exp2(x) : std::exp(x); }

  Softmax softmax(const std::vector<float> &s, float sink) const {
    Softmax out{s, std::vector<float>(s.size(), 0.0f), -infinity};
    float m = sink;
    for (float x : s)
      m = std::max(m, x);
    if (m == -infinity)
      return out;
    m = inBase(m) - origin_;
    float l = power(inBase(sink) - m);
    for (int64_t j : keys_)
      l += out.p[j] = power(inBase(s[j]) - m);
    for (float &p : out.p)
      p = round(p / l);
    out.lse = isBinary() ? (m + std::log2(l)) * std::numbers::ln2_v<float> : m + std::log(l);
    return out;
  }

  /// P on the way through the steps that modify it, each rounded.
  struct ModifiedP {
    std::vector<float> before;
    float p;
  };

  ModifiedP modified(const Row &row, int64_t key, float p) const {
    ModifiedP result;
    for (const ScoreStep &step : rules_.probability_steps) {
      result.before.push_back(p);
      p = round(step.forward.plain(p, at(row, key)));
    }
    result.p = p;
    return result;
  }

  /// Returns the gradient of P from that of the modified P. The steps see gradients in their own unit.
  float gradientOfP(const Row &row, int64_t key, const ModifiedP &of, float gradient) const {
    const auto unit = float(valueUnit_ * gradientUnit_);
    for (size_t t = rules_.probability_steps.size(); t-- > 0;)
      gradient = round(unit * rules_.probability_steps[t].backward.plain(of.before[t], at(row, key), gradient / unit));
    return gradient;
  }

  /// Returns `x`, an element of P or dP, after dropout.
  float afterDropout(const Row &row, int64_t key, float x) const {
    return rules_.dropout ? round(x * float(rules_.factorOfP(row.at(key)))) : x;
  }

  void addOutput(float *o, const Row &row, const Softmax &soft) const {
    for (int64_t j : keys_)
      if (soft.s[j] != -infinity)
        addScaled(o, v(row, j), afterDropout(row, j, modified(row, j, soft.p[j]).p), shape_.value_dim);
  }

  /// Returns rowsum(dO O). The sum has a different order than in dP, because dP is another sum of products.
  float outputGradient(const Row &row, const Softmax &soft) const {
    std::vector<float> o(shape_.value_dim);
    addOutput(o.data(), row, soft);
    for (float &x : o)
      x = round(x);
    return productBackwards(&d_o_[row.o], o.data(), shape_.value_dim);
  }

  void addGradients(const Row &row) {
    Softmax soft = softmax(scoresOf(row).last, sinkOf(row));
    RowScores scores = scoresOf(row, run_ == 0 ? product : productBackwards);
    std::vector<float> p(scores.last.size()), changed(p.size()), dp(p.size()); // P, P after its steps, and dP.
    float mean = 0;                                                            // rowsum(P dP)
    for (int64_t j : keys_) {
      if (scores.last[j] == -infinity)
        continue;
      p[j] = round(power(inBase(scores.last[j]) - inBase(soft.lse)));
      const ModifiedP of = modified(row, j, p[j]);
      changed[j] = of.p;
      const float incoming = round(product(&d_o_[row.o], v(row, j), shape_.value_dim));
      dp[j] = gradientOfP(row, j, of, afterDropout(row, j, incoming));
      // The sum has products of another order, as in outputGradient().
      if (incoming != 0)
        mean += p[j] * dp[j] * (productBackwards(&d_o_[row.o], v(row, j), shape_.value_dim) / incoming);
    }
    const float sum = rules_.probability_steps.empty() ? outputGradient(row, soft) : mean;
    const float delta = d_lse_.empty() ? sum : sum - float(valueUnit_ * gradientUnit_ * d_lse_[row.lse]);
    if (const float sink = sinkOf(row); sink != -infinity)
      dSinks_[row.head] += round(round(power(inBase(sink) - inBase(soft.lse))) * -delta);
    for (int64_t j : keys_) {
      if (scores.last[j] == -infinity)
        continue;
      float ds = scoreGradient(row, j, scores, round(p[j] * (dp[j] - delta)));
      addScaled(&dq_[row.q], k(row, j), ds, shape_.head_dim);
      addScaled(&dk_[row.k + j * shape_.head_dim], q(row), ds, shape_.head_dim);
      addScaled(&dv_[row.v + j * shape_.value_dim], &d_o_[row.o], afterDropout(row, j, changed[j]), shape_.value_dim);
      addScaled(&dvOfSoftmax_[row.v + j * shape_.value_dim], &d_o_[row.o],
                afterDropout(row, j, modified(row, j, soft.p[j]).p), shape_.value_dim);
    }
  }

  /// Propagates a gradient back through the steps and the scaling. The steps see gradients in their own unit.
  float scoreGradient(const Row &row, int64_t key, const RowScores &scores, float ds) const {
    auto unit = float(valueUnit_ * gradientUnit_);
    for (size_t t = rules_.steps.size(); t-- > 0;)
      ds = round(unit * rules_.steps[t].backward.plain(scores.before[t][key], at(row, key), ds / unit));
    return round(scale_ * ds);
  }

  const Shape &shape_;
  const Rules &rules_;
  float scale_;
  DType dtype_;
  int run_;
  Random random_;
  Order head_, value_, keys_;
  std::vector<Row> rows_;
  float origin_;                            // the row's maximum minus this is subtracted before exp
  double valueUnit_ = 1, gradientUnit_ = 1; // factors of v and d_o
  Inputs in_;
  std::vector<float> d_o_, d_lse_, dq_, dk_, dv_, dvOfSoftmax_, dSinks_;
};

} // namespace

int plainRuns(const Shape &shape, double kept) {
  return int(std::clamp(4096 / std::max(kept * double(shape.sizeLse()), 1.0), 4.0, 16.0));
}

Outputs plainForward(const Shape &shape, const Rules &rules, double scale, const Inputs &in, DType dtype, int run) {
  return Plain(shape, rules, scale, in, dtype, run).forward();
}

PlainGradients plainBackward(const Shape &shape, const Rules &rules, double scale, const Inputs &in,
                             const std::vector<float> &d_o, DType dtype, int run, const std::vector<float> &d_lse) {
  return Plain(shape, rules, scale, in, dtype, run).backward(d_o, d_lse);
}

} // namespace tegula::oracle
