// SPDX-License-Identifier: MIT
// Configurations that were measured on this machine. Plans use them before those that ship.
#pragma once

#include "tegula/configuration.h"

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// A configuration that was fastest for a kernel at some sizes.
struct TunedConfiguration {
  std::string kernel;
  std::string kernel_class; ///< tuningClass() of a described kernel, problemClass() of a program of attention.
  Sizes sizes;              ///< All sizes of the plan.
  std::string text;         ///< The configuration, as toString() spells it.
};

/// The tuned configurations of one machine with one build of the compiler. Any thread may use a const object.
class TunedConfigurations {
public:
  void add(TunedConfiguration tuned) { all_.push_back(std::move(tuned)); }
  bool empty() const { return all_.empty(); }
  size_t size() const { return all_.size(); }

  /// Returns the text of the nearest configuration: of the same kernel and class, each size within one doubling of
  /// `expected`, when both are rounded up to a power of two. Sizes that are `guessed` may be further away. The distance
  /// counts the doublings of all sizes. Of two that are equally near, the one of smaller sizes counts. Nothing if there
  /// is none.
  std::optional<std::string> find(std::string_view kernel, std::string_view kernel_class, const Sizes &expected,
                                  std::initializer_list<std::string_view> guessed = {}) const;

private:
  std::vector<TunedConfiguration> all_;
};

} // namespace tegula
