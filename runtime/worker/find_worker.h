// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/status.h"

#include <string>

namespace tegula {

/// The path of tegula-cc; see WorkerOptions::program. Returns unsupported, with where it was looked for, if there is
/// none.
Expected<std::string> findWorker();

} // namespace tegula
