// SPDX-License-Identifier: MIT
#include "workload/named_variants.h"

#include <algorithm>
#include <random>

namespace tegula::tools {
namespace {

constexpr double kCap = 30;
constexpr int kAddedDim = 64;
constexpr int64_t kWindow = 1024, kGlobals = 64, kDocument = 2048;

//===-- Which keys are visited ------------------------------------------------------------------------------------===//

using KeySpans = std::vector<KeyInterval>;

KeySpans allKeys(const AttentionShape &s, int64_t, int64_t) { return {{0, s.seqlen_k}}; }

KeySpans windowKeys(const AttentionShape &, int64_t first, int64_t last) {
  return {{std::max<int64_t>(first - kWindow, 0), last + 1}};
}

KeySpans windowOrGlobalKeys(const AttentionShape &s, int64_t first, int64_t last) {
  const KeyInterval window = windowKeys(s, first, last).front();
  if (first < kGlobals)
    return allKeys(s, first, last);
  return window.begin <= kGlobals ? KeySpans{{0, window.end}} : KeySpans{{0, kGlobals}, window};
}

KeySpans prefixKeys(const AttentionShape &s, int64_t, int64_t last) {
  return {{0, std::max(last + 1, s.seqlen_k / 2)}};
}

KeySpans documentKeys(const AttentionShape &s, int64_t first, int64_t last) {
  return {{first / kDocument * kDocument, std::min((last / kDocument + 1) * kDocument, s.seqlen_k)}};
}

Alignment alignmentOf(const AttentionProblem &problem) {
  return problem.causal == Causal::bottom_right ? Alignment::bottom_right : Alignment::top_left;
}

constexpr NamedVariant kVariants[] = {
    {"softcap", [](const AttentionProblem &problem) { return checkedSoftcap(kCap, problem.dtype); }, allKeys},
    {"alibi", [](const AttentionProblem &problem) { return checkedAlibi(alignmentOf(problem)); }, allKeys},
    {"sliding_window", [](const AttentionProblem &problem) { return checkedWindow(kWindow, 0, alignmentOf(problem)); },
     windowKeys},
    {"window_with_globals",
     [](const AttentionProblem &problem) {
       return checkedWindowWithGlobals(kWindow, 0, kGlobals, alignmentOf(problem));
     },
     windowOrGlobalKeys},
    {"given_window", [](const AttentionProblem &problem) { return checkedGivenWindow(alignmentOf(problem)); },
     windowKeys},
    {"prefix_lm", [](const AttentionProblem &problem) { return checkedPrefixLm(alignmentOf(problem)); }, prefixKeys},
    {"documents", [](const AttentionProblem &) { return checkedDocuments(); }, documentKeys},
    {"key_intervals", [](const AttentionProblem &) { return checkedKeyIntervals(); }, documentKeys},
    {"bias", [](const AttentionProblem &problem) { return checkedBias(problem.dtype); }, allKeys},
    {"mask", [](const AttentionProblem &) { return checkedMask(); }, allKeys},
    {"added_product", [](const AttentionProblem &problem) { return checkedAddedProduct(problem.dtype, kAddedDim); },
     allKeys},
};

//===-- What their tensors hold -----------------------------------------------------------------------------------===//

/// `value(n)` for each n along the last axis of each row.
template <class Value> std::vector<float> filled(const std::vector<int64_t> &shape, Value value) {
  std::vector<float> values;
  for (int64_t row = 0; row < (shape.size() > 1 ? shape[0] : 1); ++row)
    for (int64_t n = 0; n < shape.back(); ++n)
      values.push_back(float(value(n)));
  return values;
}

/// Returns, for each batch entry, ascending numbers of documents, of some of which there are no queries, or no keys.
std::vector<int32_t> randomDocuments(int64_t batch, int64_t length, uint64_t seed, uint64_t of) {
  constexpr unsigned count = 5;
  std::vector<int32_t> documents;
  for (int64_t entry = 0; entry < batch; ++entry) {
    std::seed_seq seeds{seed, of, uint64_t(entry)};
    std::mt19937 random(seeds);
    for (int64_t n = 0; n < length; ++n)
      documents.push_back(int32_t(random() % count));
    std::sort(documents.end() - length, documents.end());
  }
  return documents;
}

/// Returns, for each position, the begin or the end of its document among the other positions.
std::vector<float> randomBounds(std::string_view tensor, const AttentionShape &s, uint64_t seed) {
  const bool ofKeys = tensor.starts_with("query"), isEnd = tensor.ends_with("_end");
  return documentBounds(s.batch, randomDocuments(s.batch, s.seqlen_q, seed, 0),
                        randomDocuments(s.batch, s.seqlen_k, seed, 1))[2 * ofKeys + isEnd];
}

/// Returns a number of keys for each batch entry, from `first` to all keys.
std::vector<float> randomLengths(const AttentionShape &s, int64_t first, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<float> lengths;
  for (int64_t batch = 0; batch < s.batch; ++batch)
    lengths.push_back(float(first + int64_t(random() % uint64_t(s.seqlen_k + 1 - first))));
  return lengths;
}

/// Returns the elements of a mask, about half of which are 0.
std::vector<float> randomMask(const AttentionShape &s, uint64_t seed) {
  std::minstd_rand random(uint32_t(seed % 1000003 + 1));
  std::vector<float> mask(size_t(s.batch * s.heads * s.seqlen_q * s.seqlen_k));
  std::ranges::generate(mask, [&] { return random() / 16 % 2 == 0 ? 0.0f : 1.0f; });
  return mask;
}

bool isBound(std::string_view tensor) { return tensor.ends_with("_begin") || tensor.ends_with("_end"); }

} // namespace

Variant NamedVariant::make(const AttentionProblem &problem) const {
  Variant variant = checked(problem).variant;
  for (VisibleRange &range : variant.ranges)
    range.expected = [keys = measured_keys](int64_t position, int64_t seqlen_k) {
      return keys({.seqlen_k = seqlen_k}, position, position).front();
    };
  return variant;
}

oracle::Corner cornerOf(const AttentionProblem &problem) { return cornerOf(alignmentOf(problem)); }

std::span<const NamedVariant> namedVariants() { return kVariants; }

const NamedVariant *findVariant(std::string_view name) {
  auto found = std::find_if(std::begin(kVariants), std::end(kVariants), [&](auto &v) { return v.name == name; });
  return found == std::end(kVariants) ? nullptr : found;
}

std::vector<std::string> variantNames() {
  std::vector<std::string> names;
  for (const NamedVariant &variant : kVariants)
    names.emplace_back(variant.name);
  return names;
}

std::vector<float> measuredValues(std::string_view tensor, const std::vector<int64_t> &shape, const AttentionShape &s) {
  if (tensor == "prefix_length")
    return filled(shape, [&](int64_t) { return s.seqlen_k / 2; });
  if (tensor == "window_left" || tensor == "window_right")
    return filled(shape, [&](int64_t) { return tensor == "window_left" ? kWindow : 0; });
  if (tensor.ends_with("_begin"))
    return filled(shape, [](int64_t position) { return position / kDocument * kDocument; });
  if (tensor.ends_with("_end"))
    return filled(shape,
                  [&](int64_t position) { return std::min((position / kDocument + 1) * kDocument, s.seqlen_k); });
  return randomValues(tensor, s, 0);
}

std::vector<float> randomValues(std::string_view tensor, const AttentionShape &s, uint64_t seed) {
  if (tensor == "slopes")
    return alibiSlopes(s.heads);
  if (tensor == "prefix_length")
    return randomLengths(s, 0, seed);
  if (tensor == "window_left" || tensor == "window_right")
    return randomLengths(s, kNoBound, seed + (tensor == "window_right"));
  if (tensor == "mask")
    return randomMask(s, seed);
  return isBound(tensor) ? randomBounds(tensor, s, seed) : std::vector<float>();
}

void setVariant(AttentionCase &attention, const NamedVariant &variant) {
  attention.problem.variant = variant.make(attention.problem);
  attention.variant = &variant;
  attention.variant_values = [shape = attention.shape, seed = attention.seed](std::string_view tensor,
                                                                              const std::vector<int64_t> &) {
    return randomValues(tensor, shape, seed);
  };
}

void setMeasuredVariant(AttentionCase &attention, const NamedVariant &variant) {
  setVariant(attention, variant);
  attention.variant_values = [shape = attention.shape](std::string_view tensor, const std::vector<int64_t> &sizes) {
    return measuredValues(tensor, sizes, shape);
  };
}

} // namespace tegula::tools
