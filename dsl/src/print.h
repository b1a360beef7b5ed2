// SPDX-License-Identifier: MIT
#pragma once

#include "recorder.h"

#include <string>
#include <string_view>

namespace tegula {

/// Returns the program as MLIR text (docs/design.md).
std::string print(const Recorder &recorder, std::string_view name);

} // namespace tegula
