// SPDX-License-Identifier: MIT
#include "workload/plan_launches.h"

#include "workload/plan_data.h"

#include <algorithm>

#include <fmt/format.h>

namespace tegula::tools {
namespace {

/// Returns the names of the sizes that shapes of the caller's tensors have and that no choice decides.
std::vector<std::string> sizesOfShapes(const PlanSpec &plan) {
  std::vector<std::string> names;
  for (const ArgumentSpec &argument : plan.arguments())
    if (const TensorSpec *tensor = callersTensor(argument))
      for (const Size &size : tensor->shape)
        for (const Size::Term &term : size.terms())
          if (term.op == SizeOp::name && std::ranges::find(names, term.name) == names.end() &&
              std::ranges::find(plan.choices(), term.name, &Choice::name) == plan.choices().end())
            names.push_back(term.name);
  return names;
}

/// Returns the different values of the sizes of shapes, in the order in which they first appear.
std::vector<int64_t> valuesOf(const std::vector<std::string> &names, const Sizes &sizes) {
  std::vector<int64_t> values;
  for (const std::string &name : names) {
    const auto size = std::ranges::find(sizes, name, &NamedSize::name);
    if (size != sizes.end() && std::ranges::find(values, size->value) == values.end())
      values.push_back(size->value);
  }
  return values;
}

Sizes gapsOf(const std::vector<std::string> &tensors) {
  Sizes gaps;
  for (const std::string &tensor : tensors)
    gaps.push_back({tensor, kUnalignedGap});
  return gaps;
}

std::vector<std::string> tensorsOf(const PlanSpec &plan) {
  std::vector<std::string> names;
  for (const ArgumentSpec &argument : plan.arguments())
    if (const TensorSpec *tensor = callersTensor(argument))
      names.push_back(tensor->name);
  return names;
}

/// Returns "3" if all `tensors` have that gap, otherwise a list such as "q=3,o=3".
std::string gapText(const Sizes &gaps, size_t tensors) {
  const int64_t first = gaps.front().value;
  if (gaps.size() == tensors && std::ranges::all_of(gaps, [&](const NamedSize &gap) { return gap.value == first; }))
    return std::to_string(first);
  std::string text;
  for (const NamedSize &gap : gaps)
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", gap.name, gap.value);
  return text;
}

class Trials {
public:
  Trials(const PlanSpec &plan, const PlanInputs &inputs)
      : names_(sizesOfShapes(plan)), tensors_(tensorsOf(plan)), inputs_(inputs) {}

  std::vector<PlanInputs> make() {
    addGaps(gapsOf(tensors_));
    const std::vector<int64_t> values = valuesOf(names_, inputs_.sizes);
    for (const int64_t value : values)
      for (const int64_t smaller : {value - 1 + value % 2, value / 2, int64_t{1}, int64_t{0}})
        addSize(value, smaller, {});
    if (tensors_.size() > 1)
      for (const std::string &tensor : tensors_)
        addGaps(gapsOf({tensor}));
    // It keeps rows that start at multiples of 16 bytes, and the last tile is ragged.
    for (const int64_t value : values)
      for (const Sizes &gaps : {Sizes(), gapsOf(tensors_)})
        addSize(value, 4 * value + 8, gaps);
    return std::move(trials_);
  }

private:
  void addGaps(const Sizes &gaps) {
    PlanInputs trial = inputs_;
    trial.row_gaps = gaps;
    trials_.push_back(std::move(trial));
  }

  /// Adds a trial in which the sizes of shapes with a value have another one.
  void addSize(int64_t value, int64_t other, const Sizes &gaps) {
    if (other == value || other < 0)
      return;
    PlanInputs trial = inputs_;
    for (NamedSize &size : trial.sizes)
      if (size.value == value && std::ranges::find(names_, size.name) != names_.end())
        size.value = other;
    trial.row_gaps = gaps;
    const auto isSame = [&](const PlanInputs &known) {
      return known.sizes == trial.sizes && known.row_gaps == trial.row_gaps;
    };
    if (std::ranges::none_of(trials_, isSame))
      trials_.push_back(std::move(trial));
  }

  const std::vector<std::string> names_, tensors_;
  const PlanInputs &inputs_;
  std::vector<PlanInputs> trials_;
};

} // namespace

std::vector<PlanInputs> planTrials(const PlanSpec &plan, const PlanInputs &inputs) {
  return Trials(plan, inputs).make();
}

std::string launchName(const PlanSpec &plan, const PlanInputs &inputs, const PlanInputs &given) {
  std::vector<std::string> words;
  for (const std::string &name : sizesOfShapes(plan)) {
    const auto size = std::ranges::find(inputs.sizes, name, &NamedSize::name);
    if (size != inputs.sizes.end() && std::ranges::find(given.sizes, *size) == given.sizes.end())
      words.push_back(fmt::format("{}={}", size->name, size->value));
  }
  if (!inputs.row_gaps.empty())
    words.push_back("row_gaps=" + gapText(inputs.row_gaps, tensorsOf(plan).size()));
  return fmt::format("{}", fmt::join(words, " "));
}

} // namespace tegula::tools
