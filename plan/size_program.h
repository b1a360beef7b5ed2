// SPDX-License-Identifier: MIT
// A Size that is evaluated often: names are places in an array.
#pragma once

#include "tegula/size.h"

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace tegula {

class SizeProgram {
public:
  /// Returns the place of a name in the array of values; nothing for an unknown name.
  using Places = std::function<std::optional<size_t>(std::string_view name)>;

  /// Returns invalid_argument with an unknown name, or if the expression is nested too deeply.
  static Expected<SizeProgram> make(const Size &size, const Places &places);

  /// Computes the value. Does not allocate. Most expressions of a launch are one number or one name.
  int64_t value(std::span<const int64_t> values) const {
    return steps_.size() == 1 ? operand(steps_.front(), values) : computed(values);
  }
  /// Returns true if the expression has the name at a place.
  bool uses(size_t place) const;

private:
  struct Step {
    SizeOp op;
    int64_t number; ///< The number, the place of a name, or the number of operands.
  };

  static int64_t operand(const Step &step, std::span<const int64_t> values) {
    return step.op == SizeOp::number ? step.number : values[static_cast<size_t>(step.number)];
  }
  int64_t computed(std::span<const int64_t> values) const;

  std::vector<Step> steps_;
};

} // namespace tegula
