// SPDX-License-Identifier: MIT
#include "diagonals.h"
#include "narrow.h"
#include "plan_check.h"
#include "strips.h"
#include "tegula/checks.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <utility>

namespace tegula {
namespace {

Status checkSoftcap(double cap) {
  if (cap >= kMinSoftcap && cap <= kMaxSoftcap)
    return {};
  char digits[32];
  const std::string number(digits, std::to_chars(std::begin(digits), std::end(digits), cap).ptr);
  return invalidArgument("softcap", "it is " + number + "; it must be from 1e-30 to 1e30");
}

Status checkWindow(const char *side, int64_t size) {
  if (size == kNoBound || (size >= 0 && size <= kMaxWindow))
    return {};
  return invalidArgument(side, "it is " + std::to_string(size) + "; it must be from 0 to " +
                                   std::to_string(kMaxWindow) + ", or -1 for no bound");
}

std::optional<int64_t> boundOf(int64_t size) { return size == kNoBound ? std::nullopt : std::optional(size); }

using Mask = decltype(Variant::mask);
using Score = decltype(Variant::score);
using Probability = decltype(Variant::probability);
using Bounds = VisibleRange::Bounds;

std::string nameOfBoth(const Variant &first, const Variant &second, const char *between) {
  for (const Variant *part : {&first, &second})
    if (part->name.empty() && part->needsName())
      return "";
  return first.name + (first.name.empty() || second.name.empty() ? "" : between) + second.name;
}

std::vector<VariantTensor> tensorsOfBoth(const Variant &first, const Variant &second) {
  std::vector<VariantTensor> tensors = first.tensors;
  tensors.insert(tensors.end(), second.tensors.begin(), second.tensors.end());
  return tensors;
}

/// Returns a mask that calls those of both variants. The tensors of `second` have indices from `split` on.
Mask both(const Variant &first, const Variant &second, size_t split) {
  if (!first.mask && !second.mask)
    return {};
  return [=](const ScoreIndex &index, VariantViews tensors) -> Value {
    if (!second.mask)
      return first.maskAt(index, tensors.first(split));
    Value seen = second.maskAt(index, tensors.subspan(split));
    return first.mask ? first.maskAt(index, tensors.first(split)) & seen : seen;
  };
}

Score chain(const Variant &first, const Variant &second, size_t split) {
  if (!first.score && !second.score)
    return {};
  return [=](Value score, const ScoreIndex &index, VariantViews tensors) -> Value {
    Value inner = first.score ? first.scoreAt(score, index, tensors.first(split)) : score;
    return second.score ? second.scoreAt(inner, index, tensors.subspan(split)) : inner;
  };
}

Probability chainProbabilities(const Variant &first, const Variant &second, size_t split) {
  if (!first.probability && !second.probability)
    return {};
  return [=](Value p, const ScoreIndex &index, VariantViews tensors) -> Value {
    Value inner = first.probability ? first.probabilityAt(p, index, tensors.first(split)) : p;
    return second.probability ? second.probabilityAt(inner, index, tensors.subspan(split)) : inner;
  };
}

/// Returns `bounds`, if there are any, for a variant whose first tensor has the index `first`.
Bounds withTensorsFrom(size_t first, const Bounds &bounds) {
  if (!bounds)
    return {};
  auto moved = [=](Value position, const HeadIndex &at, VariantViews tensors) {
    return bounds(position, at, tensors.subspan(first));
  };
  return {moved, bounds.where()};
}

/// Appends the bands and ranges of `more`, whose first tensor has the index `first`.
void append(KeySet &set, const KeySet &more, size_t first) {
  set.bands.insert(set.bands.end(), more.bands.begin(), more.bands.end());
  for (const VisibleRange &range : more.ranges)
    set.ranges.push_back(
        {withTensorsFrom(first, range.keys), withTensorsFrom(first, range.queries), range.alignment, range.expected});
}

/// Returns the union of which a variant's bands, ranges and union are the definition.
std::vector<KeySet> setsOf(const Variant &variant) {
  std::vector<KeySet> sets = variant.any_of;
  if (sets.empty())
    sets.emplace_back();
  for (KeySet &set : sets)
    append(set, {variant.bands, variant.ranges}, 0);
  return sets;
}

/// Returns the intersection of two unions: the union of all intersections of two sets. A union without sets is no
/// limit. The tensors of `second` have indices from `split` on.
std::vector<KeySet> intersection(const Variant &first, const Variant &second, size_t split) {
  const std::vector<KeySet> unlimited = {KeySet()};
  std::vector<KeySet> sets;
  if (first.any_of.empty() && second.any_of.empty())
    return sets;
  for (const KeySet &one : first.any_of.empty() ? unlimited : first.any_of)
    for (const KeySet &other : second.any_of.empty() ? unlimited : second.any_of) {
      sets.push_back(one);
      append(sets.back(), other, split);
    }
  return sets;
}

/// Returns invalid_argument if the variants have too many sets together.
Status checkUnions(const Variant &first, const Variant &second) {
  const size_t sets = first.any_of.size() * second.any_of.size();
  if (sets <= kMaxKeySets)
    return {};
  return {ErrorCode::invalid_argument, "combine: '" + first.name + "' has " + std::to_string(first.any_of.size()) +
                                           " sets in any_of, '" + second.name + "' has " +
                                           std::to_string(second.any_of.size()) + "; the " + std::to_string(sets) +
                                           " intersections of two of them are too many: a union has at most " +
                                           std::to_string(kMaxKeySets) + " sets"};
}

/// Returns the products of both variants. The tensors of `second` have indices from `split` on.
std::vector<ScoreProduct> productsOfBoth(const Variant &first, const Variant &second, size_t split) {
  std::vector<ScoreProduct> products = first.products;
  for (const ScoreProduct &product : second.products)
    products.push_back({product.queries + split, product.keys + split});
  return products;
}

Status eitherError(const std::string &problem) { return {ErrorCode::invalid_argument, "either: " + problem}; }

/// Returns invalid_argument if a part of either() is not only a set of keys.
Status checkPartOfUnion(const Variant &part) {
  const std::string name = "'" + part.name + "'";
  if (part.mask || part.score || part.probability || part.peak || !part.products.empty())
    return eitherError(name +
                       " has a mask, a score, a probability, a product or a peak, which are no bands and ranges of "
                       "keys; combine the union with a variant that has them");
  if (part.bands.empty() && part.ranges.empty() && part.any_of.empty())
    return eitherError(name + " has no band and no range, so that it has all keys, and the union too");
  return {};
}

/// Returns bounds that are gathered from two tensors, the first of which has the index `first`.
Bounds gathered(size_t first) {
  return [first](Value position, const HeadIndex &at, VariantViews tensors) -> Interval {
    return {tensors[first].gather(at.batch, position), tensors[first + 1].gather(at.batch, position)};
  };
}

/// Returns invalid_argument if the variants have different peaks. A score has one peak.
Status checkPeaks(const Variant &first, const Variant &second) {
  if (!first.peak || !second.peak || *first.peak == *second.peak)
    return {};
  return {ErrorCode::invalid_argument, "combine: the peak of '" + first.name + "' is at " +
                                           std::string(toString(*first.peak)) + ", that of '" + second.name + "' at " +
                                           std::string(toString(*second.peak)) + kOneDiagonal};
}

std::string functionOf(const Variant &variant, const char *function) {
  return (variant.name.empty() ? "a Variant without a name" : "Variant '" + variant.name + "'") + ": " + function;
}

Interval checkedBounds(const std::string &function, const Bounds &bounds, Value position, const HeadIndex &at,
                       VariantViews tensors) {
  Interval interval = bounds(position, at, tensors);
  const Expectation expected{.function = function,
                             .rule = "an Interval of two integers",
                             .dtypes = {DType::index, i32, i64, DType::i8},
                             .shape = position.shape(),
                             .given = bounds.where()};
  return {checkReturned(interval.begin, expected), checkReturned(interval.end, expected)};
}

} // namespace

bool Variant::hasRanges() const {
  return !ranges.empty() || std::ranges::any_of(any_of, [](const KeySet &set) { return !set.ranges.empty(); });
}

int Variant::productDims() const {
  int dims = 0;
  for (const ScoreProduct &product : products)
    dims += tensors[product.queries].last_dim;
  return dims;
}

Value Variant::maskAt(const ScoreIndex &at, VariantViews tensors) const {
  return checkReturned(mask(at, tensors), {.function = functionOf(*this, "mask"),
                                           .rule = "a condition (i1), such as at.key <= at.query,",
                                           .dtypes = {DType::i1},
                                           .shape = {at.query.shape().front(), at.key.shape().back()},
                                           .given = mask.where()});
}

Value Variant::scoreAt(Value input, const ScoreIndex &at, VariantViews tensors) const {
  return checkElementwise(score(input, at, tensors), input,
                          {.function = functionOf(*this, "score"),
                           .rule = "a floating-point score",
                           .dtypes = {f32, bf16, f16},
                           .shape = input.shape(),
                           .given = score.where()});
}

Value Variant::probabilityAt(Value p, const ScoreIndex &at, VariantViews tensors) const {
  return checkElementwise(probability(p, at, tensors), p,
                          {.function = functionOf(*this, "probability"),
                           .rule = "a floating-point probability",
                           .dtypes = {f32, bf16, f16},
                           .shape = p.shape(),
                           .given = probability.where()});
}

Interval Variant::keysAt(const VisibleRange &range, Value query, const HeadIndex &at, VariantViews tensors) const {
  return checkedBounds(functionOf(*this, "keys of a VisibleRange"), range.keys, query, at, tensors);
}

Interval Variant::queriesAt(const VisibleRange &range, Value key, const HeadIndex &at, VariantViews tensors) const {
  return checkedBounds(functionOf(*this, "queries of a VisibleRange"), range.queries, key, at, tensors);
}

Variant softcap(double cap) {
  Variant variant{.name = "softcap"};
  variant.status = checkSoftcap(cap);
  variant.score = [cap](Value score, const ScoreIndex &at, VariantViews) {
    return cap * (at.dtype == f32 ? tanh(score / cap) : fastTanh(score / cap));
  };
  return variant;
}

Variant alibi(Alignment alignment) {
  Variant variant{.name = "alibi", .tensors = {{"slopes", f32, {Axis::heads}}}, .peak = alignment};
  variant.score = [alignment](Value score, const ScoreIndex &at, VariantViews tensors) {
    Value distance = cast(f32, abs(at.diagonal(alignment) - at.key)); // [rows, keys]
    return score - tensors[0].gather(at.head) * distance;
  };
  return variant;
}

Variant slidingWindow(int64_t window_left, int64_t window_right, Alignment alignment) {
  Variant variant{.name = "sliding_window", .bands = {{boundOf(window_left), boundOf(window_right), alignment}}};
  variant.status = checkWindow("window_left", window_left);
  if (variant.status.ok())
    variant.status = checkWindow("window_right", window_right);
  return variant;
}

/// Returns the set of the first keys, for all queries.
static KeySet firstKeys(int64_t count) {
  auto keys = [=](Value, const HeadIndex &, VariantViews) -> Interval {
    return {constant(i32, 0), constant(i32, count)};
  };
  auto queries = [=](Value key, const HeadIndex &at, VariantViews) -> Interval {
    return {select(key < count, 0, narrow(at.seqlen_q)), at.seqlen_q};
  };
  auto expected = [=](int64_t, int64_t) -> KeyInterval { return {0, count}; };
  return {.ranges = {{keys, queries, std::nullopt, expected}}};
}

/// Returns the set of all keys, for the queries whose diagonal is below `count`.
static KeySet firstQueries(int64_t count, Alignment alignment) {
  auto keys = [=](Value query, const HeadIndex &at, VariantViews) -> Interval {
    return {select(query + at.shift(alignment) < count, 0, narrow(at.seqlen_k)), at.seqlen_k};
  };
  auto queries = [=](Value, const HeadIndex &at, VariantViews) -> Interval {
    return {constant(i32, 0), constant(DType::index, count) - at.shift(alignment)};
  };
  auto expected = [=](int64_t diagonal, int64_t seqlen_k) -> KeyInterval {
    return {diagonal < count ? 0 : seqlen_k, seqlen_k};
  };
  return {.ranges = {{keys, queries, alignment, expected}}};
}

Variant globalTokens(int64_t count, Alignment alignment) {
  Variant variant{.name = "global_tokens", .any_of = {firstKeys(count), firstQueries(count, alignment)}};
  if (count < 0 || count > kMaxWindow)
    variant.status = invalidArgument("global_tokens", "it is " + std::to_string(count) + "; it must be from 0 to " +
                                                          std::to_string(kMaxWindow));
  return variant;
}

Variant windowWithGlobals(int64_t window_left, int64_t window_right, int64_t global_tokens, Alignment alignment) {
  Variant variant = either(slidingWindow(window_left, window_right, alignment), globalTokens(global_tokens, alignment));
  variant.name = "window_with_globals";
  return variant;
}

Variant givenWindow(Alignment alignment) {
  Variant variant{.name = "given_window",
                  .tensors = {{.name = "window_left", .dtype = i32, .axes = {Axis::batch}, .broadcasts = true},
                              {.name = "window_right", .dtype = i32, .axes = {Axis::batch}, .broadcasts = true}}};
  auto keys = [alignment](Value query, const HeadIndex &at, VariantViews tensors) -> Interval {
    Value left = tensors[0].gather(at.batch), right = tensors[1].gather(at.batch);
    Value diagonal = query + at.shift(alignment);
    return {select(left < 0, 0, diagonal - min(left, kMaxWindow)),
            select(right < 0, at.seqlen_k, diagonal + min(right, kMaxWindow) + 1)};
  };
  auto queries = [alignment](Value key, const HeadIndex &at, VariantViews tensors) -> Interval {
    Value left = tensors[0].gather(at.batch), right = tensors[1].gather(at.batch);
    Value own = key - at.shift(alignment); // The query whose diagonal is at the key.
    return {select(right < 0, 0, own - min(right, kMaxWindow)),
            select(left < 0, at.seqlen_q, min(own, at.seqlen_q) + min(left, kMaxWindow) + 1)}; // 32 bits hold the sum.
  };
  variant.ranges = {{keys, queries, alignment}};
  return variant;
}

Variant prefixLm(Alignment alignment) {
  Variant variant{.name = "prefix_lm", .tensors = {{"prefix_length", i32, {Axis::batch}}}};
  auto keys = [alignment](Value query, const HeadIndex &at, VariantViews tensors) -> Interval {
    return {constant(i32, 0), max(query + at.shift(alignment) + 1, tensors[0].gather(at.batch))};
  };
  auto queries = [alignment](Value key, const HeadIndex &at, VariantViews tensors) -> Interval {
    Value isPrefix = key < tensors[0].gather(at.batch);
    return {select(isPrefix, 0, key - at.shift(alignment)), at.seqlen_q};
  };
  variant.ranges = {{keys, queries, alignment}};
  return variant;
}

Variant documents() {
  return {.name = "documents",
          .tensors = {{"key_begin", i32, {Axis::batch, Axis::seqlen_q}},
                      {"key_end", i32, {Axis::batch, Axis::seqlen_q}},
                      {"query_begin", i32, {Axis::batch, Axis::seqlen_k}},
                      {"query_end", i32, {Axis::batch, Axis::seqlen_k}}},
          .ranges = {{gathered(0), gathered(2)}}};
}

Variant packedSequences() {
  Variant variant = documents();
  variant.name = "packed_sequences";
  variant.sequences = true;
  for (const char *name : {kQueryOffsets, kKeyOffsets})
    variant.tensors.push_back({name, i32, {Axis::any}});
  return variant;
}

Variant keyIntervals() {
  const auto bounds = [](const char *name) {
    return VariantTensor{.name = name, .dtype = i32, .axes = {Axis::batch, Axis::seqlen_q}, .broadcasts = true};
  };
  return {.name = "key_intervals",
          .tensors = {bounds("interval_begin"), bounds("interval_end")},
          .ranges = {{.keys = gathered(0)}}};
}

Variant packedQueries() {
  Variant variant = keyIntervals();
  variant.name = "packed_queries";
  variant.sequences = true;
  variant.tensors.push_back({kQueryOffsets, i32, {Axis::any}});
  return variant;
}

Variant additiveBias(DType dtype, bool wants_gradient) {
  Variant variant{.name = "bias",
                  .tensors = {{.name = "bias",
                               .dtype = dtype,
                               .axes = {Axis::batch, Axis::heads, Axis::seqlen_q, Axis::seqlen_k},
                               .wants_gradient = wants_gradient,
                               .read_once = true,
                               .broadcasts = true}}};
  variant.score = [](Value score, const ScoreIndex &at, VariantViews tensors) {
    return score + tensors[0].gather(at.batch, at.head, at.query, at.key);
  };
  return variant;
}

Variant maskTensor() {
  Variant variant{.name = "mask",
                  .tensors = {{.name = "mask",
                               .dtype = i8,
                               .axes = {Axis::batch, Axis::heads, Axis::seqlen_q, Axis::up_to_seqlen_k},
                               .broadcasts = true}}};
  variant.mask = [](const ScoreIndex &at, VariantViews tensors) {
    return tensors[0].gather(at.batch, at.head, at.query, at.key) != 0;
  };
  return variant;
}

Variant addedProduct(DType dtype, int dim, bool wants_gradient) {
  const auto operand = [&](const char *name, Axis heads, Axis rows) {
    return VariantTensor{.name = name,
                         .dtype = dtype,
                         .axes = {Axis::batch, heads, rows},
                         .wants_gradient = wants_gradient,
                         .broadcasts = heads == Axis::kv_heads,
                         .last_dim = dim};
  };
  return {
      .name = "added_product",
      .tensors = {operand("q_added", Axis::heads, Axis::seqlen_q), operand("k_added", Axis::kv_heads, Axis::seqlen_k)},
      .products = {{.queries = 0, .keys = 1}}};
}

Variant combine(Variant first, Variant second) {
  size_t split = first.tensors.size();
  KeySet common = {first.bands, first.ranges};
  append(common, {second.bands, second.ranges}, split);
  Variant variant{.name = nameOfBoth(first, second, "+"),
                  .tensors = tensorsOfBoth(first, second),
                  .products = productsOfBoth(first, second, split),
                  .bands = std::move(common.bands),
                  .ranges = std::move(common.ranges),
                  .any_of = intersection(first, second, split)};
  variant.mask = both(first, second, split);
  variant.score = chain(first, second, split);
  variant.probability = chainProbabilities(first, second, split);
  variant.peak = first.peak ? first.peak : second.peak;
  variant.sequences = first.sequences || second.sequences;
  variant.status = first.status.ok() ? second.status : first.status;
  if (variant.status.ok())
    variant.status = checkPeaks(first, second);
  if (variant.status.ok())
    variant.status = checkUnions(first, second);
  return variant;
}

Variant either(Variant first, Variant second) {
  std::vector<KeySet> sets = setsOf(first);
  for (const KeySet &other : setsOf(second))
    append(sets.emplace_back(), other, first.tensors.size());
  Variant variant{.name = nameOfBoth(first, second, "|"), .tensors = tensorsOfBoth(first, second), .any_of = sets};
  for (Status status : {first.status, second.status, checkPartOfUnion(first), checkPartOfUnion(second)})
    if (variant.status.ok())
      variant.status = std::move(status);
  if (variant.status.ok() && sets.size() > kMaxKeySets)
    variant.status = eitherError("'" + first.name + "' and '" + second.name + "' have " + std::to_string(sets.size()) +
                                 " sets of keys together; a union has at most " + std::to_string(kMaxKeySets));
  return variant;
}

} // namespace tegula
