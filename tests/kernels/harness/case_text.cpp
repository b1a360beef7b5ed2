// SPDX-License-Identifier: MIT
#include "harness/case.h"
#include "tegula/attention_words.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

namespace tegula::testing {
namespace {

constexpr std::string_view kAlgorithms[] = {"standard", "flash1", "flash2"};
constexpr std::string_view kCausal[] = {"none", "top_left", "bottom_right"};
constexpr std::string_view kPoisonNames[] = {"nan", "subnormal", "huge", "infinity"};

size_t placeOf(Poison poison) { return size_t(std::find(kPoisons, std::end(kPoisons), poison) - kPoisons); }

std::vector<std::string_view> layoutNames() {
  std::vector<std::string_view> names;
  for (Layout layout : kLayouts)
    names.push_back(toString(layout));
  return names;
}

std::vector<std::string_view> familyNames() {
  std::vector<std::string_view> names;
  for (oracle::Family family : oracle::allFamilies())
    names.push_back(toString(family));
  return names;
}

/// Sets `target` to the index of `word` in `names`. Returns false if `word` is not one of them.
template <class Enum, class Names> bool choose(Enum &target, const Names &names, std::string_view word) {
  auto found = std::find(std::begin(names), std::end(names), word);
  if (found == std::end(names))
    return false;
  target = Enum(found - std::begin(names));
  return true;
}

bool setDType(DType &dtype, std::string_view word) {
  std::optional<DType> parsed = parseDType(word);
  return parsed && (dtype = *parsed, true);
}

template <class Integer> bool setNumber(Integer &target, const std::string &word) {
  char *end = nullptr;
  target = Integer(std::strtoull(word.c_str(), &end, 10));
  return !word.empty() && *end == '\0';
}

bool setNumber(double &target, const std::string &word) {
  char *end = nullptr;
  target = std::strtod(word.c_str(), &end);
  return !word.empty() && *end == '\0';
}

bool setPoison(Poison &poison, std::string_view word) {
  size_t place = 0;
  return choose(place, kPoisonNames, word) && (poison = kPoisons[place], true);
}

bool set(Case &c, const std::string &key, const std::string &word) {
  std::map<std::string, int64_t *> sizes = {{"batch", &c.shape.batch},        {"heads", &c.shape.heads},
                                            {"kv_heads", &c.shape.kv_heads},  {"seqlen_q", &c.shape.seqlen_q},
                                            {"seqlen_k", &c.shape.seqlen_k},  {"head_dim", &c.shape.head_dim},
                                            {"value_dim", &c.shape.value_dim}};
  if (auto size = sizes.find(key); size != sizes.end())
    return setNumber(*size->second, word);
  if (key == "dtype")
    return setDType(c.dtype, word);
  if (key == "algorithm")
    return choose(c.algorithm, kAlgorithms, word);
  if (key == "causal")
    return choose(c.causal, kCausal, word);
  if (key == "variant")
    return c.variant = word, true;
  for (const ScheduleField &field : scheduleFields())
    if (field.name == key)
      return field.parse(c.schedule, word);
  if (key == "backward")
    return setNumber(c.backward, word);
  if (key == "lse_gradient")
    return setNumber(c.lse_gradient, word);
  if (key == "family")
    return choose(c.family, familyNames(), word);
  if (key == "layout")
    return choose(c.layout, layoutNames(), word);
  if (key == "poison")
    return setPoison(c.poison, word);
  if (key == "sharpness")
    return setNumber(c.sharpness, word);
  if (key == "contain_nonfinite")
    return setNumber(c.contain_nonfinite, word);
  if (key == "deterministic")
    return setNumber(c.deterministic, word);
  if (key == "block_mask")
    return choose(c.block_mask.source, blockMaskWords(), word);
  if (key == "block_q")
    return setNumber(c.block_mask.block_q, word);
  if (key == "block_k")
    return setNumber(c.block_mask.block_k, word);
  if (key == "per_batch")
    return setNumber(c.block_mask.per_batch, word);
  if (key == "per_head")
    return setNumber(c.block_mask.per_head, word);
  if (key == "dropout_p")
    return setNumber(c.dropout_p, word);
  if (key == "sinks")
    return setNumber(c.sinks, word);
  if (key == "diagonal_offset")
    return setNumber(c.diagonal_offset, word);
  if (key == "slope")
    return setNumber(c.slope, word);
  return key == "seed" && setNumber(c.seed, word);
}

} // namespace

std::string toString(const Case &c) {
  std::ostringstream text;
  const oracle::Shape &s = c.shape;
  text << "dtype=" << toString(c.dtype) << " algorithm=" << kAlgorithms[size_t(c.algorithm)]
       << " causal=" << kCausal[size_t(c.causal)] << " variant=" << c.variant << " " << toString(c.schedule)
       << (c.schedule == Schedule() ? "" : " ") << "backward=" << c.backward
       << (c.lse_gradient ? " lse_gradient=1" : "") << " batch=" << s.batch << " heads=" << s.heads
       << " kv_heads=" << s.kv_heads << " seqlen_q=" << s.seqlen_q << " seqlen_k=" << s.seqlen_k
       << " head_dim=" << s.head_dim << " value_dim=" << s.value_dim << " family=" << toString(c.family)
       << " layout=" << toString(c.layout) << " poison=" << kPoisonNames[placeOf(c.poison)] << " seed=" << c.seed;
  if (c.sharpness != 1)
    text << " sharpness=" << c.sharpness;
  if (c.contain_nonfinite)
    text << " contain_nonfinite=1";
  if (c.deterministic)
    text << " deterministic=1";
  if (c.block_mask.exists())
    text << " block_mask=" << toString(c.block_mask.source);
  if (c.block_mask.source == BlockMask::Source::given)
    text << " block_q=" << c.block_mask.block_q << " block_k=" << c.block_mask.block_k
         << " per_batch=" << c.block_mask.per_batch << " per_head=" << c.block_mask.per_head;
  if (c.dropout_p != 0)
    text << " dropout_p=" << c.dropout_p;
  if (c.sinks)
    text << " sinks=1";
  if (c.diagonal_offset)
    text << " diagonal_offset=1";
  if (c.slope != 0)
    text << " slope=" << c.slope;
  return text.str();
}

Expected<Case> parseCase(std::string_view text) {
  Case c;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    size_t equals = std::min(word.find('='), word.size());
    std::string value = word.substr(std::min(equals + 1, word.size()));
    if (!set(c, word.substr(0, equals), value))
      return Status(ErrorCode::invalid_argument, "'" + word + "' is not a word of a case");
  }
  return c;
}

} // namespace tegula::testing
