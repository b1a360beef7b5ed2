// SPDX-License-Identifier: MIT
// Configurations of described kernels that were measured on this machine.
#pragma once

#include "tegula/configuration.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tegula {

/// A configuration that was fastest for a kernel at some sizes.
struct TunedConfiguration {
  std::string kernel;
  std::string kernel_class; ///< tuningClass() of the kernel.
  Sizes sizes;              ///< All sizes of the plan.
  std::string text;         ///< The configuration, as toString() spells it.
};

/// The tuned configurations of one machine.
class TunedConfigurations {
public:
  void add(TunedConfiguration tuned) { all_.push_back(std::move(tuned)); }
  bool empty() const { return all_.empty(); }

  /// Returns the text of the nearest configuration: of the same kernel and class, each size within one doubling of
  /// `expected`, when both are rounded up to a power of two. Nothing if there is none.
  std::optional<std::string> find(std::string_view kernel, std::string_view kernel_class, const Sizes &expected) const;

private:
  std::vector<TunedConfiguration> all_;
};

} // namespace tegula
