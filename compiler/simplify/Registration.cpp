// SPDX-License-Identifier: MIT
#include "compiler/simplify/Passes.h"

#include "mlir/Pass/Pass.h"

namespace tegula::simplify {
#define GEN_PASS_REGISTRATION
#include "compiler/simplify/Passes.h.inc"
} // namespace tegula::simplify

void tegula::simplify::registerPasses() { registerSimplifyPasses(); }
