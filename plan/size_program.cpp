// SPDX-License-Identifier: MIT
#include "size_program.h"

#include "size_operations.h"

#include <algorithm>
#include <array>
#include <string>

namespace tegula {

/// The most numbers that an evaluation holds at the same time.
constexpr size_t kMaxDepth = 64;

static bool isOperation(SizeOp op) { return op != SizeOp::number && op != SizeOp::name; }

Expected<SizeProgram> SizeProgram::make(const Size &size, const Places &places) {
  SizeProgram program;
  size_t depth = 0;
  for (const Size::Term &term : size.terms()) {
    int64_t number = isOperation(term.op) ? static_cast<int64_t>(operationOf(term.op).operands) : term.number;
    depth = isOperation(term.op) ? depth + 1 - static_cast<size_t>(number) : depth + 1;
    if (depth > kMaxDepth)
      return Status(ErrorCode::invalid_argument, "the expression of a size is nested too deeply");
    if (term.op == SizeOp::name) {
      const std::optional<size_t> place = places(term.name);
      if (!place)
        return Status(ErrorCode::invalid_argument, "the size '" + term.name + "' is not known");
      number = static_cast<int64_t>(*place);
    }
    program.steps_.push_back({term.op, number});
  }
  return program;
}

int64_t SizeProgram::computed(std::span<const int64_t> values) const {
  std::array<int64_t, kMaxDepth> stack; // Not initialised, because a launch evaluates many small expressions.
  size_t depth = 0;
  for (const Step &step : steps_) {
    if (!isOperation(step.op)) {
      stack[depth++] = operand(step, values);
    } else {
      depth -= static_cast<size_t>(step.number);
      stack[depth] = compute(step.op, &stack[depth]);
      ++depth;
    }
  }
  return stack[0];
}

bool SizeProgram::uses(size_t place) const {
  return std::ranges::any_of(
      steps_, [&](const Step &step) { return step.op == SizeOp::name && step.number == int64_t(place); });
}

Expected<int64_t> evaluate(const Size &size, const Sizes &sizes) {
  std::vector<int64_t> values;
  for (const NamedSize &known : sizes)
    values.push_back(known.value);
  const auto place = [&](std::string_view name) -> std::optional<size_t> {
    const auto found = std::ranges::find(sizes, name, &NamedSize::name);
    return found == sizes.end() ? std::nullopt : std::optional(static_cast<size_t>(found - sizes.begin()));
  };
  Expected<SizeProgram> program = SizeProgram::make(size, place);
  if (!program)
    return program.status();
  return program->value(values);
}

} // namespace tegula
