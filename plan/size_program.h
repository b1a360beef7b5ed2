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

  /// Computes the value. Does not allocate.
  int64_t value(std::span<const int64_t> values) const;
  /// Returns true if the expression has the name at a place.
  bool uses(size_t place) const;

private:
  struct Step {
    SizeOp op;
    int64_t number; ///< The number, the place of a name, or the number of operands.
  };

  std::vector<Step> steps_;
};

} // namespace tegula
