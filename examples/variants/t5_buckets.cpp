// SPDX-License-Identifier: MIT
// T5's decoder (Raffel et al. 2020): a learnt bias for buckets of distances. Near keys have a bucket for each distance,
// far keys share buckets whose sizes grow exponentially.
#include "gallery.h"

#include <algorithm>
#include <cmath>

namespace gallery {

VariantTrial t5Buckets(const AttentionShape &shape) {
  const int64_t buckets = 32, exact = buckets / 2, farthest = 128;
  const double perFactorE = double(buckets - exact) / std::log(double(farthest) / double(exact));
  Variant variant{.name = "t5_buckets",
                  .tensors = {{.name = "table", .axes = {Axis::heads, Axis::any}, .wants_gradient = true}}};
  variant.score = [=](Value score, const ScoreIndex &at, VariantViews tensors) -> Value {
    Value distance = max(at.query - at.key, 1); // [rows, keys]. Distance 0 needs no logarithm.
    Value far = exact + cast(i32, log(cast(f32, distance) / double(exact)) * perFactorE);
    Value bucket = select(at.query - at.key < exact, at.query - at.key, min(far, buckets - 1));
    return score + tensors[0].gather(at.head, bucket);
  };

  VariantValues table{{shape.heads, buckets}};
  for (int64_t n = 0; n < shape.heads * buckets; ++n)
    table.values.push_back(float(n * 37 % 64) / 16 - 2);
  auto element = [=](const ScorePosition &p) {
    const int64_t distance = p.query - p.key;
    const double far = double(exact) + std::log(double(distance) / double(exact)) * perFactorE;
    return size_t(p.head * buckets + (distance < exact ? distance : std::min(int64_t(far), buckets - 1)));
  };
  auto score = [=, of = table.values](double s, const ScorePosition &p) { return s + of[element(p)]; };
  auto backward = [=](double, const ScorePosition &p, double gradient, TensorGradients &tensors) {
    tensors.add(0, element(p), gradient);
    return gradient;
  };
  return {.problem = {.causal = Causal::top_left, .variant = variant},
          .shape = shape,
          .tensors = {table},
          .plain = {.score = score, .backward = backward}};
}

} // namespace gallery
