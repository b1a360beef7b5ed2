// SPDX-License-Identifier: MIT
#include "tegula/attention_variant.h"

namespace tegula {
namespace {

Status checkPositive(const char *what, double value) {
  if (value > 0 && value <= 1e30)
    return {};
  return {ErrorCode::InvalidArgument, std::string(what) + " is " + std::to_string(value) + "; it must be positive"};
}

Status checkWindow(const char *side, int64_t size) {
  constexpr int64_t limit = int64_t(1) << 30;
  if (size >= 0 && size <= limit)
    return {};
  return {ErrorCode::InvalidArgument, std::string("slidingWindow: ") + side + " is " + std::to_string(size) +
                                          "; it must be from 0 to " + std::to_string(limit)};
}

using Mask = decltype(Variant::mask);
using Score = decltype(Variant::score);

Mask both(Mask first, Mask second, size_t split) {
  if (!first && !second)
    return {};
  return [=](const ScoreIndex &index, VariantViews tensors) -> Value {
    if (!second)
      return first(index, tensors.first(split));
    Value seen = second(index, tensors.subspan(split));
    return first ? first(index, tensors.first(split)) & seen : seen;
  };
}

Score chain(Score first, Score second, size_t split) {
  if (!first && !second)
    return {};
  return [=](Value score, const ScoreIndex &index, VariantViews tensors) -> Value {
    Value inner = first ? first(score, index, tensors.first(split)) : score;
    return second ? second(inner, index, tensors.subspan(split)) : inner;
  };
}

} // namespace

Variant softcap(double cap) {
  Variant variant{.name = "softcap"};
  variant.status = checkPositive("softcap: cap", cap);
  variant.score = [cap](Value score, const ScoreIndex &, VariantViews) { return cap * tanh(score / cap); };
  return variant;
}

Variant alibi(Alignment alignment) {
  Variant variant{.name = "alibi", .tensors = {{"slopes", f32, {Axis::heads}}}};
  variant.score = [alignment](Value score, const ScoreIndex &at, VariantViews tensors) {
    Value distance = cast(f32, abs(at.diagonal(alignment) - at.key)); // [rows, keys]
    return score - tensors[0].gather(at.head) * distance;
  };
  return variant;
}

Variant slidingWindow(int64_t left, int64_t right, Alignment alignment) {
  Variant variant{.name = "sliding_window", .bands = {{left, right, alignment}}};
  variant.status = checkWindow("left", left);
  if (variant.status.ok())
    variant.status = checkWindow("right", right);
  return variant;
}

Variant prefixLm(Alignment alignment) {
  Variant variant{.name = "prefix_lm", .tensors = {{"prefix_length", i32, {Axis::batch}}}};
  variant.mask = [alignment](const ScoreIndex &at, VariantViews tensors) {
    return (at.key <= at.diagonal(alignment)) | (at.key < tensors[0].gather(at.batch));
  };
  return variant;
}

Variant documents() {
  Variant variant{.name = "documents",
                  .tensors = {{"query_document", i32, {Axis::batch, Axis::seqlen_q}},
                              {"key_document", i32, {Axis::batch, Axis::seqlen_k}}}};
  variant.mask = [](const ScoreIndex &at, VariantViews tensors) {
    return tensors[0].gather(at.batch, at.query) == tensors[1].gather(at.batch, at.key);
  };
  return variant;
}

Variant additiveBias(DType dtype) {
  Variant variant{.name = "bias",
                  .tensors = {{"bias", dtype, {Axis::batch, Axis::heads, Axis::seqlen_q, Axis::seqlen_k}, true}}};
  variant.score = [](Value score, const ScoreIndex &at, VariantViews tensors) {
    return score + tensors[0].gather(at.batch, at.head, at.query, at.key);
  };
  return variant;
}

Variant combine(Variant first, Variant second) {
  size_t split = first.tensors.size();
  Variant variant{.name = first.name + "+" + second.name, .tensors = first.tensors, .bands = first.bands};
  variant.tensors.insert(variant.tensors.end(), second.tensors.begin(), second.tensors.end());
  variant.bands.insert(variant.bands.end(), second.bands.begin(), second.bands.end());
  variant.mask = both(first.mask, second.mask, split);
  variant.score = chain(first.score, second.score, split);
  variant.status = first.status.ok() ? second.status : first.status;
  return variant;
}

} // namespace tegula
