// SPDX-License-Identifier: MIT
// Graphormer (Ying et al. 2021): a learnt bias for each distance between two nodes. Graphs lie one after another.
#include "gallery.h"

#include <random>

namespace gallery {

VariantTrial graphBias(const AttentionShape &shape) {
  const int64_t nodes = shape.seqlen_q / 7, distances = 6;
  auto sameGraph = [=](Value node, const HeadIndex &, VariantViews) -> Interval {
    Value begin = node / nodes * nodes;
    return {begin, begin + nodes};
  };
  Variant variant{.name = "graph_bias",
                  .tensors = {{.name = "table", .axes = {Axis::heads, Axis::any}, .wants_gradient = true},
                              {.name = "distance", .dtype = i32, .axes = {Axis::batch, Axis::seqlen_q, Axis::any}}},
                  .ranges = {{sameGraph, sameGraph}}};
  variant.score = [=](Value score, const ScoreIndex &at, VariantViews tensors) -> Value {
    return score + tensors[0].gather(at.head, tensors[1].gather(at.batch, at.query, at.key % nodes));
  };

  std::minstd_rand random(1);
  VariantValues table{{shape.heads, distances}}, distance{{shape.batch, shape.seqlen_q, nodes}};
  for (int64_t n = 0; n < shape.heads * distances; ++n)
    table.values.push_back(float(random() % 64) / 16 - 2);
  for (int64_t n = 0; n < shape.batch * shape.seqlen_q * nodes; ++n)
    distance.values.push_back(float(int64_t(random()) % distances));
  auto element = [=, of = distance.values, queries = shape.seqlen_q](const ScorePosition &p) {
    return size_t(p.head * distances) + size_t(of[size_t((p.batch * queries + p.query) * nodes + p.key % nodes)]);
  };
  auto sees = [=](const ScorePosition &p) { return p.query / nodes == p.key / nodes; };
  auto score = [=, of = table.values](double s, const ScorePosition &p) { return s + of[element(p)]; };
  auto backward = [=](double, const ScorePosition &p, double gradient, TensorGradients &tensors) {
    tensors.add(0, element(p), gradient);
    return gradient;
  };
  return {.problem = {.variant = variant},
          .shape = shape,
          .tensors = {table, distance},
          .plain = {.sees = sees, .score = score, .backward = backward}};
}

} // namespace gallery
