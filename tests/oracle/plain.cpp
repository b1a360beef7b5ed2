// SPDX-License-Identifier: MIT
// The plain formula in low precision: what an eager framework computes when each tensor is written in `dtype`.
#include "oracle/convert.h"
#include "oracle/oracle.h"
#include "oracle/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tegula::oracle {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity();

float product(const float *a, const float *b, int64_t n) {
  float sum = 0;
  for (int64_t c = 0; c < n; ++c)
    sum += a[c] * b[c];
  return sum;
}

struct RowScores {
  std::vector<std::vector<float>> before; // [step][key], rounded
  std::vector<float> last;                // rounded; -inf where not seen
};

RowScores scoresOf(const Shape &shape, const Rules &rules, double scale, const Inputs &in, const Row &row,
                   DType dtype) {
  int64_t keys = shape.seqlen_k;
  RowScores scores{{}, std::vector<float>(keys, -infinity)};
  scores.before.assign(rules.steps.size(), std::vector<float>(keys));
  for (int64_t j = 0; j < keys; ++j) {
    if (!rules.sees(row.at(j)))
      continue;
    float s = float(scale) * product(&in.q[row.q], &in.k[row.k + j * shape.head_dim], shape.head_dim);
    s = rounded(s, dtype);
    for (size_t t = 0; t < rules.steps.size(); ++t) {
      scores.before[t][j] = s;
      s = rounded(float(rules.steps[t].forward(s, row.at(j))), dtype);
    }
    scores.last[j] = s;
  }
  return scores;
}

struct Softmax {
  std::vector<float> p; // rounded
  float lse;
};

Softmax softmax(const std::vector<float> &s, DType dtype) {
  Softmax out{std::vector<float>(s.size(), 0.0f), -infinity};
  float m = -infinity;
  for (float x : s)
    m = std::max(m, x);
  if (m == -infinity)
    return out;
  float l = 0;
  for (size_t j = 0; j < s.size(); ++j)
    l += out.p[j] = std::exp(s[j] - m);
  for (float &p : out.p)
    p = rounded(p / l, dtype);
  out.lse = m + std::log(l);
  return out;
}

/// Gradient of one row's scores before scaling, rounded after each step.
std::vector<float> scoreGradient(const Rules &rules, const Row &row, const RowScores &scores,
                                 const std::vector<float> &p, const std::vector<float> &dp, DType dtype) {
  float mean = 0;
  for (size_t j = 0; j < p.size(); ++j)
    mean += p[j] * dp[j];
  std::vector<float> ds(p.size(), 0.0f);
  for (size_t j = 0; j < p.size(); ++j) {
    if (scores.last[j] == -infinity)
      continue;
    ds[j] = rounded(p[j] * (dp[j] - mean), dtype);
    for (size_t t = rules.steps.size(); t-- > 0;)
      ds[j] = rounded(float(rules.steps[t].backward(scores.before[t][j], row.at(int64_t(j)), ds[j])), dtype);
  }
  return ds;
}

std::vector<double> roundedCopy(const std::vector<float> &x, DType dtype) {
  std::vector<double> out(x.size());
  for (size_t n = 0; n < x.size(); ++n)
    out[n] = rounded(x[n], dtype);
  return out;
}

/// Adds `row[n] * factor` to `sum[n]`.
void addScaled(float *sum, const float *row, float factor, int64_t n) {
  for (int64_t c = 0; c < n; ++c)
    sum[c] += factor * row[c];
}

} // namespace

Outputs plainForward(const Shape &shape, const Rules &rules, double scale, const Inputs &in, DType dtype) {
  std::vector<float> o(shape.sizeO());
  std::vector<double> lse(shape.sizeLse());
  forEachRow(shape, [&](const Row &row) {
    Softmax soft = softmax(scoresOf(shape, rules, scale, in, row, dtype).last, dtype);
    lse[row.lse] = soft.lse;
    for (int64_t j = 0; j < shape.seqlen_k; ++j)
      addScaled(&o[row.o], &in.v[row.v + j * shape.value_dim], soft.p[j], shape.value_dim);
  });
  return {roundedCopy(o, dtype), std::move(lse)};
}

Gradients plainBackward(const Shape &shape, const Rules &rules, double scale, const Inputs &in,
                        const std::vector<float> &d_o, DType dtype) {
  std::vector<float> dq(shape.sizeQ()), dk(shape.sizeK()), dv(shape.sizeV());
  forEachRow(shape, [&](const Row &row) {
    RowScores scores = scoresOf(shape, rules, scale, in, row, dtype);
    Softmax soft = softmax(scores.last, dtype);
    std::vector<float> dp(shape.seqlen_k);
    for (int64_t j = 0; j < shape.seqlen_k; ++j)
      dp[j] = rounded(product(&d_o[row.o], &in.v[row.v + j * shape.value_dim], shape.value_dim), dtype);
    std::vector<float> ds = scoreGradient(rules, row, scores, soft.p, dp, dtype);
    for (int64_t j = 0; j < shape.seqlen_k; ++j) {
      float scaled = rounded(float(scale) * ds[j], dtype);
      addScaled(&dq[row.q], &in.k[row.k + j * shape.head_dim], scaled, shape.head_dim);
      addScaled(&dk[row.k + j * shape.head_dim], &in.q[row.q], scaled, shape.head_dim);
      addScaled(&dv[row.v + j * shape.value_dim], &d_o[row.o], soft.p[j], shape.value_dim);
    }
  });
  return {roundedCopy(dq, dtype), roundedCopy(dk, dtype), roundedCopy(dv, dtype)};
}

} // namespace tegula::oracle
