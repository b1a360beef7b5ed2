// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/status.h"
#include "tune_options.h"

namespace tegula::tools {

/// `tegula tune`: measures unless the result is known, keeps it, and shows it.
Status tuneCommand(const TuneOptions &options);

} // namespace tegula::tools
