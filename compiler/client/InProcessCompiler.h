// SPDX-License-Identifier: MIT
#pragma once

#include "tegula/artifact.h"

#include <memory>

namespace tegula {

/// Returns a compiler that runs in the caller's own process. An abort inside LLVM takes the process down.
std::unique_ptr<Compiler> makeInProcessCompiler();

} // namespace tegula
