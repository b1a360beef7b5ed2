// SPDX-License-Identifier: MIT
#include "oracle/convert.h"
#include "oracle/exact_rows.h"

#include <algorithm>
#include <cmath>

namespace tegula::oracle {
namespace {

constexpr double epsilon = 0x1p-24;
constexpr double deviations = 2;

double absoluteProduct(const float *a, const float *b, int64_t n) {
  double sum = 0;
  for (int64_t c = 0; c < n; ++c)
    sum += std::fabs(double(a[c]) * double(b[c]));
  return sum;
}

double largest(const std::vector<double> &x) { return x.empty() ? 0 : *std::max_element(x.begin(), x.end()); }

void addAbsolute(double *sum, double factor, const float *x, int64_t n) {
  for (int64_t c = 0; c < n; ++c)
    sum[c] += factor * std::fabs(x[c]);
}

void addSquare(double *sum, double factor, const float *x, int64_t n) {
  for (int64_t c = 0; c < n; ++c)
    sum[c] += (factor * x[c]) * (factor * x[c]);
}

/// Walks over the rows and collects, per element, what Noise is the largest of.
class Collector {
public:
  Collector(const Shape &shape, double scale, const Inputs &in, DType dtype)
      : shape_(shape), scale_(scale), in_(in), unit_(unitRoundoff(dtype)), o_(shape.sizeO()), dq_(shape.sizeQ()),
        dk_(shape.sizeK()), dv_(shape.sizeV()), dkSquared_(shape.sizeK()) {}

  void addForward(const Row &row, const ExactRow &r) {
    double size = sizeOf(row, r);
    noise_.lse = std::max(noise_.lse, epsilon * size);
    for (int64_t j = 0; j < shape_.seqlen_k; ++j)
      addAbsolute(&o_[row.o], epsilon * size * r.p[j], v(row, j), shape_.value_dim);
  }

  void addBackward(const Row &row, const ExactRow &r, const float *d_o) {
    addArithmetic(row, r, d_o);
    addRoundedOutput(row, r, d_o);
  }

  Noise result() {
    noise_.o = largest(o_);
    noise_.dq = std::max(noise_.dq, largest(dq_));
    noise_.dk = std::max(largest(dk_), std::sqrt(largest(dkSquared_)));
    noise_.dv = largest(dv_);
    return noise_;
  }

private:
  const float *k(const Row &row, int64_t key) const { return in_.k.data() + row.k + key * shape_.head_dim; }
  const float *v(const Row &row, int64_t key) const { return in_.v.data() + row.v + key * shape_.value_dim; }

  /// 1 + |s| + |lse|
  double sizeOf(const Row &row, const ExactRow &r) const {
    double size = 0;
    for (int64_t j = 0; j < shape_.seqlen_k; ++j)
      if (std::isfinite(r.s[j]))
        size = std::max(size,
                        std::fabs(r.s[j]) + scale_ * absoluteProduct(in_.q.data() + row.q, k(row, j), shape_.head_dim));
    return 1 + size + (std::isfinite(r.lse) ? std::fabs(r.lse) : 0);
  }

  void addArithmetic(const Row &row, const ExactRow &r, const float *d_o) {
    double size = epsilon * sizeOf(row, r), mean = 0;
    std::vector<double> dp(r.p.size());
    for (int64_t j = 0; j < shape_.seqlen_k; ++j) {
      dp[j] = absoluteProduct(d_o, v(row, j), shape_.value_dim);
      mean += r.p[j] * dp[j];
    }
    for (int64_t j = 0; j < shape_.seqlen_k; ++j) {
      double ds = size * r.p[j] * (dp[j] + mean);
      noise_.score = std::max(noise_.score, ds);
      addAbsolute(&dq_[row.q], scale_ * ds, k(row, j), shape_.head_dim);
      addAbsolute(&dk_[row.k + j * shape_.head_dim], scale_ * ds, in_.q.data() + row.q, shape_.head_dim);
      addAbsolute(&dv_[row.v + j * shape_.value_dim], size * r.p[j], d_o, shape_.value_dim);
    }
  }

  /// An error of D is shared by a row's dS, and independent of those of other rows.
  void addRoundedOutput(const Row &row, const ExactRow &r, const float *d_o) {
    std::vector<double> o(shape_.value_dim), dq(shape_.head_dim);
    for (int64_t j = 0; j < shape_.seqlen_k; ++j) {
      for (int64_t c = 0; c < shape_.value_dim; ++c)
        o[c] += r.p[j] * v(row, j)[c];
      for (int64_t c = 0; c < shape_.head_dim; ++c)
        dq[c] += r.p[j] * k(row, j)[c];
    }
    double variance = 0;
    for (int64_t c = 0; c < shape_.value_dim; ++c)
      variance += (d_o[c] * o[c]) * (d_o[c] * o[c]);
    double delta = deviations / std::sqrt(3.0) * unit_ * std::sqrt(variance); // a rounding is uniform
    for (double x : dq)
      noise_.dq = std::max(noise_.dq, scale_ * delta * std::fabs(x));
    for (int64_t j = 0; j < shape_.seqlen_k; ++j) {
      noise_.score = std::max(noise_.score, delta * r.p[j]);
      addSquare(&dkSquared_[row.k + j * shape_.head_dim], scale_ * delta * r.p[j], in_.q.data() + row.q,
                shape_.head_dim);
    }
  }

  const Shape &shape_;
  double scale_;
  const Inputs &in_;
  double unit_;
  Noise noise_;
  std::vector<double> o_, dq_, dk_, dv_, dkSquared_;
};

} // namespace

Noise noiseOf(const Shape &shape, const Rules &rules, double scale, const Inputs &in, const std::vector<float> &d_o,
              DType dtype) {
  Collector collector(shape, scale, in, dtype);
  forEachRow(shape, [&](const Row &row) {
    ExactRow r = exactRow(shape, rules, scale, in, row);
    collector.addForward(row, r);
    if (!d_o.empty())
      collector.addBackward(row, r, d_o.data() + row.o);
  });
  return collector.result();
}

} // namespace tegula::oracle
