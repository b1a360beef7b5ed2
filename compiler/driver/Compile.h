// SPDX-License-Identifier: MIT
// The compiler as a function: request in, artifact or diagnostics out.
#pragma once

#include "tegula/artifact.h"

#include <string_view>
#include <vector>

namespace tegula {

/// What CompileRequest::emit may ask for, in the order in which it comes about: phases in MLIR, optimised LLVM IR, then
/// the assembly of the target. Empty if there is no such target.
std::vector<std::string_view> emittable(std::string_view target);

/// Returns compile_failed with one `file:line: error: ...` per diagnostic, or invalid_argument for a request that makes
/// no sense.
Expected<Artifact> compile(const CompileRequest &request);

} // namespace tegula
