// SPDX-License-Identifier: MIT
#include "tegula/tuned_schedules.h"
#include "kernel_config.h"
#include "tegula/attention_words.h"

#include <bit>

namespace tegula {
namespace {

/// The most queries of a decode step: the rows of the smallest block.
constexpr int64_t kMaxDecoded = 16;

int64_t roundedUp(int64_t size) { return size <= 0 ? 0 : int64_t(std::bit_ceil(uint64_t(size))); }

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
         (problem.contain_nonfinite ? "contain_nonfinite " : "") + (problem.page_size != 0 ? "pages " : "") +
         (blockMaskOf(problem).exists() ? "block_mask " : "") + (problem.dropout_p != 0 ? "dropout " : "") +
         (problem.expected.seqlen_q <= kMaxDecoded ? "decode " : "") + std::string(toString(problem.causal)) +
         classOf(problem.variant);
}

Sizes attentionSizes(const AttentionShape &shape) {
  return {{"batch", shape.batch},
          {"heads", shape.heads},
          {"kv_heads", shape.kv_heads},
          {"seqlen_q", shape.seqlen_q},
          {"seqlen_k", shape.seqlen_k}};
}

std::optional<Schedule> tunedSchedule(const TunedConfigurations &tuned, std::string_view program,
                                      const AttentionProblem &problem) {
  if (problem.variant.name.empty() && problem.variant.needsName())
    return std::nullopt;
  const std::optional<std::string> found =
      tuned.find(program, problemClass(problem), attentionSizes(problem.expected), {"batch", "heads", "kv_heads"});
  if (!found)
    return std::nullopt;
  const Expected<Schedule> schedule = parseSchedule(*found);
  return schedule ? std::optional(*schedule) : std::nullopt;
}

} // namespace tegula
