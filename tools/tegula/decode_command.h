// SPDX-License-Identifier: MIT
#pragma once

#include "decode_options.h"
#include "outcome.h"

namespace tegula::tools {

/// Runs `tegula decode`: runs and times one problem, and if asked checks its results.
Outcome decodeCommand(const DecodeOptions &options);

} // namespace tegula::tools
