// SPDX-License-Identifier: MIT
#include "oracle/convert.h"
#include "oracle/oracle.h"
#include "oracle/philox.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <utility>

namespace tegula::oracle {
namespace {

/// Returns a function of a position: the key on the diagonal of its query, minus the query.
auto offsetOf(const Shape &shape, Corner corner) {
  return [corner = corner == Corner::top_left ? 0 : shape.seqlen_k - shape.seqlen_q, offsets = shape.diagonal_offsets](
             const Position &p) { return offsets.empty() ? corner : corner + offsets[size_t(p.batch)]; };
}

/// Returns the place of a score in an array [batch, heads, seqlen_q, seqlen_k].
auto placeIn(const Shape &shape) {
  return [=](const Position &p) {
    return size_t(((p.batch * shape.heads + p.head) * shape.seqlen_q + p.query) * shape.seqlen_k + p.key);
  };
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
  auto offset = offsetOf(shape, corner);
  rules.visible.push_back([=](const Position &p) { return p.key - offset(p) <= p.query; });
}

void addWindow(Rules &rules, const Shape &shape, int64_t left, int64_t right, Corner corner) {
  auto offset = offsetOf(shape, corner);
  rules.visible.push_back([=](const Position &p) {
    int64_t ahead = p.key - (p.query + offset(p));
    return ahead <= right && -ahead <= left;
  });
}

void addGlobals(Rules &rules, const Shape &shape, int64_t count, Corner corner) {
  rules.visible.push_back([=, offset = offsetOf(shape, corner)](const Position &p) {
    return p.key < count || p.query + offset(p) < count;
  });
}

void addAnyOf(Rules &rules, std::vector<Rules> sets) {
  rules.visible.push_back([sets = std::move(sets)](const Position &p) {
    return std::ranges::any_of(sets, [&](const Rules &set) { return set.sees(p); });
  });
}

void addWindows(Rules &rules, const Shape &shape, std::vector<int32_t> left, std::vector<int32_t> right,
                Corner corner) {
  rules.visible.push_back([=, offset = offsetOf(shape, corner)](const Position &p) {
    const int64_t ahead = p.key - (p.query + offset(p));
    const int64_t before = left[size_t(p.batch)], after = right[size_t(p.batch)];
    return (after < 0 || ahead <= after) && (before < 0 || -ahead <= before);
  });
}

void addPrefix(Rules &rules, const Shape &shape, std::vector<int32_t> lengths, Corner corner) {
  auto offset = offsetOf(shape, corner);
  rules.visible.push_back([=](const Position &p) { return p.key < lengths[p.batch] || p.key - offset(p) <= p.query; });
}

void addDocuments(Rules &rules, const Shape &shape, std::vector<int32_t> queries, std::vector<int32_t> keys) {
  rules.visible.push_back([=](const Position &p) {
    return queries[p.batch * shape.seqlen_q + p.query] == keys[p.batch * shape.seqlen_k + p.key];
  });
}

void addDropout(Rules &rules, const Shape &shape, int kept_of_256, int64_t seed, int64_t offset, int64_t first_stream) {
  rules.dropout = [=, heads = shape.heads](const Position &p) {
    constexpr int rounds = 7;
    const RandomKey key{seed, offset, static_cast<int32_t>(first_stream + p.batch * heads + p.head)};
    const int byte = randomByte(key, static_cast<uint32_t>(p.query), static_cast<uint32_t>(p.key), rounds);
    return byte < kept_of_256 ? 256.0 / kept_of_256 : 0.0;
  };
}

namespace {

/// Softcap of exact numbers, and of the plain formula. The slope 1 - tanh^2 of the latter cancels, as in kernels. A
/// framework that fuses operations does not write tanh.
struct Softcap {
  double cap;
  DType dtype;

  float tanh(float s, int run) const { return rounded(std::tanh(s / float(cap)), run % 2 ? f32 : dtype); }
  double score(double s, int) const { return cap * std::tanh(s / cap); }
  float score(float s, int run) const { return float(cap) * tanh(s, run); }
  double slope(double s, int) const { return 1 / (std::cosh(s / cap) * std::cosh(s / cap)); }
  float slope(float s, int run) const { return 1 - tanh(s, run) * tanh(s, run); }
};

} // namespace

void addSoftcap(Rules &rules, double cap, DType dtype) {
  const Softcap softcap{cap, dtype};
  rules.steps.push_back(
      {[=](auto s, const Position &p) { return softcap.score(s, p.run); },
       [=](auto s, const Position &p, double gradient) { return decltype(s)(gradient) * softcap.slope(s, p.run); }});
}

void addAlibi(Rules &rules, const Shape &shape, std::vector<float> slopes, Corner corner) {
  auto offset = offsetOf(shape, corner);
  auto forward = [=](auto s, const Position &p) {
    return s - decltype(s)(slopes[p.head]) * decltype(s)(std::llabs(p.query + offset(p) - p.key));
  };
  rules.steps.push_back({forward, unchanged});
}

void addBias(Rules &rules, const Shape &shape, std::vector<float> bias, std::vector<double> *gradient) {
  auto place = placeIn(shape);
  auto shared = std::make_shared<std::vector<float>>(std::move(bias));
  rules.steps.push_back({[=](double s, const Position &p) { return s + (*shared)[place(p)]; },
                         [=](double, const Position &p, double incoming) {
                           if (gradient)
                             (*gradient)[place(p)] += incoming;
                           return incoming;
                         }});
}

void addProduct(Rules &rules, const Shape &shape, double scale, Product product, std::vector<double> *dq,
                std::vector<double> *dk) {
  const int64_t dim = product.dim, group = shape.heads / std::max<int64_t>(shape.kv_heads, 1);
  auto rowOfQ = [=](const Position &p) {
    return static_cast<size_t>(((p.batch * shape.heads + p.head) * shape.seqlen_q + p.query) * dim);
  };
  auto rowOfK = [=](const Position &p) {
    return static_cast<size_t>(((p.batch * shape.kv_heads + p.head / group) * shape.seqlen_k + p.key) * dim);
  };
  auto shared = std::make_shared<Product>(std::move(product));
  auto forward = [=](auto s, const Position &p) {
    // One sum over the dimensions of both products, as of operands that are joined.
    const decltype(s) unit = std::isnormal(float(scale)) ? scale : 1, rest = unit == 1 ? scale : 1;
    decltype(s) sum = s / unit;
    for (size_t c = 0; c < static_cast<size_t>(dim); ++c)
      sum += rest * decltype(s)(shared->q[rowOfQ(p) + c]) * decltype(s)(shared->k[rowOfK(p) + c]);
    return unit * sum;
  };
  auto backward = [=](double, const Position &p, double gradient) {
    for (size_t c = 0; c < static_cast<size_t>(dim); ++c) {
      if (dq)
        (*dq)[rowOfQ(p) + c] += scale * gradient * shared->k[rowOfK(p) + c];
      if (dk)
        (*dk)[rowOfK(p) + c] += scale * gradient * shared->q[rowOfQ(p) + c];
    }
    return gradient;
  };
  rules.steps.insert(rules.steps.begin(), {forward, backward}); // All modifications get the sum.
}

void addMask(Rules &rules, const Shape &shape, std::vector<float> mask) {
  auto place = placeIn(shape);
  auto shared = std::make_shared<std::vector<float>>(std::move(mask));
  rules.visible.push_back([=](const Position &p) { return (*shared)[place(p)] != 0; });
}

} // namespace tegula::oracle
