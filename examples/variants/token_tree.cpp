// SPDX-License-Identifier: MIT
// Speculative decoding with trees (SpecInfer, Miao et al. 2024): requests lie one after another, each with past tokens,
// then with a tree of guesses. The queries are the guesses. A guess sees the past of its request and its ancestors.
#include "gallery.h"

#include <random>

namespace gallery {

VariantTrial tokenTree(const AttentionShape &shape) {
  const int64_t requests = 8, guesses = 32, keys = shape.seqlen_k / requests, past = keys - guesses;
  auto keysOfRequest = [=](Value query, const HeadIndex &, VariantViews) -> Interval {
    Value begin = query / guesses * keys;
    return {begin, begin + keys};
  };
  auto queriesOfRequest = [=](Value key, const HeadIndex &, VariantViews) -> Interval {
    Value begin = key / keys * guesses;
    return {begin, begin + guesses};
  };
  Variant variant{.name = "token_tree",
                  .tensors = {{"is_ancestor", DType::i1, {Axis::seqlen_q, Axis::any}}},
                  .ranges = {{keysOfRequest, queriesOfRequest}}};
  variant.mask = [=](const ScoreIndex &at, VariantViews tensors) -> Value {
    Value guess = at.key % keys - past;
    return (guess < 0) | tensors[0].gather(at.query, guess);
  };

  std::minstd_rand random(1);
  std::vector<int64_t> parents; // Of all guesses, counted in their request. The parent of a root is -1.
  VariantValues isAncestor{{requests * guesses, guesses}};
  for (int64_t query = 0; query < requests * guesses; ++query) {
    const int64_t guess = query % guesses;
    parents.push_back(guess == 0 ? -1 : int64_t(random()) % guess);
    std::vector<float> row(guesses);
    for (int64_t node = guess; node >= 0; node = parents[size_t(query - guess + node)])
      row[size_t(node)] = 1;
    isAncestor.values.insert(isAncestor.values.end(), row.begin(), row.end());
  }

  auto sees = [=](const ScorePosition &p) {
    int64_t node = p.query % guesses, first = p.query - node;
    const int64_t sought = p.key % keys - past;
    while (node > sought && node >= 0) // Parents come before their children.
      node = parents[size_t(first + node)];
    return p.key / keys == p.query / guesses && (sought < 0 || node == sought);
  };
  AttentionShape trees = shape;
  trees.seqlen_q = requests * guesses;
  return {.problem = {.variant = variant}, .shape = trees, .tensors = {isAncestor}, .plain = {.sees = sees}};
}

} // namespace gallery
