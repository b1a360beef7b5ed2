// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/tuned_schedules.h"

#include <string_view>

namespace tegula::tools {

/// Returns the schedules that `tegula tune` has found for a target. Returns none if `untuned`.
TunedSchedules tunedSchedules(std::string_view target, bool untuned);

} // namespace tegula::tools
