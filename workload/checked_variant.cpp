// SPDX-License-Identifier: MIT
#include "workload/checked_variant.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace tegula::tools {

using oracle::Position;
using oracle::Rules;

static int64_t sizeAlong(Axis axis, const AttentionShape &s) {
  switch (axis) {
  case Axis::batch:
    return s.batch;
  case Axis::heads:
    return s.heads;
  case Axis::kv_heads:
    return s.kv_heads;
  case Axis::seqlen_q:
    return s.seqlen_q;
  case Axis::seqlen_k:
  case Axis::up_to_seqlen_k:
    return s.seqlen_k;
  case Axis::any:
    return 1;
  }
  return 0;
}

CheckedVariant checkedSoftcap(double cap, DType dtype) {
  return {softcap(cap), [=](Rules &rules, const RuleInputs &) { addSoftcap(rules, cap, dtype); }};
}

CheckedVariant checkedAlibi(Alignment alignment) {
  return {alibi(alignment),
          [=](Rules &rules, const RuleInputs &in) { addAlibi(rules, in.shape, in.tensors[0], cornerOf(alignment)); }};
}

CheckedVariant checkedWindow(int64_t left, int64_t right, Alignment alignment) {
  return {slidingWindow(left, right, alignment),
          [=](Rules &rules, const RuleInputs &in) { addWindow(rules, in.shape, left, right, cornerOf(alignment)); }};
}

CheckedVariant checkedWindowWithGlobals(int64_t left, int64_t right, int64_t globals, Alignment alignment) {
  return {windowWithGlobals(left, right, globals, alignment), [=](Rules &rules, const RuleInputs &in) {
            std::vector<Rules> sets(2);
            addWindow(sets[0], in.shape, left, right, cornerOf(alignment));
            addGlobals(sets[1], in.shape, globals, cornerOf(alignment));
            addAnyOf(rules, std::move(sets));
          }};
}

CheckedVariant checkedGivenWindow(Alignment alignment) {
  return {givenWindow(alignment), [=](Rules &rules, const RuleInputs &in) {
            const std::vector<float> &left = in.tensors[0], &right = in.tensors[1];
            addWindows(rules, in.shape, {left.begin(), left.end()}, {right.begin(), right.end()}, cornerOf(alignment));
          }};
}

CheckedVariant checkedPrefixLm(Alignment alignment) {
  return {prefixLm(alignment), [=](Rules &rules, const RuleInputs &in) {
            addPrefix(rules, in.shape, {in.tensors[0].begin(), in.tensors[0].end()}, cornerOf(alignment));
          }};
}

/// Adds the keys of each query, whose bounds are the first two tensors.
static void addKeysOfQueries(Rules &rules, const RuleInputs &in) {
  rules.visible.push_back([begin = in.tensors[0], end = in.tensors[1], queries = in.shape.seqlen_q](const Position &p) {
    const auto query = static_cast<size_t>(p.batch * queries + p.query);
    return begin[query] <= float(p.key) && float(p.key) < end[query];
  });
}

CheckedVariant checkedDocuments() { return {documents(), addKeysOfQueries}; }

CheckedVariant checkedKeyIntervals() { return {keyIntervals(), addKeysOfQueries}; }

CheckedVariant checkedBias(DType dtype) {
  return {additiveBias(dtype), [](Rules &rules, const RuleInputs &in) {
            addBias(rules, in.shape, in.tensors[0], in.gradients.empty() ? nullptr : &in.gradients[0]);
          }};
}

CheckedVariant checkedMask() {
  return {maskTensor(), [](Rules &rules, const RuleInputs &in) { addMask(rules, in.shape, in.tensors[0]); }};
}

/// Returns the sums of the gradient of tensor `index`; null if there are none.
static std::vector<double> *gradientOf(const Variant &variant, size_t index, std::span<std::vector<double>> gradients) {
  const auto tensor = variant.tensors.begin() + static_cast<std::ptrdiff_t>(index);
  const auto before = std::count_if(variant.tensors.begin(), tensor, [](auto &t) { return t.wants_gradient; });
  return tensor->wants_gradient && !gradients.empty() ? &gradients[static_cast<size_t>(before)] : nullptr;
}

