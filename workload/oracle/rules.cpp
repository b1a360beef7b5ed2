// SPDX-License-Identifier: MIT
#include "oracle/oracle.h"

#include <cmath>
#include <cstdlib>
#include <memory>

namespace tegula::oracle {
namespace {

int64_t offsetOf(const Shape &shape, Corner corner) {
  return corner == Corner::top_left ? 0 : shape.seqlen_k - shape.seqlen_q;
}

constexpr auto unchanged = [](double, const Position &, double gradient) { return gradient; };

} // namespace

bool Rules::sees(const Position &position) const {
  for (const auto &rule : visible)
    if (!rule(position))
      return false;
  return true;
}

void addCausal(Rules &rules, const Shape &shape, Corner corner) {
  int64_t offset = offsetOf(shape, corner);
  rules.visible.push_back([=](const Position &p) { return p.key - offset <= p.query; });
}

void addWindow(Rules &rules, const Shape &shape, int64_t left, int64_t right, Corner corner) {
  int64_t offset = offsetOf(shape, corner);
  rules.visible.push_back([=](const Position &p) {
    int64_t ahead = p.key - (p.query + offset);
    return ahead <= right && -ahead <= left;
  });
}

void addPrefix(Rules &rules, const Shape &shape, std::vector<int32_t> lengths, Corner corner) {
  int64_t offset = offsetOf(shape, corner);
  rules.visible.push_back([=](const Position &p) { return p.key < lengths[p.batch] || p.key - offset <= p.query; });
}

void addDocuments(Rules &rules, const Shape &shape, std::vector<int32_t> queries, std::vector<int32_t> keys) {
  rules.visible.push_back([=](const Position &p) {
    return queries[p.batch * shape.seqlen_q + p.query] == keys[p.batch * shape.seqlen_k + p.key];
  });
}

/// Returns 1 - tanh^2. The f32 form cancels, as in kernels; the exact form does not.
static double softcapSlope(double s, double cap) { return 1 / (std::cosh(s / cap) * std::cosh(s / cap)); }
static float softcapSlope(float s, double cap) {
  float t = std::tanh(s / float(cap));
  return 1 - t * t;
}

void addSoftcap(Rules &rules, double cap) {
  rules.steps.push_back(
      {[=](auto s, const Position &) { return decltype(s)(cap) * std::tanh(s / decltype(s)(cap)); },
       [=](auto s, const Position &, double gradient) { return decltype(s)(gradient) * softcapSlope(s, cap); }});
}

void addAlibi(Rules &rules, const Shape &shape, std::vector<float> slopes, Corner corner) {
  int64_t offset = offsetOf(shape, corner);
  auto forward = [=](auto s, const Position &p) {
    return s - decltype(s)(slopes[p.head]) * decltype(s)(std::llabs(p.query + offset - p.key));
  };
  rules.steps.push_back({forward, unchanged});
}

void addBias(Rules &rules, const Shape &shape, std::vector<float> bias, std::vector<double> *gradient) {
  auto place = [=](const Position &p) {
    return ((p.batch * shape.heads + p.head) * shape.seqlen_q + p.query) * shape.seqlen_k + p.key;
  };
  auto shared = std::make_shared<std::vector<float>>(std::move(bias));
  rules.steps.push_back({[=](double s, const Position &p) { return s + (*shared)[place(p)]; },
                         [=](double, const Position &p, double incoming) {
                           if (gradient)
                             (*gradient)[place(p)] += incoming;
                           return incoming;
                         }});
}

} // namespace tegula::oracle
