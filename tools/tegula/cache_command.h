// SPDX-License-Identifier: MIT
#pragma once

#include "cache_options.h"
#include "tegula/status.h"

namespace tegula::tools {

/// Runs `tegula cache`, which looks after the directory of compiled kernels.
Status cacheCommand(const CacheOptions &options);

} // namespace tegula::tools
