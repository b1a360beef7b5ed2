// SPDX-License-Identifier: MIT
#include "tegula/tuned_schedules.h"
#include "kernel_config.h"
#include "tegula/attention_words.h"

#include <bit>
#include <cstdlib>
#include <tuple>

namespace tegula {
namespace {

/// The most queries of a decode step: the rows of the smallest block.
constexpr int64_t kMaxDecoded = 16;
/// The most doublings between a length that was tuned and a length that uses the result.
constexpr int kNear = 1;

int64_t roundedUp(int64_t size) { return size <= 0 ? 0 : int64_t(std::bit_ceil(uint64_t(size))); }

int doublings(int64_t a, int64_t b) {
  return std::abs(int(std::bit_width(uint64_t(a))) - int(std::bit_width(uint64_t(b))));
}

/// Returns the number of doublings between two classes, over all sizes.
int distance(const ShapeClass &a, const ShapeClass &b) {
  return doublings(a.heads, b.heads) + doublings(a.query_heads_per_kv_head, b.query_heads_per_kv_head) +
         doublings(a.seqlen_q, b.seqlen_q) + doublings(a.seqlen_k, b.seqlen_k);
}

/// Returns a text such as "f32[batch,heads]".
std::string classOf(const VariantTensor &tensor) {
  std::string text(toString(tensor.dtype));
  char before = '[';
  for (Axis axis : tensor.axes) {
    text += before + std::string(toString(axis));
    before = ',';
  }
  if (tensor.last_dim != 0)
    text += before + std::to_string(tensor.last_dim);
  return text + (tensor.axes.empty() ? "[]" : "]");
}

/// Returns a text such as "band(1024,0)", or "band(,0)" for a band without a bound to the left.
std::string classOf(const Band &band) {
  auto reach = [](std::optional<int64_t> bound) { return bound ? std::to_string(roundedUp(*bound)) : ""; };
  return "band(" + reach(band.left) + "," + reach(band.right) + ")";
}

/// Returns the part of problemClass about a variant, with a space before each word; nothing for plain attention. The
/// name comes last, so that no name looks like another word.
std::string classOf(const Variant &variant) {
  std::string text;
  if (variant.score)
    text += " score";
  if (variant.mask)
    text += " mask";
  if (variant.probability)
    text += " probability";
  if (variant.peak)
    text += " peak";
  if (!variant.ranges.empty())
    text += " ranges(" + std::to_string(variant.ranges.size()) + ")";
  for (const Band &band : variant.bands)
    text += " " + classOf(band);
  for (const KeySet &set : variant.any_of) {
    text += " or(ranges(" + std::to_string(set.ranges.size()) + ")";
    for (const Band &band : set.bands)
      text += " " + classOf(band);
    text += ")";
  }
  for (const VariantTensor &tensor : variant.tensors)
    text += " " + classOf(tensor);
  return variant.name.empty() ? text : text + " " + variant.name;
}

} // namespace

std::string problemClass(const AttentionProblem &problem) {
  return std::string(toString(problem.algorithm)) + " " + std::string(toString(problem.dtype)) + " " +
         std::to_string(problem.head_dim) + " " + std::to_string(problem.value_dim) + " " +
         (problem.contain_nonfinite ? "contain_nonfinite " : "") +
         (blockMaskOf(problem).exists() ? "block_mask " : "") + (problem.dropout_p != 0 ? "dropout " : "") +
         std::string(toString(problem.causal)) + classOf(problem.variant);
}

ShapeClass shapeClass(const AttentionShape &shape) {
  return {.heads = roundedUp(shape.batch * shape.heads),
          .query_heads_per_kv_head = roundedUp(shape.kv_heads > 0 ? shape.heads / shape.kv_heads : 0),
          .seqlen_q = roundedUp(shape.seqlen_q),
          .seqlen_k = roundedUp(shape.seqlen_k)};
}

bool isNear(const ShapeClass &tuned, const ShapeClass &shape) {
  return (tuned.seqlen_q <= kMaxDecoded) == (shape.seqlen_q <= kMaxDecoded) &&
         doublings(tuned.seqlen_q, shape.seqlen_q) <= kNear && doublings(tuned.seqlen_k, shape.seqlen_k) <= kNear;
}

std::optional<Schedule> TunedSchedules::find(std::string_view program, const AttentionProblem &problem) const {
  if (problem.variant.name.empty() && problem.variant.needsName())
    return std::nullopt;
  const std::string wanted = problemClass(problem);
  const ShapeClass shape = shapeClass(problem.expected);
  const auto rank = [&](const TunedSchedule &tuned) { return std::tuple(distance(tuned.shape, shape), tuned.shape); };
  const TunedSchedule *best = nullptr;
  for (const TunedSchedule &tuned : all_)
    if (tuned.program == program && tuned.problem == wanted && isNear(tuned.shape, shape) &&
        (best == nullptr || rank(tuned) < rank(*best)))
      best = &tuned;
  return best ? std::optional(best->schedule) : std::nullopt;
}

} // namespace tegula
