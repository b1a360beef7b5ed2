// SPDX-License-Identifier: MIT
#include "check.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>

using namespace tegula;

Arrays::Arrays(const AttentionShape &shape) : shape(shape) {
  std::mt19937 random(/*seed=*/1);
  std::normal_distribution<float> normal;
  const size_t rows = shape.batch * shape.heads * shape.seqlen_q;
  for (std::vector<float> *input : {&q, &k, &v, &d_o}) {
    input->resize(rows * kDim);
    std::generate(input->begin(), input->end(), [&] { return normal(random); });
  }
  for (std::vector<float> *result : {&o, &dq, &dk, &dv})
    result->resize(rows * kDim);
  lse.resize(rows);
}

TensorRef Arrays::view(std::vector<float> &x) const {
  return contiguous(x.data(), f32, {shape.batch, shape.heads, shape.seqlen_q, kDim});
}

TensorRef Arrays::rows(std::vector<float> &x) const {
  return contiguous(x.data(), f32, {shape.batch, shape.heads, shape.seqlen_q});
}

static double product(const float *a, const float *b) {
  double sum = 0;
  for (int64_t d = 0; d < kDim; ++d)
    sum += double(a[d]) * b[d];
  return sum;
}

static void add(double *to, double factor, const float *row) {
  for (int64_t d = 0; d < kDim; ++d)
    to[d] += factor * row[d];
}

namespace {

/// The same results in double precision, computed query by query.
struct Exact {
  Exact(const Arrays &arrays, float scale)
      : x(arrays), scale(scale), o(x.q.size()), lse(x.lse.size()), dq(x.q.size()), dk(x.q.size()), dv(x.q.size()) {
    for (int64_t head = 0; head < x.shape.batch * x.shape.heads; ++head)
      for (int64_t query = 0; query < x.shape.seqlen_q; ++query)
        attend(head * x.shape.seqlen_q, query);
  }

  /// The rows of a head begin at row `first`.
  void attend(int64_t first, int64_t query) {
    const int64_t row = first + query, q_at = row * kDim;
    auto tanhOf = [&](int64_t key) { return std::tanh(scale * product(&x.q[q_at], &x.k[(first + key) * kDim]) / 5); };
    // The variant once more, for single scores.
    auto scoreOf = [&](int64_t key) { return 5 * tanhOf(key) - 0.5 * std::log1p(double(query - key)); };
    double sum = 0;
    for (int64_t key = query % 2; key <= query; key += 2)
      sum += std::exp(scoreOf(key));
    lse[row] = std::log(sum);
    auto weightOf = [&](int64_t key) { return std::exp(scoreOf(key) - lse[row]); };
    for (int64_t key = query % 2; key <= query; key += 2)
      add(&o[q_at], weightOf(key), &x.v[(first + key) * kDim]);

    double mean = 0; // Of the weights' gradients.
    for (int64_t d = 0; d < kDim; ++d)
      mean += o[q_at + d] * x.d_o[q_at + d];
    for (int64_t key = query % 2; key <= query; key += 2) {
      const int64_t k_at = (first + key) * kDim;
      const double weight = weightOf(key), t = tanhOf(key);
      const double d_score = weight * (product(&x.d_o[q_at], &x.v[k_at]) - mean) * (1 - t * t);
      add(&dq[q_at], d_score * scale, &x.k[k_at]);
      add(&dk[k_at], d_score * scale, &x.q[q_at]);
      add(&dv[k_at], weight, &x.d_o[q_at]);
    }
  }

  const Arrays &x;
  double scale;
  std::vector<double> o, lse, dq, dk, dv;
};

} // namespace

static bool closeTo(const char *name, const std::vector<float> &x, const std::vector<double> &exact) {
  double worst = 0;
  for (size_t n = 0; n < x.size(); ++n)
    worst = std::max(worst, std::abs(x[n] - exact[n]));
  std::printf("%-4s largest difference from double precision: %.1e\n", name, worst);
  return worst < 1e-4;
}

bool checkDilatedRecency(float scale, const Arrays &x) {
  const Exact exact(x, scale);
  bool good = closeTo("o", x.o, exact.o);
  good &= closeTo("lse", x.lse, exact.lse);
  good &= closeTo("dq", x.dq, exact.dq);
  good &= closeTo("dk", x.dk, exact.dk);
  return closeTo("dv", x.dv, exact.dv) && good;
}
