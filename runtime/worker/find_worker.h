// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/status.h"

#include <string>

namespace tegula {

/// Returns the path of tegula-cc; see WorkerOptions::program. Returns unsupported, with the paths that were tried, if
/// there is none.
Expected<std::string> findWorker();

} // namespace tegula
