// SPDX-License-Identifier: MIT
#include "check.h"

#include "oracle/inputs.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace tegula;

static oracle::Shape oracleShape(const AttentionShape &shape) {
  return {.batch = shape.batch,
          .heads = shape.heads,
          .kv_heads = shape.kv_heads,
          .seqlen_q = shape.seqlen_q,
          .seqlen_k = shape.seqlen_k,
          .head_dim = kDim,
          .value_dim = kDim};
}

Arrays::Arrays(const AttentionShape &shape, float scale) : shape(shape) {
  oracle::Shape sizes = oracleShape(shape);
  oracle::Inputs inputs = oracle::makeInputs(sizes, scale, f32, oracle::Family::normal, /*seed=*/1);
  q = inputs.q;
  k = inputs.k;
  v = inputs.v;
  d_o = oracle::normalNumbers(sizes.sizeO(), f32, /*seed=*/2);
  o.resize(sizes.sizeO());
  lse.resize(sizes.sizeLse());
  dq.resize(q.size());
  dk.resize(k.size());
  dv.resize(v.size());
}

TensorRef Arrays::view(std::vector<float> &x) const {
  return contiguous(x.data(), f32, {shape.batch, shape.heads, shape.seqlen_q, kDim});
}

TensorRef Arrays::rows(std::vector<float> &x) const {
  return contiguous(x.data(), f32, {shape.batch, shape.heads, shape.seqlen_q});
}

/// The variant once more, for single scores.
static oracle::Rules dilatedRecencyRules() {
  oracle::Rules rules;
  rules.visible = {[](const oracle::Position &at) { return at.key <= at.query && (at.query - at.key) % 2 == 0; }};
  rules.steps = {{[](double score, const oracle::Position &at) {
                    return 5 * std::tanh(score / 5) - 0.5 * std::log1p(double(at.query - at.key));
                  },
                  [](double score, const oracle::Position &, double gradient) {
                    double t = std::tanh(score / 5);
                    return gradient * (1 - t * t);
                  }}};
  return rules;
}

static bool closeTo(const char *name, const std::vector<float> &x, const std::vector<double> &exact) {
  double worst = 0;
  for (size_t n = 0; n < x.size(); ++n)
    worst = std::max(worst, std::abs(x[n] - exact[n]));
  std::printf("%-4s largest difference from double precision: %.1e\n", name, worst);
  return worst < 1e-4;
}

bool checkDilatedRecency(const AttentionShape &shape, float scale, const Arrays &x) {
  oracle::Rules rules = dilatedRecencyRules();
  oracle::Inputs inputs{x.q, x.k, x.v};
  oracle::Outputs outputs = oracle::forward(oracleShape(shape), rules, scale, inputs);
  oracle::Gradients gradients = oracle::backward(oracleShape(shape), rules, scale, inputs, x.d_o);
  bool good = closeTo("o", x.o, outputs.o);
  good &= closeTo("lse", x.lse, outputs.lse);
  good &= closeTo("dq", x.dq, gradients.dq);
  good &= closeTo("dk", x.dk, gradients.dk);
  return closeTo("dv", x.dv, gradients.dv) && good;
}
