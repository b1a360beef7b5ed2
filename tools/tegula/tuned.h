// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/tuned_schedules.h"

#include <string_view>

namespace tegula::tools {

/// What `tegula tune` has found for a target; nothing if the user wants it so.
TunedSchedules tunedSchedules(std::string_view target, bool untuned);

} // namespace tegula::tools
