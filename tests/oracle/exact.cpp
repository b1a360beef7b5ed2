// SPDX-License-Identifier: MIT
// The exact formula, in 64 bits, one query row at a time.
#include "oracle/oracle.h"
#include "oracle/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tegula::oracle {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

constexpr double epsilon = 0x1p-24;

double absoluteProduct(const float *a, const float *b, int64_t n) {
  double sum = 0;
  for (int64_t c = 0; c < n; ++c)
    sum += std::fabs(double(a[c]) * double(b[c]));
  return sum;
}

double product(const float *a, const float *b, int64_t n) {
  double sum = 0;
  for (int64_t c = 0; c < n; ++c)
    sum += double(a[c]) * double(b[c]);
  return sum;
}

double logSumExp(const std::vector<double> &s) {
  double m = -infinity;
  for (double x : s)
    m = std::max(m, x);
  if (m == -infinity)
    return m;
  double l = 0;
  for (double x : s)
    l += std::exp(x - m);
  return m + std::log(l);
}

/// The scores of one row before each step, and finally what goes into the softmax.
struct RowScores {
  std::vector<char> seen;
  std::vector<std::vector<double>> before; // [step][key]
  std::vector<double> last;                // -inf where not seen
  double lse = -infinity;
  double size = 1; // 1 + |lse| + the largest score as a sum of absolute values
};

RowScores scoresOf(const Shape &shape, const Rules &rules, double scale, const Inputs &in, const Row &row) {
  int64_t keys = shape.seqlen_k;
  RowScores scores{std::vector<char>(keys), {}, std::vector<double>(keys, -infinity)};
  const float *q = in.q.data() + row.q;
  scores.before.assign(rules.steps.size(), std::vector<double>(keys));
  for (int64_t j = 0; j < keys; ++j) {
    if (!(scores.seen[j] = rules.sees(row.at(j))))
      continue;
    const float *k = in.k.data() + row.k + j * shape.head_dim;
    double s = scale * product(q, k, shape.head_dim);
    for (size_t t = 0; t < rules.steps.size(); ++t) {
      scores.before[t][j] = s;
      s = rules.steps[t].forward(s, row.at(j));
    }
    scores.last[j] = s;
    scores.size = std::max(scores.size, 1 + std::fabs(s) + scale * absoluteProduct(q, k, shape.head_dim));
  }
  scores.lse = logSumExp(scores.last);
  if (scores.lse != -infinity)
    scores.size += std::fabs(scores.lse);
  return scores;
}

std::vector<double> softmax(const std::vector<double> &s, double lse) {
  std::vector<double> p(s.size(), 0.0);
  if (lse != -infinity)
    for (size_t j = 0; j < s.size(); ++j)
      p[j] = std::exp(s[j] - lse);
  return p;
}

double largest(const std::vector<double> &x) { return x.empty() ? 0 : *std::max_element(x.begin(), x.end()); }

/// sum[c] += factor * x[c], and the same for the absolute values of the terms.
void add(double *sum, double *absolute, double factor, double absoluteFactor, const float *x, int64_t n) {
  for (int64_t c = 0; c < n; ++c) {
    sum[c] += factor * x[c];
    absolute[c] += absoluteFactor * std::fabs(x[c]);
  }
}

/// One row of dP, and its mean under p; beside them, the same of absolute values.
struct RowGradient {
  std::vector<double> dp, absolute;
  double mean = 0, absolute_mean = 0;
};

RowGradient gradientOf(const Shape &shape, const Inputs &in, const std::vector<float> &d_o, const Row &row,
                       const std::vector<double> &p) {
  RowGradient out{std::vector<double>(p.size()), std::vector<double>(p.size())};
  for (size_t j = 0; j < p.size(); ++j) {
    const float *v = in.v.data() + row.v + int64_t(j) * shape.value_dim;
    out.dp[j] = product(d_o.data() + row.o, v, shape.value_dim);
    out.absolute[j] = absoluteProduct(d_o.data() + row.o, v, shape.value_dim);
    out.mean += p[j] * out.dp[j];
    out.absolute_mean += p[j] * out.absolute[j];
  }
  return out;
}

} // namespace

Outputs forward(const Shape &shape, const Rules &rules, double scale, const Inputs &in) {
  Outputs out{std::vector<double>(shape.sizeO()), std::vector<double>(shape.sizeLse())};
  std::vector<double> noise(shape.sizeO());
  forEachRow(shape, [&](const Row &row) {
    RowScores s = scoresOf(shape, rules, scale, in, row);
    out.lse[row.lse] = s.lse;
    std::vector<double> p = softmax(s.last, s.lse);
    for (int64_t j = 0; j < shape.seqlen_k; ++j)
      if (s.seen[j])
        add(&out.o[row.o], &noise[row.o], p[j], p[j] * s.size, &in.v[row.v + j * shape.value_dim], shape.value_dim);
    out.lse_noise = std::max(out.lse_noise, epsilon * s.size);
  });
  out.o_noise = epsilon * largest(noise);
  return out;
}

Gradients backward(const Shape &shape, const Rules &rules, double scale, const Inputs &in,
                   const std::vector<float> &d_o) {
  Gradients out{std::vector<double>(shape.sizeQ()), std::vector<double>(shape.sizeK()),
                std::vector<double>(shape.sizeV())};
  std::vector<double> dq(shape.sizeQ()), dk(shape.sizeK()), dv(shape.sizeV()); // noise
  forEachRow(shape, [&](const Row &row) {
    RowScores s = scoresOf(shape, rules, scale, in, row);
    std::vector<double> p = softmax(s.last, s.lse);
    RowGradient g = gradientOf(shape, in, d_o, row, p);
    for (int64_t j = 0; j < shape.seqlen_k; ++j) {
      if (!s.seen[j])
        continue;
      double ds = p[j] * (g.dp[j] - g.mean);
      for (size_t t = rules.steps.size(); t-- > 0;)
        ds = rules.steps[t].backward(s.before[t][j], row.at(j), ds);
      double noise = s.size * p[j] * (g.absolute[j] + g.absolute_mean);
      int64_t k = row.k + j * shape.head_dim, v = row.v + j * shape.value_dim;
      add(&out.dq[row.q], &dq[row.q], scale * ds, scale * noise, &in.k[k], shape.head_dim);
      add(&out.dk[k], &dk[k], scale * ds, scale * noise, &in.q[row.q], shape.head_dim);
      add(&out.dv[v], &dv[v], p[j], s.size * p[j], &d_o[row.o], shape.value_dim);
      out.score_noise = std::max(out.score_noise, epsilon * noise);
    }
  });
  out.dq_noise = epsilon * largest(dq);
  out.dk_noise = epsilon * largest(dk);
  out.dv_noise = epsilon * largest(dv);
  return out;
}

} // namespace tegula::oracle
