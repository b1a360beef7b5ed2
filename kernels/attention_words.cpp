// SPDX-License-Identifier: MIT
#include "tegula/attention_words.h"

#include <algorithm>
#include <iterator>

namespace tegula {
namespace {

// All lists are in the order of the enumerators.
constexpr std::string_view kAlgorithms[] = {"standard", "flash1", "flash2"};
constexpr std::string_view kCausal[] = {"none", "top_left", "bottom_right"};
constexpr std::string_view kBlockMasks[] = {"none", "computed", "given"};
constexpr std::string_view kScoresOutputs[] = {"none", "products", "scores", "probabilities"};
constexpr std::string_view kAlignments[] = {"top_left", "bottom_right"};
constexpr std::string_view kAxes[] = {"batch", "heads", "kv_heads", "seqlen_q", "seqlen_k", "any", "up_to_seqlen_k"};

template <class Enum, size_t Size>
std::optional<Enum> find(const std::string_view (&words)[Size], std::string_view word) {
  auto found = std::find(std::begin(words), std::end(words), word);
  if (found == std::end(words))
    return std::nullopt;
  return Enum(found - std::begin(words));
}

} // namespace

std::string_view toString(Algorithm algorithm) { return kAlgorithms[size_t(algorithm)]; }
std::optional<Algorithm> parseAlgorithm(std::string_view word) { return find<Algorithm>(kAlgorithms, word); }
std::vector<std::string> algorithmWords() { return {std::begin(kAlgorithms), std::end(kAlgorithms)}; }

std::string_view toString(Causal causal) { return kCausal[size_t(causal)]; }
std::optional<Causal> parseCausal(std::string_view word) { return find<Causal>(kCausal, word); }
std::vector<std::string> causalWords() { return {std::begin(kCausal), std::end(kCausal)}; }

std::string_view toString(BlockMask::Source source) { return kBlockMasks[size_t(source)]; }
std::optional<BlockMask::Source> parseBlockMask(std::string_view word) {
  return find<BlockMask::Source>(kBlockMasks, word);
}
std::vector<std::string> blockMaskWords() { return {std::begin(kBlockMasks), std::end(kBlockMasks)}; }

std::string_view toString(ScoresOutput output) { return kScoresOutputs[size_t(output)]; }

std::string_view toString(Alignment alignment) { return kAlignments[size_t(alignment)]; }
std::string_view toString(Axis axis) { return kAxes[size_t(axis)]; }

} // namespace tegula
