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

double product(const float *a, const float *b, int64_t n) {
  double sum = 0;
  for (int64_t c = 0; c < n; ++c)
    sum += double(a[c]) * double(b[c]);
  return sum;
}

/// The scores of one row before each step, and finally what goes into the softmax.
struct RowScores {
  std::vector<char> seen;
  std::vector<std::vector<double>> before; // [step][key]
  std::vector<double> last;                // -inf where not seen
};

RowScores scoresOf(const Shape &shape, const Rules &rules, double scale, const Inputs &in, const Row &row) {
  int64_t keys = shape.seqlen_k;
  RowScores scores{std::vector<char>(keys), {}, std::vector<double>(keys, -infinity)};
  scores.before.assign(rules.steps.size(), std::vector<double>(keys));
  for (int64_t j = 0; j < keys; ++j) {
    if (!(scores.seen[j] = rules.sees(row.at(j))))
      continue;
    double s = scale * product(&in.q[row.q], &in.k[row.k + j * shape.head_dim], shape.head_dim);
    for (size_t t = 0; t < rules.steps.size(); ++t) {
      scores.before[t][j] = s;
      s = rules.steps[t].forward(s, row.at(j));
    }
    scores.last[j] = s;
  }
  return scores;
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

std::vector<double> softmax(const std::vector<double> &s, double lse) {
  std::vector<double> p(s.size(), 0.0);
  if (lse != -infinity)
    for (size_t j = 0; j < s.size(); ++j)
      p[j] = std::exp(s[j] - lse);
  return p;
}

} // namespace

Outputs forward(const Shape &shape, const Rules &rules, double scale, const Inputs &in) {
  Outputs out{std::vector<double>(shape.sizeO()), std::vector<double>(shape.sizeLse())};
  forEachRow(shape, [&](const Row &row) {
    std::vector<double> s = scoresOf(shape, rules, scale, in, row).last;
    double lse = out.lse[row.lse] = logSumExp(s);
    std::vector<double> p = softmax(s, lse);
    for (int64_t j = 0; j < shape.seqlen_k; ++j)
      if (s[j] != -infinity)
        for (int64_t c = 0; c < shape.value_dim; ++c)
          out.o[row.o + c] += p[j] * in.v[row.v + j * shape.value_dim + c];
  });
  return out;
}

Gradients backward(const Shape &shape, const Rules &rules, double scale, const Inputs &in,
                   const std::vector<float> &d_o) {
  Gradients out{std::vector<double>(shape.sizeQ()), std::vector<double>(shape.sizeK()),
                std::vector<double>(shape.sizeV())};
  forEachRow(shape, [&](const Row &row) {
    RowScores scores = scoresOf(shape, rules, scale, in, row);
    std::vector<double> p = softmax(scores.last, logSumExp(scores.last));
    std::vector<double> dp(shape.seqlen_k);
    double mean = 0; // of dp under p
    for (int64_t j = 0; j < shape.seqlen_k; ++j) {
      dp[j] = product(&d_o[row.o], &in.v[row.v + j * shape.value_dim], shape.value_dim);
      mean += p[j] * dp[j];
    }
    for (int64_t j = 0; j < shape.seqlen_k; ++j) {
      if (!scores.seen[j])
        continue;
      double ds = p[j] * (dp[j] - mean);
      for (size_t t = rules.steps.size(); t-- > 0;)
        ds = rules.steps[t].backward(scores.before[t][j], row.at(j), ds);
      for (int64_t c = 0; c < shape.head_dim; ++c) {
        out.dq[row.q + c] += scale * ds * in.k[row.k + j * shape.head_dim + c];
        out.dk[row.k + j * shape.head_dim + c] += scale * ds * in.q[row.q + c];
      }
      for (int64_t c = 0; c < shape.value_dim; ++c)
        out.dv[row.v + j * shape.value_dim + c] += p[j] * d_o[row.o + c];
    }
  });
  return out;
}

} // namespace tegula::oracle
