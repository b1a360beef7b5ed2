// SPDX-License-Identifier: MIT
#pragma once

#include "cache_options.h"
#include "tegula/status.h"

namespace tegula::tools {

/// `tegula cache`: looks after the folder of compiled kernels.
Status cacheCommand(const CacheOptions &options);

} // namespace tegula::tools
