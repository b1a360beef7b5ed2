// SPDX-License-Identifier: MIT
#include "oracle/exact_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tegula::oracle {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Returns the logarithm of exp(sink) + the sum of exp(s).
double logSumExp(const std::vector<double> &s, double sink) {
  double m = sink;
  for (double x : s)
    m = std::max(m, x);
  if (m == -infinity)
    return m;
  double l = std::exp(sink - m);
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

double product(const float *a, const float *b, int64_t n) {
  double sum = 0;
  for (int64_t c = 0; c < n; ++c)
    sum += double(a[c]) * double(b[c]);
  return sum;
}

ExactRow exactRow(const Shape &shape, const Rules &rules, double scale, const Inputs &in, const Row &row) {
  int64_t keys = shape.seqlen_k;
  ExactRow r{std::vector<char>(keys), {}, std::vector<double>(keys, -infinity), {}, -infinity};
  r.before.assign(rules.steps.size(), std::vector<double>(keys));
  for (int64_t j = 0; j < keys; ++j) {
    if (!(r.seen[j] = rules.sees(row.at(j))))
      continue;
    double s = scale * product(&in.q[row.q], &in.k[row.k + j * shape.head_dim], shape.head_dim);
    for (size_t t = 0; t < rules.steps.size(); ++t) {
      r.before[t][j] = s;
      s = rules.steps[t].forward.exact(s, row.at(j));
    }
    r.s[j] = s;
  }
  r.lse = logSumExp(r.s, rules.sinkOf(row.head));
  r.p = softmax(r.s, r.lse);
  return r;
}

} // namespace tegula::oracle
