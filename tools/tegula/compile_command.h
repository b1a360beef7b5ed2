// SPDX-License-Identifier: MIT
#pragma once

#include "compile_options.h"
#include "tegula/status.h"

namespace tegula::tools {

/// Runs `tegula compile`: lowers a program to one phase and prints it.
Status compileCommand(const CompileOptions &options);

} // namespace tegula::tools
