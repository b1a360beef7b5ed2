// SPDX-License-Identifier: MIT
#include "harness/variant_case.h"

#include "oracle/inputs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace tegula::testing {
namespace {

using oracle::Corner;
using oracle::Shape;

constexpr double kCap = 2.5;
constexpr int64_t kLeft = 9, kRight = 4;

constexpr std::string_view kParts[] = {"softcap",   "alibi_tl",  "alibi_br",  "window_tl", "window_br",
                                       "prefix_tl", "prefix_br", "documents", "ids",       "bias"};

/// Adds the parts of a variant to `run`.
struct Builder {
  const Shape &shape;
  DType dtype;
  Layout layout;
  Poison poison;
  uint64_t seed;
  double slope;
  VariantRun &run;

  template <class Add> void both(Add add) {
    add(run.exact);
    add(run.plain);
  }
  std::vector<int32_t> integers(int64_t count, int32_t limit, uint64_t salt = 0) {
    std::minstd_rand random(uint32_t((seed + salt) % 1000003 + 1));
    std::vector<int32_t> numbers(count);
    for (int32_t &number : numbers)
      number = int32_t(random() % uint32_t(limit));
    return numbers;
  }

  void alibi(Corner corner);
  void prefix(Corner corner);
  void documents();
  void ids();
  void bias();
  void add(std::string_view part);
};

void Builder::alibi(Corner corner) {
  std::vector<float> slopes(shape.heads);
  for (int64_t h = 0; h < shape.heads; ++h)
    slopes[h] = slope == 0 ? float(std::exp2(-8.0 * double(h + 1) / double(shape.heads)))
                           : float(slope * double(h + 1) / double(shape.heads));
  run.tensors.emplace_back(f32, std::vector<int64_t>{shape.heads}, layout, poison, slopes);
  both([&](oracle::Rules &rules) { addAlibi(rules, shape, slopes, corner); });
}

void Builder::prefix(Corner corner) {
  std::vector<int32_t> lengths = integers(shape.batch, int32_t(shape.seqlen_k + 1));
  run.tensors.emplace_back(std::vector<int64_t>{shape.batch}, layout, poison, lengths);
  both([&](oracle::Rules &rules) { addPrefix(rules, shape, lengths, corner); });
}

/// Returns for each id the first position of `others` in the same batch that has this id, and one past the last.
std::array<std::vector<int32_t>, 2> boundsOf(const std::vector<int32_t> &ids, int64_t length,
                                             const std::vector<int32_t> &others, int64_t otherLength) {
  std::array<std::vector<int32_t>, 2> bounds;
  for (size_t n = 0; n < ids.size(); ++n) {
    auto first = others.begin() + int64_t(n) / length * otherLength;
    auto [begin, end] = std::equal_range(first, first + otherLength, ids[n]);
    bounds[0].push_back(int32_t(begin - first));
    bounds[1].push_back(int32_t(end - first));
  }
  return bounds;
}

/// Adds sorted documents. Some of them have no queries, or no keys.
void Builder::documents() {
  auto sortedIds = [&](int64_t length, uint64_t salt) {
    std::vector<int32_t> ids = integers(shape.batch * length, 5, salt);
    for (int64_t batch = 0; batch < shape.batch; ++batch)
      std::sort(ids.begin() + batch * length, ids.begin() + (batch + 1) * length);
    return ids;
  };
  const int64_t q = shape.seqlen_q, k = shape.seqlen_k;
  std::vector<int32_t> queries = sortedIds(q, 1), keys = sortedIds(k, 2);
  for (const std::vector<int32_t> &bounds : boundsOf(queries, q, keys, k))
    run.tensors.emplace_back(std::vector<int64_t>{shape.batch, q}, layout, poison, bounds);
  for (const std::vector<int32_t> &bounds : boundsOf(keys, k, queries, q))
    run.tensors.emplace_back(std::vector<int64_t>{shape.batch, k}, layout, poison, bounds);
  both([&](oracle::Rules &rules) { addDocuments(rules, shape, queries, keys); });
}

/// Adds documents whose tokens are in any order.
void Builder::ids() {
  std::vector<int32_t> queries = integers(shape.batch * shape.seqlen_q, 4);
  std::vector<int32_t> keys = integers(shape.batch * shape.seqlen_k, 4);
  run.tensors.emplace_back(std::vector<int64_t>{shape.batch, shape.seqlen_q}, layout, poison, queries);
  run.tensors.emplace_back(std::vector<int64_t>{shape.batch, shape.seqlen_k}, layout, poison, keys);
  both([&](oracle::Rules &rules) { addDocuments(rules, shape, queries, keys); });
}

void Builder::bias() {
  std::vector<int64_t> sizes = {shape.batch, shape.heads, shape.seqlen_q, shape.seqlen_k};
  int64_t count = sizes[0] * sizes[1] * sizes[2] * sizes[3];
  std::vector<float> numbers = oracle::normalNumbers(count, dtype, seed + 17);
  run.tensors.emplace_back(dtype, sizes, layout, poison, numbers);
  run.gradients.emplace_back(f32, sizes, layout, poison);
  run.gradients.back().fill(0);
  run.exact_bias = std::make_shared<std::vector<double>>(count);
  run.plain_bias = std::make_shared<std::vector<double>>(count);
  addBias(run.exact, shape, numbers, run.exact_bias.get());
  addBias(run.plain, shape, numbers, run.plain_bias.get());
}

void Builder::add(std::string_view part) {
  Corner corner = part.ends_with("_br") ? Corner::bottom_right : Corner::top_left;
  if (part == "softcap")
    both([&](oracle::Rules &rules) { addSoftcap(rules, kCap); });
  else if (part.starts_with("alibi"))
    alibi(corner);
  else if (part.starts_with("window"))
    both([&](oracle::Rules &rules) { addWindow(rules, shape, kLeft, kRight, corner); });
  else if (part.starts_with("prefix"))
    prefix(corner);
  else if (part == "documents")
    documents();
  else if (part == "ids")
    ids();
  else if (part == "bias")
    bias();
}

std::vector<std::string_view> split(std::string_view name) {
  std::vector<std::string_view> parts;
  while (!name.empty()) {
    size_t end = std::min(name.find('+'), name.size());
    parts.push_back(name.substr(0, end));
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  return parts;
}

/// Returns a variant with a mask that no band or range describes.
Variant sameIds() {
  Variant variant{
      .name = "ids",
      .tensors = {{"query_id", i32, {Axis::batch, Axis::seqlen_q}}, {"key_id", i32, {Axis::batch, Axis::seqlen_k}}}};
  variant.mask = [](const ScoreIndex &at, VariantViews tensors) {
    return tensors[0].gather(at.batch, at.query) == tensors[1].gather(at.batch, at.key);
  };
  return variant;
}

Variant partOf(std::string_view part, DType dtype) {
  Alignment alignment = part.ends_with("_br") ? Alignment::bottom_right : Alignment::top_left;
  if (part == "softcap")
    return softcap(kCap);
  if (part.starts_with("alibi"))
    return alibi(alignment);
  if (part.starts_with("window"))
    return slidingWindow(kLeft, kRight, alignment);
  if (part.starts_with("prefix"))
    return prefixLm(alignment);
  if (part == "documents")
    return tegula::documents();
  if (part == "ids")
    return sameIds();
  if (part == "bias")
    return additiveBias(dtype);
  return {.name = std::string(part)};
}

std::vector<TensorRef> refsOf(const std::vector<TestTensor> &tensors) {
  std::vector<TensorRef> refs;
  for (const TestTensor &tensor : tensors)
    refs.push_back(tensor.ref());
  return refs;
}

} // namespace

std::span<const std::string_view> variantParts() { return kParts; }

bool hasOneDiagonal(std::string_view name, Causal causal) {
  bool first = causal == Causal::top_left, last = causal == Causal::bottom_right;
  for (std::string_view part : split(name)) {
    first |= part.ends_with("_tl");
    last |= part.ends_with("_br");
  }
  return !first || !last;
}

Variant makeVariant(std::string_view name, DType dtype) {
  std::vector<std::string_view> parts = split(name);
  Variant variant = partOf(parts[0], dtype);
  for (size_t n = 1; n < parts.size(); ++n)
    variant = combine(std::move(variant), partOf(parts[n], dtype));
  return variant;
}

std::vector<TensorRef> VariantRun::tensorRefs() const { return refsOf(tensors); }
std::vector<TensorRef> VariantRun::gradientRefs() const { return refsOf(gradients); }

VariantRun makeRun(std::string_view name, const Shape &shape, DType dtype, Layout layout, Poison poison, uint64_t seed,
                   double slope) {
  VariantRun run;
  Builder builder{shape, dtype, layout, poison, seed, slope, run};
  for (std::string_view part : split(name))
    builder.add(part);
  return run;
}

} // namespace tegula::testing