void addProducts(Rules &rules, const Variant &variant, const RuleInputs &in) {
  for (const auto &[q, k] : variant.products)
    addProduct(rules, in.shape, in.scale, {.dim = variant.tensors[q].last_dim, .q = in.tensors[q], .k = in.tensors[k]},
               gradientOf(variant, q, in.gradients), gradientOf(variant, k, in.gradients));
}

CheckedVariant checkedAddedProduct(DType dtype, int dim) {
  const Variant variant = addedProduct(dtype, dim);
  return {variant, [=](Rules &rules, const RuleInputs &in) { addProducts(rules, variant, in); }};
}

CheckedVariant combine(CheckedVariant first, CheckedVariant second) {
  const std::vector<VariantTensor> &own = first.variant.tensors;
  const size_t tensors = own.size();
  const auto wanted = size_t(std::count_if(own.begin(), own.end(), [](auto &tensor) { return tensor.wants_gradient; }));
  auto add_rules = [=, addFirst = std::move(first.add_rules),
                    addSecond = std::move(second.add_rules)](Rules &rules, const RuleInputs &in) {
    const size_t gradients = in.gradients.empty() ? 0 : wanted;
    addFirst(rules, {in.shape, in.tensors.first(tensors), in.gradients.first(gradients), in.scale});
    addSecond(rules, {in.shape, in.tensors.subspan(tensors), in.gradients.subspan(gradients), in.scale});
  };
  return {tegula::combine(std::move(first.variant), std::move(second.variant)), std::move(add_rules)};
}

CheckedVariant either(CheckedVariant first, CheckedVariant second) {
  const size_t tensors = first.variant.tensors.size();
  auto add_rules = [=, addFirst = std::move(first.add_rules),
                    addSecond = std::move(second.add_rules)](Rules &rules, const RuleInputs &in) {
    std::vector<Rules> sets(2);
    addFirst(sets[0], {in.shape, in.tensors.first(tensors)});
    addSecond(sets[1], {in.shape, in.tensors.subspan(tensors)});
    addAnyOf(rules, std::move(sets));
  };
  return {tegula::either(std::move(first.variant), std::move(second.variant)), std::move(add_rules)};
}

oracle::Corner cornerOf(Alignment alignment) {
  return alignment == Alignment::bottom_right ? oracle::Corner::bottom_right : oracle::Corner::top_left;
}

std::vector<int64_t> shapeOf(const VariantTensor &tensor, const AttentionShape &shape) {
  std::vector<int64_t> sizes;
  for (Axis axis : tensor.axes)
    sizes.push_back(sizeAlong(axis, shape));
  if (tensor.last_dim != 0)
    sizes.push_back(tensor.last_dim);
  return sizes;
}

std::vector<float> alibiSlopes(int64_t heads) {
  std::vector<float> slopes;
  for (int64_t head = 0; head < heads; ++head)
    slopes.push_back(float(std::exp2(-8.0 * double(head + 1) / double(heads))));
  return slopes;
}

/// Appends, for each position of `own`, the first position of `others` in the same document to `begins`, and the one
/// after the last to `ends`.
static void appendBounds(int64_t batch, const std::vector<int32_t> &own, const std::vector<int32_t> &others,
                         std::vector<float> &begins, std::vector<float> &ends) {
  const int64_t length = int64_t(own.size()) / batch, otherLength = int64_t(others.size()) / batch;
  for (int64_t n = 0; n < int64_t(own.size()); ++n) {
    const auto first = others.begin() + n / length * otherLength;
    const auto [begin, end] = std::equal_range(first, first + otherLength, own[size_t(n)]);
    begins.push_back(float(begin - first));
    ends.push_back(float(end - first));
  }
}

VariantArrays documentBounds(int64_t batch, const std::vector<int32_t> &queries, const std::vector<int32_t> &keys) {
  VariantArrays bounds(4);
  appendBounds(batch, queries, keys, bounds[0], bounds[1]);
  appendBounds(batch, keys, queries, bounds[2], bounds[3]);
  return bounds;
}

} // namespace tegula::tools
