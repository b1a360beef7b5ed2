// SPDX-License-Identifier: MIT
// The exact formula in 64 bits, one query row at a time.
#include "oracle/exact_rows.h"
#include "oracle/oracle.h"
#include "oracle/rows.h"

#include <cmath>
#include <limits>

namespace tegula::oracle {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// P on the way through the steps that modify it.
struct ModifiedP {
  std::vector<double> before; ///< One for each step.
  double p;
};

ModifiedP modified(const Rules &rules, const Position &position, double p) {
  ModifiedP result;
  for (const ScoreStep &step : rules.probability_steps) {
    result.before.push_back(p);
    p = step.forward.exact(p, position);
  }
  result.p = p;
  return result;
}

/// Returns the slope of the modified P as a function of P.
double slopeInP(const Rules &rules, const Position &position, double p) {
  if (rules.probability_steps.empty())
    return 1;
  constexpr double step = 1e-6;
  return (modified(rules, position, p * (1 + step)).p - modified(rules, position, p * (1 - step)).p) / (2 * step * p);
}

/// Returns the gradient of P from that of the modified P.
double gradientOfP(const Rules &rules, const Position &position, const ModifiedP &of, double gradient) {
  for (size_t t = rules.probability_steps.size(); t-- > 0;)
    gradient = rules.probability_steps[t].backward.exact(of.before[t], position, gradient);
  return gradient;
}

void addScaled(double *sum, double factor, const float *x, int64_t n) {
  for (int64_t c = 0; c < n; ++c)
    sum[c] += factor * x[c];
}

} // namespace

Outputs forward(const Shape &shape, const Rules &rules, double scale, const Inputs &in) {
  Outputs out{std::vector<double>(shape.sizeO()), std::vector<double>(shape.sizeLse())};
  forEachRow(shape, [&](const Row &row) {
    if (rules.isAbandoned())
      return;
    ExactRow r = exactRow(shape, rules, scale, in, row);
    out.lse[row.lse] = r.lse;
    for (int64_t j = 0; j < shape.seqlen_k; ++j)
      if (r.s[j] != -infinity)
        addScaled(&out.o[row.o], modified(rules, row.at(j), r.p[j]).p * rules.factorOfP(row.at(j)),
                  &in.v[row.v + j * shape.value_dim], shape.value_dim);
  });
  return out;
}

Gradients backward(const Shape &shape, const Rules &rules, double scale, const Inputs &in,
                   const std::vector<float> &d_o, const std::vector<float> &d_lse) {
  Gradients out{std::vector<double>(shape.sizeQ()), std::vector<double>(shape.sizeK()),
                std::vector<double>(shape.sizeV()), std::vector<double>(rules.sinks.size())};
  forEachRow(shape, [&](const Row &row) {
    if (rules.isAbandoned())
      return;
    ExactRow r = exactRow(shape, rules, scale, in, row);
    std::vector<double> dp(shape.seqlen_k), p(shape.seqlen_k); // p is modified.
    double mean = 0;                                           // mean of dp under r.p
    for (int64_t j = 0; j < shape.seqlen_k; ++j) {
      if (r.s[j] == -infinity)
        continue;
      const double factor = rules.factorOfP(row.at(j));
      const ModifiedP changed = modified(rules, row.at(j), r.p[j]);
      p[j] = changed.p * factor;
      const double incoming = product(&d_o[row.o], &in.v[row.v + j * shape.value_dim], shape.value_dim) * factor;
      dp[j] = gradientOfP(rules, row.at(j), changed, incoming);
      mean += r.p[j] * dp[j];
    }
    const double dLse = d_lse.empty() ? 0 : d_lse[row.lse]; // The derivative of lse with respect to a score is p.
    if (const double sink = rules.sinkOf(row.head); sink != -infinity)
      out.d_sinks[row.head] += std::exp(sink - r.lse) * (dLse - mean);
    for (int64_t j = 0; j < shape.seqlen_k; ++j) {
      if (!r.seen[j])
        continue;
      double ds = r.p[j] * (dp[j] - mean + dLse);
      for (size_t t = rules.steps.size(); t-- > 0;)
        ds = rules.steps[t].backward.exact(r.before[t][j], row.at(j), ds);
      int64_t k = row.k + j * shape.head_dim, v = row.v + j * shape.value_dim;
      addScaled(&out.dq[row.q], scale * ds, &in.k[k], shape.head_dim);
      addScaled(&out.dk[k], scale * ds, &in.q[row.q], shape.head_dim);
      addScaled(&out.dv[v], p[j], &d_o[row.o], shape.value_dim);
    }
  });
  return out;
}

std::vector<double> lseRoundingInDv(const Shape &shape, const Rules &rules, double scale, const Inputs &in,
                                    const std::vector<float> &d_o) {
  std::vector<double> out(shape.sizeV());
  forEachRow(shape, [&](const Row &row) {
    ExactRow r = exactRow(shape, rules, scale, in, row);
    for (int64_t j = 0; j < shape.seqlen_k; ++j) {
      if (!(r.p[j] > 0))
        continue;
      const double slope = slopeInP(rules, row.at(j), r.p[j]) * rules.factorOfP(row.at(j));
      for (int64_t c = 0; c < shape.value_dim; ++c) {
        const double error = 0x1p-24 * r.lse * r.p[j] * slope * d_o[row.o + c];
        out[row.v + j * shape.value_dim + c] += error * error;
      }
    }
  });
  for (double &x : out)
    x = std::sqrt(x);
  return out;
}

} // namespace tegula::oracle
