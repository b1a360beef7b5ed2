// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/tuned_configurations.h"

#include <string_view>

namespace tegula::tools {

/// Returns the configurations that `tegula tune` has found for a target. Returns none if `untuned`.
TunedConfigurations tunedConfigurations(std::string_view target, bool untuned);

} // namespace tegula::tools
