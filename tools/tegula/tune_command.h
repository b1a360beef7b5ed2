// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/status.h"
#include "tune_options.h"

namespace tegula::tools {

/// Runs `tegula tune`: measures unless the result is known, keeps the result, and shows it.
Status tuneCommand(const TuneOptions &options);

} // namespace tegula::tools
