// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/artifact.h"

#include <memory>

namespace tegula::tools {

/// The compiler of all commands: `workers` processes, so that a crash is an error like any other. Where there is no
/// tegula-cc, or TEGULA_CC is set but empty, the compiler in this process.
std::unique_ptr<Compiler> makeCompiler(int workers = 1);

} // namespace tegula::tools
