// SPDX-License-Identifier: MIT
#pragma once

#include "bench_options.h"
#include "tegula/status.h"

namespace tegula::tools {

/// Runs `tegula bench`: checks, measures, prints and saves.
Outcome benchCommand(const BenchOptions &options);

} // namespace tegula::tools
