// SPDX-License-Identifier: MIT
#include "diagonals.h"
#include "plan_check.h"
#include "tegula/checks.h"

#include <charconv>
#include <iterator>

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
  if (size >= 0 && size <= kMaxWindow)
    return {};
  return invalidArgument(side,
                         "it is " + std::to_string(size) + "; it must be from 0 to " + std::to_string(kMaxWindow));
}

using Mask = decltype(Variant::mask);
using Score = decltype(Variant::score);
using Bounds = VisibleRange::Bounds;

std::string nameOfBoth(const Variant &first, const Variant &second) {
  for (const Variant *part : {&first, &second})
    if (part->name.empty() && part->hasFunctions())
      return "";
  return first.name + (first.name.empty() || second.name.empty() ? "" : "+") + second.name;
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

/// Returns `bounds` for a variant whose first tensor has the index `first`.
Bounds withTensorsFrom(size_t first, const Bounds &bounds) {
  auto moved = [=](Value position, const HeadIndex &at, VariantViews tensors) {
    return bounds(position, at, tensors.subspan(first));
  };
  return {moved, bounds.where()};
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
  Variant variant{.name = "sliding_window", .bands = {{window_left, window_right, alignment}}};
  variant.status = checkWindow("window_left", window_left);
  if (variant.status.ok())
    variant.status = checkWindow("window_right", window_right);
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

Variant additiveBias(DType dtype) {
  Variant variant{.name = "bias",
                  .tensors = {{.name = "bias",
                               .dtype = dtype,
                               .axes = {Axis::batch, Axis::heads, Axis::seqlen_q, Axis::seqlen_k},
                               .wants_gradient = true,
                               .read_once = true}}};
  variant.score = [](Value score, const ScoreIndex &at, VariantViews tensors) {
    return score + tensors[0].gather(at.batch, at.head, at.query, at.key);
  };
  return variant;
}

Variant combine(Variant first, Variant second) {
  size_t split = first.tensors.size();
  Variant variant{.name = nameOfBoth(first, second), .tensors = first.tensors, .bands = first.bands};
  variant.tensors.insert(variant.tensors.end(), second.tensors.begin(), second.tensors.end());
  variant.bands.insert(variant.bands.end(), second.bands.begin(), second.bands.end());
  variant.ranges = first.ranges;
  for (const VisibleRange &range : second.ranges)
    variant.ranges.push_back(
        {withTensorsFrom(split, range.keys), withTensorsFrom(split, range.queries), range.alignment});
  variant.mask = both(first, second, split);
  variant.score = chain(first, second, split);
  variant.peak = first.peak ? first.peak : second.peak;
  variant.status = first.status.ok() ? second.status : first.status;
  if (variant.status.ok())
    variant.status = checkPeaks(first, second);
  return variant;
}

} // namespace tegula
