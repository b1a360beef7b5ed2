// SPDX-License-Identifier: MIT
#include "diagonals.h"

#include "plan_check.h"

namespace tegula {
namespace {

/// A part of a problem, and the diagonal from which it counts.
struct Part {
  enum class Kind { causal, band, range, peak } kind;
  Alignment alignment;
};

void add(std::vector<Part> &parts, const KeySet &set) {
  for (const Band &band : set.bands)
    parts.push_back({Part::Kind::band, band.alignment});
  for (const VisibleRange &range : set.ranges)
    if (range.alignment)
      parts.push_back({Part::Kind::range, *range.alignment});
}

std::vector<Part> partsOf(const AttentionProblem &problem) {
  std::vector<Part> parts;
  if (problem.causal != Causal::none)
    parts.push_back(
        {Part::Kind::causal, problem.causal == Causal::top_left ? Alignment::top_left : Alignment::bottom_right});
  add(parts, {problem.variant.bands, problem.variant.ranges});
  for (const KeySet &set : problem.variant.any_of)
    add(parts, set);
  if (problem.variant.peak)
    parts.push_back({Part::Kind::peak, *problem.variant.peak});
  return parts;
}

/// Returns the clause of an error about a part. `variant` is the variant's name in this clause.
std::string clause(const Part &part, const std::string &variant) {
  const std::string where(toString(part.alignment));
  switch (part.kind) {
  case Part::Kind::causal:
    return "'causal' is " + where;
  case Part::Kind::band:
    return "a band of " + variant + " counts from " + where;
  case Part::Kind::range:
    return "a range of " + variant + " counts from " + where;
  case Part::Kind::peak:
    return "the peak of " + variant + " is at " + where;
  }
  return "";
}

} // namespace

Status checkDiagonals(const AttentionProblem &problem) {
  const std::vector<Part> parts = partsOf(problem);
  for (const Part &part : parts)
    if (part.alignment != parts.front().alignment)
      return invalidArgument("variant", clause(part, "'" + problem.variant.name + "'") + ", but " +
                                            clause(parts.front(), "it") + kOneDiagonal);
  return {};
}

} // namespace tegula
